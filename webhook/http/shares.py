"""Share among peers what there is a bound of, so that none takes all."""

from __future__ import annotations

import asyncio
from collections import Counter, deque
from collections.abc import Callable

UNBOUND = ""
"""The peer of all whose client certificate was verified: bound only in all."""


class Share:
    """Count what is taken of *most*; one peer takes two thirds at most.

    Not half: all API servers may stand behind one address.
    """

    def __init__(self, most: int) -> None:
        self.most, self.most_of_one, self.taken = most, most * 2 // 3, 0
        self.by_peer: Counter[str] = Counter()

    def take(self, peer: str, count: int) -> bool:
        """Count *count* more, unless that is too many; return whether they were counted."""
        if not self.has_room(count) or not self.has_room_for(peer, count):
            return False
        self.taken += count
        self.by_peer[peer] += count
        return True

    def has_room(self, count: int = 1) -> bool:
        """Return whether there is room for *count* more in all."""
        return self.taken + count <= self.most

    def has_room_for(self, peer: str, count: int = 1) -> bool:
        """Return whether the peer may have *count* more."""
        return peer == UNBOUND or self.by_peer[peer] + count <= self.most_of_one

    def give_back(self, peer: str, count: int) -> None:
        """Count *count* less."""
        self.taken -= count
        self.by_peer[peer] -= count
        if not self.by_peer[peer]:
            del self.by_peer[peer]


class Turns:
    """Call functions, one of each peer before another of the same."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._waiting: dict[str, deque[Callable[[], None]]] = {}

    def add(self, peer: str, function: Callable[[], None]) -> None:
        """Call *function* soon, in the event loop."""
        if not self._waiting:
            self._loop.call_soon(self._next)
        self._waiting.setdefault(peer, deque()).append(function)

    def _next(self) -> None:
        peer = next(iter(self._waiting))
        waiting = self._waiting.pop(peer)
        function = waiting.popleft()
        if waiting:
            self._waiting[peer] = waiting  # behind all others
        if self._waiting:
            self._loop.call_soon(self._next)
        function()
