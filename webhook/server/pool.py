"""Run functions in a few threads, with a bound on how many may wait."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

T = TypeVar("T")

STACK_BYTES = 8 << 20
"""Stack of each thread: deep documents must end in RecursionError, whatever the C library's default (musl: 128 KiB)."""


class PoolFull(Exception):
    """Refuse work because too much is waiting already, or has waited too long."""


class WorkerPool:
    """Run functions in *threads* threads; at most *waiting* more are kept, each for at most *patience_seconds*.

    All of a pool is used from one event loop; only the functions run elsewhere.
    """

    def __init__(self, name: str, *, threads: int, waiting: int, patience_seconds: float) -> None:
        self._jobs: SimpleQueue[tuple[asyncio.Future[Any], Callable[[], Any], float] | None] = SimpleQueue()
        self._capacity = threads + waiting
        self._patience_seconds = patience_seconds
        self._pending = 0
        before = threading.stack_size(STACK_BYTES)
        self._threads = [threading.Thread(target=self._work, name=f"{name}-{n}", daemon=True) for n in range(threads)]
        for thread in self._threads:
            thread.start()
        threading.stack_size(before)

    @property
    def pending(self) -> int:
        """Return how many functions run or wait."""
        return self._pending

    async def run(self, function: Callable[[], T]) -> T:
        """Return what *function* returns, or raise what it raises. Raises PoolFull instead of waiting long."""
        if self._pending >= self._capacity:
            raise PoolFull
        future: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._pending += 1
        self._jobs.put((future, function, time.monotonic()))
        return await future

    def stop(self) -> None:
        """End the threads once they have done what waits."""
        for _ in self._threads:
            self._jobs.put(None)

    def _work(self) -> None:
        while job := self._jobs.get():
            future, function, since = job
            value: Any = None
            error: BaseException | None = None
            try:
                if time.monotonic() - since > self._patience_seconds:
                    raise PoolFull
                value = function()
            except BaseException as raised:  # the thread must outlive whatever it runs; the waiting task gets it
                error = raised
            with contextlib.suppress(RuntimeError):  # the loop has ended: nobody waits
                future.get_loop().call_soon_threadsafe(self._finish, future, value, error)
            del job, future, function, value, error

    def _finish(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self._pending -= 1
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)
