"""Let one process beside this one run at a time: the container has memory for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_AGAIN_SECONDS = 0.1


def _nothing() -> None:
    return


class Slot:
    """Hold the place of a process. All methods may be called in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._evict: Callable[[], None] = _nothing

    def take(self, evict: Callable[[], None]) -> bool:
        """Take the slot if it is free; *evict* ends the process early, after which `leave` must be called as well."""
        taken = self._lock.acquire(blocking=False)
        if taken:
            self._evict = evict
        return taken

    def leave(self) -> None:
        """Give the slot back, once the process has ended."""
        self._evict = _nothing
        self._lock.release()

    def evict(self) -> None:
        """End the process that has the slot, if there is one; do not wait."""
        self._evict()

    @contextmanager
    def evicting(self, seconds: float) -> Iterator[None]:
        """Hold the slot, whoever had it; raise TimeoutError where that one has not ended within *seconds*."""
        deadline = time.monotonic() + seconds
        while not self._lock.acquire(timeout=_AGAIN_SECONDS):
            if time.monotonic() > deadline:
                raise TimeoutError
            self._evict()
        try:
            yield
        finally:
            self._lock.release()
