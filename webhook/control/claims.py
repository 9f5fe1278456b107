"""Follow ResourceClaims, from the first pod on whose address they tell: where no profile asks for them, nothing is listed."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from typing import TypeAlias

from webhook.core.addresses.claim import Claim, read_claim, tell
from webhook.core.model import Object
from webhook.kube.catalogue import RESOURCE_CLAIMS
from webhook.kube.claims_api import REFRESH_SECONDS, ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader
from webhook.kube.resource import Key

log = logging.getLogger(__name__)

REQUEST_SECONDS = 10.0
STOP_SECONDS = 1.0
AGAIN_SECONDS = 5.0
"""How soon the version is asked for again while it is not known."""
PodUser: TypeAlias = tuple[str, str, str]
"""Namespace, name and uid of a pod."""


class ClaimWatch:
    """Hold what drivers tell of claims; any thread may ask.

    *on_change* gets the pods (namespace, name) of which something else is told now, in the thread of the watch. Of a claim nothing is
    kept while no address is told in it. Where the cluster serves no claims, or the account may not
    list them, that is logged, and nothing is told.
    """

    def __init__(
        self,
        connection: Connection,
        on_change: Callable[[Iterable[Key]], None],
        *,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._connection, self._on_change = connection, on_change
        self._on_restart, self._monotonic = on_restart, monotonic
        self._api = ClaimsApi(Reader(connection, REQUEST_SECONDS), monotonic)
        self._lock = threading.Lock()
        self._claims: dict[Key, Claim] = {}
        self._of_pod: dict[PodUser, set[Key]] = {}
        self._stopped = threading.Event()
        self._informer: Informer[Claim] | None = None
        self._thread: threading.Thread | None = None
        self._said = ""

    def need(self) -> None:
        """Follow claims from now on."""
        with self._lock:
            if self._thread is None and not self._stopped.is_set():
                self._thread = threading.Thread(target=self._run, name="claims", daemon=True)
                self._thread.start()

    def told(self, namespace: str, name: str, uid: str) -> str:
        """Return what the claims of a pod tell, as `tell` writes it; empty where that is nothing yet."""
        with self._lock:
            keys = self._of_pod.get((namespace, name, uid))
            claims = [self._claims[key] for key in keys] if keys else []
        return tell(claims)

    def stop(self) -> None:
        """End the threads."""
        self._stopped.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)
        if self._informer is not None:
            self._informer.stop()

    def _run(self) -> None:
        """Follow them in the version that the cluster serves, and look now and then whether that has changed."""
        path = ""
        while not self._stopped.is_set():
            pause = REFRESH_SECONDS
            try:
                served = self._api.served(RESOURCE_CLAIMS)
                if served is None:
                    self._say(
                        "the cluster serves no ResourceClaims (resource.k8s.io/v1 or v1beta2)"
                    )
                elif served.path != path:
                    path, self._said = served.path, ""
                    self._follow(
                        Informer(
                            self._connection,
                            served,
                            self._read,
                            on_change=self._changed,
                            on_restart=self._on_restart,
                            monotonic=self._monotonic,
                        )
                    )
            except RequestFailed as error:
                self._say(f"ResourceClaims cannot be followed: {error}")
                pause = AGAIN_SECONDS
            except Exception:  # the next turn may succeed
                log.exception("claims: unexpected failure")
                pause = AGAIN_SECONDS
            self._stopped.wait(pause)

    def _follow(self, informer: Informer[Claim]) -> None:
        """Begin with this watch, and end the former one; what that one knew is listed anew."""
        with self._lock:
            former, self._informer = self._informer, informer
        if former is not None:
            former.stop()
            for key in tuple(former.items):
                self._changed(key, None)
        if not self._stopped.is_set():
            informer.start()

    def _say(self, problem: str) -> None:
        if problem != self._said:
            log.warning(
                "%s: pods of profiles with addressSource: claim get no address meanwhile", problem
            )
        self._said = problem

    def _read(self, obj: Object) -> Claim | None:
        claim = read_claim(obj)
        return claim if claim.users and claim.has_address else None

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
        self._on_change(pods)
