"""Hand out work fairly: namespaces take turns, each within its share, and within each its jobs do, so that none starves another."""

from __future__ import annotations

import heapq
import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable

from webhook.control.shares import Shares
from webhook.core.reconcile import Unit


class FairQueue:
    """Hold units of work, each at most once. Safe to share between threads.

    A unit that is added while it is being worked on is handed out again once ``done`` is called: two threads never work on one pod.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._monotonic = monotonic
        self._shares = Shares(uniform)
        self._changed = threading.Condition()
        self._namespaces: OrderedDict[str, OrderedDict[str, OrderedDict[str, float]]] = (
            OrderedDict()
        )
        self._working: dict[Unit, float | None] = {}
        self._later: list[tuple[float, Unit]] = []
        self._due: dict[Unit, tuple[float, float]] = {}
        self._length = 0
        self._not_before = 0.0
        self._stopped = False

    def __len__(self) -> int:
        return self._length + len(self._due)

    def add(self, units: Iterable[Unit]) -> None:
        """Add units that may be worked on now."""
        with self._changed:
            now, before = self._monotonic(), self._length
            for unit in units:
                self._put(unit, now)
            self._changed.notify(self._length - before)

    def add_later(self, unit: Unit, seconds: float, since: float) -> None:
        """Add a unit that failed, to be tried again; *since*: when it was added first. Only the last time given counts."""
        with self._changed:
            due = self._monotonic() + seconds
            self._due[unit] = (due, since)
            heapq.heappush(self._later, (due, unit))
            self._changed.notify()

    def pause(self, seconds: float) -> None:
        """Hand out nothing for a while, as the API server asked."""
        with self._changed:
            self._not_before = max(self._not_before, self._monotonic() + seconds)

    def get(self) -> tuple[Unit, float] | None:
        """Wait for a unit; return it and when it was added (monotonic), or None once the queue is stopped."""
        with self._changed:
            while not self._stopped:
                now = self._monotonic()
                self._put_due(now)
                namespace, _ = self._next_namespace(now)
                if namespace is not None and now >= self._not_before:
                    return self._take(namespace, now)
                self._changed.wait(self._seconds_to_wait(now))
            return None

    def done(self, unit: Unit, *, seconds: float = 0.0, failed: bool | None = None) -> None:
        """Mark a unit as no longer worked on. *seconds*: how long the write took; *failed*: None where nothing was written."""
        with self._changed:
            again = self._working.pop(unit, None)
            if again is not None:
                self._put(unit, again)
            self._shares.end(unit.namespace, self._monotonic(), seconds=seconds, failed=failed)
            self._changed.notify()  # the namespace, or another one, may have a request now

    def clear(self) -> None:
        """Drop everything that waits."""
        with self._changed:
            self._namespaces.clear()
            self._later.clear()
            self._due.clear()
            self._length = 0

    def stop(self) -> None:
        """Make every ``get`` return None, from now on."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _next_namespace(self, now: float) -> tuple[str | None, float]:
        """Return the namespace whose turn it is, None where each has its share or rests; then for how long the first one rests."""
        least = float("inf")
        quick_wait = not all(map(self._shares.is_slow, self._namespaces))
        for namespace in self._namespaces:
            rest_seconds = self._shares.rest_seconds(namespace, now, quick_wait=quick_wait)
            if not rest_seconds:
                return namespace, 0.0
            least = min(least, rest_seconds)
        return None, least

    def _seconds_to_wait(self, now: float) -> float | None:
        """Return when there may be something to hand out; None where only another call can bring that about."""
        _, rest_seconds = self._next_namespace(now)
        pause = max(self._not_before - now, rest_seconds) if self._length else float("inf")
        later = self._later[0][0] - now if self._later else float("inf")
        seconds = max(0.0, min(pause, later))
        return None if seconds == float("inf") else seconds

    def _put_due(self, now: float) -> None:
        """Queue what is due to be tried again; entries of units that were since added, or given a later time, are void."""
        before = self._length
        while self._later and (self._later[0][0] <= now or self._is_dropped(*self._later[0])):
            due, unit = heapq.heappop(self._later)
            if not self._is_dropped(due, unit):
                self._put(unit, self._due[unit][1])
        self._changed.notify(
            self._length - before
        )  # one thread's wait has ended, and there may be work for more

    def _is_dropped(self, due: float, unit: Unit) -> bool:
        return self._due.get(unit, (None, 0.0))[0] != due

    def _put(self, unit: Unit, since: float) -> None:
        _, since = self._due.pop(unit, (0.0, since))
        if unit in self._working:
            if self._working[unit] is None:
                self._working[unit] = since
            return
        names = self._namespaces.setdefault(unit.namespace, OrderedDict()).setdefault(
            unit.job, OrderedDict()
        )
        if unit.name not in names:
            names[unit.name] = since
            self._length += 1

    def _take(self, namespace: str, now: float) -> tuple[Unit, float]:
        jobs = self._namespaces[namespace]
        job, names = next(iter(jobs.items()))
        name, since = names.popitem(last=False)
        if names:
            jobs.move_to_end(job)
        else:
            del jobs[job]
        if jobs:
            self._namespaces.move_to_end(namespace)
        else:
            del self._namespaces[namespace]
        self._length -= 1
        unit = Unit(namespace, job, name)
        self._working[unit] = None
        self._shares.begin(namespace, now)
        return unit, since
