"""Hold the bodies of requests within bounds: those that are large can take nothing from those that are not."""

from __future__ import annotations

import io

SMALL_BYTES = 64 << 10
"""Largest body that counts as small. A pod's review has a few KiB; one that is larger is rare, and costs as much more."""


class Budget:
    """Count the bytes that are held, up to *most*."""

    def __init__(self, most: int) -> None:
        self._left = most

    def take(self, count: int) -> bool:
        """Count *count* more bytes, unless they are too many; return whether they were counted."""
        if count > self._left:
            return False
        self._left -= count
        return True

    def give_back(self, count: int) -> None:
        """Count *count* bytes less."""
        self._left += count


class Body:
    """Collect a body of *declared* bytes (0: unknown), which count in *small* or *large* until `free`."""

    def __init__(self, small: Budget, large: Budget, declared: int) -> None:
        self._large = large
        self._budget = large if declared > SMALL_BYTES else small
        self.declared, self.length, self._counted = declared, 0, 0
        self._bytes = (
            io.BytesIO()
        )  # not a list of parts: each of two bytes, as chunks may be, needs twenty times its length

    @property
    def is_large(self) -> bool:
        """Return whether it is to wait for other large ones."""
        return self._budget is self._large

    def shares_room_with(self, other: Body) -> bool:
        """Return whether some of it counts where *other* counts."""
        return self._counted > 0 and self._budget is other._budget

    def reserve(self) -> bool:
        """Count all of a large body before it comes, lest it be refused when most has come; return False where there is no room."""
        return self.declared <= SMALL_BYTES or self._count(self.declared)

    def add(self, part: bytes) -> bool:
        """Keep *part*; return False where there is no room for it."""
        length = self.length + len(part)
        if length > self._counted and not self._count(length):
            return False
        self.length = length
        self._bytes.write(part)
        return True

    def take(self) -> bytes:
        """Return all that was added, and keep no copy; it counts until `free`."""
        whole = self._bytes.getvalue()
        self._bytes = io.BytesIO()
        return whole

    def free(self) -> None:
        """Keep and count it no longer."""
        self._bytes = io.BytesIO()
        self._budget.give_back(self._counted)
        self._counted = 0

    def _count(self, length: int) -> bool:
        if length > SMALL_BYTES and not self.is_large:
            self._budget.give_back(self._counted)
            self._budget, self._counted = self._large, 0
        counted = self._budget.take(length - self._counted)
        if counted:
            self._counted = length
        return counted
