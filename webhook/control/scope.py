"""Know which pods are the controller's business: those that the webhook was shown, as far as no user of a cluster can pretend it."""

from __future__ import annotations

import threading

from webhook.core import names


class Scope:
    """Tell whether a pod counts. Safe to share between threads.

    All that a pod carries can be written by whoever may create pods, where the webhook is not called: in a namespace without the label,
    and for a pod that opted out. A namespace's labels are an admin's. *pod_opt_in*: component ``pod-opt-in`` is installed, by which the
    webhook is called for pods that carry the label themselves too, wherever they are.
    """

    def __init__(self, *, pod_opt_in: bool = False) -> None:
        self._pod_opt_in = pod_opt_in
        self._lock = threading.Lock()
        self._labelled: set[str] = set()
        self._passed_over: set[str] = set()

    def counts(self, namespace: str, profile: str | None) -> bool:
        """Tell whether the webhook is called for a pod whose own label names *profile*.

        A namespace of which one does not count is remembered.
        """
        with self._lock:
            if profile == names.PROFILE_NONE:
                return False
            if namespace in self._labelled or (self._pod_opt_in and profile is not None):
                return True
            self._passed_over.add(namespace)
            return False

    def set_labelled(self, namespace: str, labelled: bool) -> bool:
        """Note whether the namespace carries the label; tell whether pods that count now have been passed over."""
        with self._lock:
            if not labelled:
                self._labelled.discard(namespace)
                return False
            self._labelled.add(namespace)
            was_passed_over = namespace in self._passed_over
            self._passed_over.discard(namespace)
            return was_passed_over

    def namespaces_passed_over(self) -> int:
        """Count the namespaces without the label in which pods carry the job label."""
        with self._lock:
            return len(self._passed_over)
