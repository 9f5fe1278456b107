"""Follow ResourceClaims, from the first pod on whose address they tell."""

import threading
from collections.abc import Callable
from typing import TypeAlias

from webhook.core.addresses.claim import Claim, read_claim, tell
from webhook.core.model import Object
from webhook.kube.catalogue import RESOURCE_CLAIMS
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.resource import Key

PodUser: TypeAlias = tuple[str, str, str]
"""Namespace, name and uid of a pod."""


class ClaimWatch(Informer[Claim]):
    """Hold what drivers tell of claims; any thread may ask.

    *on_pod* gets each pod (namespace, name) whose claims changed, in the thread of the watch.
    Nothing is kept of a claim without an address.
    """

    def __init__(
        self, connection: Connection, on_pod: Callable[[Key], None], monotonic: Callable[[], float]
    ) -> None:
        super().__init__(
            connection, RESOURCE_CLAIMS, _read, on_change=self._changed, monotonic=monotonic
        )
        self._on_pod = on_pod
        self._lock = threading.Lock()
        self._claims: dict[Key, Claim] = {}
        self._of_pod: dict[PodUser, set[Key]] = {}

    def told(self, namespace: str, name: str, uid: str) -> str:
        """Return what a pod's claims tell, as `tell` writes it; empty where nothing yet."""
        with self._lock:
            keys = self._of_pod.get((namespace, name, uid), ())
            return tell([self._claims[key] for key in keys])

    def _changed(self, key: Key, claim: Claim | None) -> None:
        """Put a claim in, or take it out, for each pod that it was or is reserved for."""
        namespace, pods = key[0], set[Key]()
        with self._lock:
            former = self._claims.pop(key, None)
            for name, uid in former.users if former is not None else ():
                keys = self._of_pod[namespace, name, uid]
                keys.discard(key)
                if not keys:
                    del self._of_pod[namespace, name, uid]
                pods.add((namespace, name))
            if claim is not None:
                self._claims[key] = claim
                for name, uid in claim.users:
                    self._of_pod.setdefault((namespace, name, uid), set()).add(key)
                    pods.add((namespace, name))
        for pod in pods:
            self._on_pod(pod)


def _read(obj: Object) -> Claim | None:
    claim = read_claim(obj)
    return claim if claim.users and claim.has_address else None
