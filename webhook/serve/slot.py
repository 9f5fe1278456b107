"""Let one process beside this one run at a time: the container has memory for one."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Slot:
    """Hold the place of a process, for any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()

    @contextmanager
    def held(self, seconds: float) -> Iterator[None]:
        """Hold the slot; raise TimeoutError where whoever has it does not leave it within *seconds*."""
        if not self._lock.acquire(timeout=seconds):
            raise TimeoutError
        try:
            yield
        finally:
            self._lock.release()
