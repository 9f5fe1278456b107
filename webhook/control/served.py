"""Follow objects of resource.k8s.io in the version that the cluster serves."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Generic, TypeVar

from webhook.core.model import Object
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.reader import Reader
from webhook.kube.resource import Key, Resource

T = TypeVar("T")

REQUEST_SECONDS = 10.0


class Served(Generic[T]):
    """Keep an Informer of *resource* while the cluster serves it; *read* and *on_change* are its.

    *on_listed* is called once all is known. One thread calls ``follow``; ``informer`` is None where
    nothing is followed.
    """

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        read: Callable[[Object], T | None],
        *,
        on_change: Callable[[Key, T | None], None],
        on_listed: Callable[[], object] = lambda: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.informer: Informer[T] | None = None
        self._resource, self._on_change = resource, on_change
        self._api = ClaimsApi(Reader(connection, REQUEST_SECONDS), monotonic)
        self._make: Callable[[Resource], Informer[T]] = lambda served: Informer(
            connection,
            served,
            read,
            on_change=on_change,
            on_listed=on_listed,
            on_restart=on_restart,
            monotonic=monotonic,
        )

    def follow(self) -> Informer[T] | None:
        """Follow the version that is served now; None where there is none. Raises RequestFailed."""
        served = self._api.served(self._resource)
        if self.informer is not None and self.informer.resource != served:
            self._drop(self.informer)
        if self.informer is None and served is not None:
            self.informer = self._make(served)
            self.informer.start()
        return self.informer

    def stop(self) -> None:
        """End it; what is known stays."""
        if self.informer is not None:
            self.informer.stop()

    def _drop(self, former: Informer[T]) -> None:
        """End the watch of another version; what that one knew is listed again."""
        self.informer = None
        former.stop()
        for key in tuple(former.items):
            self._on_change(key, None)
