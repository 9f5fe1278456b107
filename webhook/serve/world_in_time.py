"""Answer what admission asks of the cluster, all of one review within the time that the API server waits for it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from webhook.core.errors import Unavailable
from webhook.core.model import MasterAddress, Namespace, NetworkDefinition, World
from webhook.world.lookup import MustAsk

T = TypeVar("T")

SECONDS = 3.0
"""How long after a review has come the API server may be asked: it gives up after 5 s, and one answer of it may take one."""


class WorldInTime:
    """Implement model.World for the review that came at *came_at*, by *monotonic*: late it is not asked any more.

    A pod may name many networks, for each of which *world* would ask a slow API server. *at_once* knows what need not be asked, and
    raises MustAsk for the rest.
    """

    def __init__(
        self, world: World, at_once: World, came_at: float, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self._world, self._at_once, self._monotonic = world, at_once, monotonic
        self._until = came_at + SECONDS

    def namespace(self, name: str) -> Namespace | None:
        """Look a namespace up."""
        return self._look_up(lambda world: world.namespace(name))

    def fresh_namespace(self, name: str) -> Namespace | None:
        """Look a namespace up live."""
        return self._look_up(lambda world: world.fresh_namespace(name))

    def network(self, namespace: str, name: str) -> NetworkDefinition | None:
        """Look a NetworkAttachmentDefinition up."""
        return self._look_up(lambda world: world.network(namespace, name))

    def master(self, namespace: str, job: str) -> MasterAddress | None:
        """Look up the address of the job's newest live rank 0."""
        return self._world.master(namespace, job)

    def _look_up(self, ask: Callable[[World], T]) -> T:
        if self._monotonic() < self._until:
            return ask(self._world)
        try:
            return ask(self._at_once)
        except MustAsk:
            raise Unavailable(f"what is asked of the cluster takes longer than {SECONDS:g} s: ask again") from None
