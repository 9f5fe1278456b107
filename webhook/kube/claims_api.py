"""Know in which version the cluster serves resource.k8s.io, the API of claims (DRA).

That is v1 since Kubernetes 1.34, v1beta2 in 1.33 where an admin has turned it on, neither before.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from webhook.kube.catalogue import CLAIMS
from webhook.kube.connection import RequestFailed
from webhook.kube.reader import Reader
from webhook.kube.resource import Resource

VERSIONS = ("v1", "v1beta2")
"""The best first: the fields that we read and write are the same in both."""
REFRESH_SECONDS = 300.0
"""How long an answer counts: an upgrade of the API server changes it, and a flag."""
AGAIN_SECONDS = 30.0
"""After how long a question that failed is asked again."""


class ClaimsApi:
    """Ask for the version once, and again after REFRESH_SECONDS. Safe to share between threads.

    A failure leaves the former answer as it is; where there is none, it stands for AGAIN_SECONDS.
    """

    def __init__(self, reader: Reader, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._reader, self._monotonic = reader, monotonic
        self._lock = threading.Lock()
        self._version: str | None = None
        self._failure = ("", 0)
        self._due = float("-inf")

    def version(self) -> str:
        """Return ``v1`` or ``v1beta2``, empty where the cluster serves neither.

        Raises RequestFailed where that is not known: with 403 if refused, 0 if not answered.
        """
        with self._lock:
            if self._monotonic() >= self._due:
                self._ask()
            if self._version is None:
                raise RequestFailed(*self._failure)
            return self._version

    def served(self, resource: Resource) -> Resource | None:
        """Return the *resource* in the version that is served, None without. Raises as above."""
        version = self.version()
        return resource.at(f"{CLAIMS}/{version}") if version else None

    def _ask(self) -> None:
        try:
            served = self._reader.versions(CLAIMS)
        except RequestFailed as error:
            self._failure = str(error), error.status
            self._due = self._monotonic() + AGAIN_SECONDS
            return
        self._version = next((version for version in VERSIONS if version in served), "")
        self._due = self._monotonic() + REFRESH_SECONDS
