"""Run functions in a few threads, and take no more than may wait for these: ThreadPoolExecutor has no such bound."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


class ThreadsBusy(Exception):
    """Refuse work because too much waits already."""


class Threads:
    """Run functions in *threads* threads; *waiting* more may wait for one. All methods are called in one event loop."""

    def __init__(self, name: str, *, threads: int, waiting: int) -> None:
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)
        self._pending, self._most_pending = 0, threads + waiting

    async def run(self, function: Callable[[], T]) -> T:
        """Return what *function* returns, or raise what it raises. Raises ThreadsBusy."""
        if self._pending >= self._most_pending:
            raise ThreadsBusy
        self._pending += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._executor, function)
        finally:
            self._pending -= 1

    def stop(self) -> None:
        """Begin nothing more; what is under way goes on to its end."""
        self._executor.shutdown(wait=False, cancel_futures=True)
