"""Run functions in a few threads, with a bound on how many may wait and for how long.

ThreadPoolExecutor has neither bound, and starts threads for work that one thread does faster: see WorkerPool.
"""

from __future__ import annotations

import _thread
import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Iterator
from queue import Empty, SimpleQueue
from typing import Any, NamedTuple, TypeVar

T = TypeVar("T")

STACK_BYTES = 8 << 20
"""Stack of each thread: deep documents must end in RecursionError, whatever the C library's default (musl: 128 KiB)."""
STUCK_SECONDS = 0.01
"""How long nothing may be finished before another thread starts: an admission takes about 1 ms."""


class PoolFull(Exception):
    """Refuse work because too much waits already, or because it has waited too long."""


class _Work(NamedTuple):
    future: asyncio.Future[Any]
    function: Callable[[], Any]
    since: float


class WorkerPool:
    """Run functions in *threads* threads; *waiting* more functions are kept, each for at most *patience_seconds*.

    Threads that compute only contend for the interpreter lock: one answers more requests for each second of processor time than
    two, and half as many again as eight. So up to *spares* more start only where nothing was finished for a moment, because the
    functions wait for something else, such as the API server; they end when nothing waits. All methods are called in one event
    loop; only the functions run in threads.
    """

    def __init__(
        self, name: str, *, threads: int = 1, spares: int = 0, waiting: int = 8, patience_seconds: float = 10.0
    ) -> None:
        self._jobs: SimpleQueue[_Work | None] = SimpleQueue()
        self._threads, self._most_spares, self._spares = threads, spares, 0
        self._most_pending = threads + spares + waiting
        self._patience_seconds = patience_seconds
        self._pending = self._finished = 0
        self._watch: asyncio.TimerHandle | None = None
        with _stacks():
            for number in range(threads):
                threading.Thread(target=self._work, name=f"{name}-{number}", daemon=True).start()

    async def run(self, function: Callable[[], T]) -> T:
        """Return what *function* returns, or raise what it raises. Raises PoolFull instead of waiting long."""
        if self._pending >= self._most_pending:
            raise PoolFull
        loop = asyncio.get_running_loop()
        future: asyncio.Future[T] = loop.create_future()
        self._pending += 1
        self._jobs.put(_Work(future, function, time.monotonic()))
        if self._watch is None and self._pending > self._threads and self._most_spares:
            self._watch = loop.call_later(STUCK_SECONDS, self._relieve, self._finished)
        return await future

    def stop(self) -> None:
        """End the threads once they have done what waits."""
        for _ in range(self._threads):
            self._jobs.put(None)

    def _relieve(self, finished: int) -> None:
        """Start a spare thread if something waits and nothing was finished since *finished*; look again while it does."""
        self._watch = None
        if self._pending <= self._threads + self._spares:
            return
        loop = asyncio.get_running_loop()
        if self._finished == finished and self._spares < self._most_spares:
            # Thread.start waits for ever for one that has no memory to begin, and the event loop with it
            with contextlib.suppress(RuntimeError, MemoryError), _stacks():
                _thread.start_new_thread(self._work_off, (loop,))
                self._spares += 1
        self._watch = loop.call_later(STUCK_SECONDS, self._relieve, self._finished)

    def _work(self) -> None:
        while job := self._jobs.get():
            self._do(job)
            del job  # else a body would be held in memory until the next one comes

    def _work_off(self, loop: asyncio.AbstractEventLoop) -> None:
        with contextlib.suppress(Empty):
            while job := self._jobs.get_nowait():
                self._do(job)
        _call_in(loop, self._spare_ended)

    def _do(self, job: _Work) -> None:
        value: Any = None
        error: BaseException | None = None
        try:
            if time.monotonic() - job.since > self._patience_seconds:
                raise PoolFull
            value = job.function()
        except BaseException as raised:  # the thread must outlive whatever it runs; the waiting task gets it
            error = raised
        self._finished += 1  # without a lock: only whether it changes is asked
        _call_in(job.future.get_loop(), self._finish, job.future, value, error)

    def _finish(self, future: asyncio.Future[Any], value: Any, error: BaseException | None) -> None:
        self._pending -= 1
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(error)

    def _spare_ended(self) -> None:
        self._spares -= 1


@contextlib.contextmanager
def _stacks() -> Iterator[None]:
    """Give the threads that are started meanwhile a stack of STACK_BYTES."""
    before = threading.stack_size(STACK_BYTES)
    try:
        yield
    finally:
        threading.stack_size(before)


def _call_in(loop: asyncio.AbstractEventLoop, function: Callable[..., None], *arguments: object) -> None:
    """Call *function* in the event loop, if that still runs."""
    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(function, *arguments)
