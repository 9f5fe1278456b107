"""Look at something again and again, in a thread of its own."""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod

log = logging.getLogger(__name__)


class Periodic(ABC):
    """Call `look` in a thread, until `stop`; *name* names the thread."""

    name = ""
    after_failure_seconds = 10.0

    def __init__(self) -> None:
        self._woken, self._stopped = threading.Event(), threading.Event()
        self._fault = ""

    @abstractmethod
    def look(self) -> float | None:
        """Look once; return the seconds until the next time, None: until `wake`."""

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._follow, name=self.name, daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, but do not wait for what it does."""
        self._stopped.set()
        self._woken.set()

    def wake(self) -> None:
        """Look now; any thread may call it."""
        self._woken.set()

    def log_once(self, fault: str, level: int = logging.WARNING) -> bool:
        """Log what went wrong, unless the last look found the same; return whether it is new."""
        is_new = fault != self._fault
        self._fault = fault
        if fault and is_new:
            log.log(level, "%s", fault)
        return is_new

    def _follow(self) -> None:
        while not self._stopped.is_set():
            self._woken.clear()
            try:
                seconds = self.look()
            except Exception as error:  # nobody else would ever look again
                self.log_once(f"{self.name}: internal error: {error!r}")
                seconds = self.after_failure_seconds
            self._woken.wait(seconds)
