"""Let one process beside this one run at a time: the container has memory for one."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

_AGAIN_SECONDS = 0.1


class Slot:
    """Hold the place of a process. All methods may be called in any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._counting = threading.Lock()
        self._waiting = 0

    @contextmanager
    def held(self, seconds: float, *, yields: bool = False) -> Iterator[None]:
        """Hold the slot; raise TimeoutError where whoever has it does not leave it within *seconds*.

        *yields*: all who wait without it come first.
        """
        deadline = time.monotonic() + seconds
        if not yields:
            self._count(1)
        try:
            while not self._acquire(yields=yields):
                if time.monotonic() > deadline:
                    raise TimeoutError
        finally:
            if not yields:
                self._count(-1)
        try:
            yield
        finally:
            self._lock.release()

    def _acquire(self, *, yields: bool) -> bool:
        if not self._lock.acquire(timeout=_AGAIN_SECONDS):
            return False
        if yields and self._waiting:
            self._lock.release()
            time.sleep(_AGAIN_SECONDS)
            return False
        return True

    def _count(self, change: int) -> None:
        with self._counting:
            self._waiting += change
