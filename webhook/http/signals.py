"""Handle SIGTERM and SIGINT, for both processes."""

from __future__ import annotations

import asyncio
import signal


class StopSignals:
    """Set *asked* on SIGTERM, as Kubernetes sends it to end a pod; set *at_once* too on SIGINT or on a second signal.

    The handlers stay with the running event loop: a signal interrupts no thread and no write that is under way.
    """

    def __init__(self) -> None:
        self.asked, self.at_once = asyncio.Event(), asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._ask, number)

    def _ask(self, number: int) -> None:
        if number == signal.SIGINT or self.asked.is_set():
            self.at_once.set()
        self.asked.set()
