"""Hand out writes fairly: namespaces take turns, each within its share, and in each its jobs do.

A namespace whose writes fail or take long holds up no other.
"""

import random
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

from webhook.core.reconcile import Unit

MOST_AT_ONCE = 8
"""Requests of one namespace under way; there are more threads, so that some stay for the others."""
FIRST_AT_ONCE = 2
"""What a namespace begins with; each write that goes well adds one."""
MOST_FAILING = 4
"""Requests under way of all namespaces together whose writes have failed lately."""
SLOW_SECONDS = 1.0
"""A namespace whose last write took as long has one request at a time while others wait, and rests
twice as long after it. A pod with thousands of variables costs the API server seconds. Where all
writes are slow, nobody gains by fewer."""
MOST_SLOW = 2
"""Requests under way of all slow namespaces together while one with quick writes waits."""
LEAST_REST_SECONDS, MOST_REST_SECONDS = 0.25, 15.0
"""How long a namespace rests after a write that failed."""
_STEP, _MOST_FAILURES = 2, 12
"""A failure counts twice, and a write that goes well takes one away."""


_Jobs: TypeAlias = OrderedDict[str, OrderedDict[str, float]]
_Namespaces: TypeAlias = OrderedDict[str, _Jobs]
"""When each unit was added, by namespace, job and name; whose turn it is comes first."""


@dataclass(slots=True)
class _Share:
    """What a namespace may have; *slow_until*: it rests so long for quick ones, 0 if not slow."""

    at_once: int = FIRST_AT_ONCE
    under_way: int = 0
    failures: int = 0
    rests_until: float = 0.0
    slow_until: float = 0.0


class FairQueue:
    """Hold units of work, each at most once. Safe to share between threads.

    A unit that is added while it is being worked on is handed out again after ``done``: two threads
    never work on one pod.
    """

    def __init__(
        self,
        monotonic: Callable[[], float] = time.monotonic,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        self._monotonic, self._uniform = monotonic, uniform
        self._changed = threading.Condition()
        self._namespaces: _Namespaces = OrderedDict()
        self._working: dict[Unit, float | None] = {}
        self._shares: dict[str, _Share] = {}
        self._not_before = 0.0
        self._stopped = False

    def __len__(self) -> int:
        return sum(len(names) for jobs in self._namespaces.values() for names in jobs.values())

    def add(self, units: Iterable[Unit], since: float | None = None) -> None:
        """Add units that may be worked on; *since*: when they were added first, if before now."""
        with self._changed:
            since = self._monotonic() if since is None else since
            self._changed.notify(sum(self._put(unit, since) for unit in units))

    def pause(self, seconds: float) -> None:
        """Hand out nothing for a while, as the API server asked."""
        with self._changed:
            self._not_before = max(self._not_before, self._monotonic() + seconds)

    def get(self) -> tuple[Unit, float] | None:
        """Wait for a unit; return it and when it was added (monotonic), None once stopped."""
        with self._changed:
            while not self._stopped:
                namespace, seconds = self.next_namespace()
                if namespace is not None:
                    return self._take(namespace)
                self._changed.wait(None if seconds == float("inf") else seconds)
            return None

    def next_namespace(self) -> tuple[str | None, float]:
        """Return the namespace whose turn it is; else None, and for how long there is none.

        That is infinity where only another call can change it. The caller holds the lock.
        """
        now = self._monotonic()
        if not self._namespaces or now < self._not_before:
            return None, self._not_before - now if self._namespaces else float("inf")
        least, quick_wait = float("inf"), not all(map(self._is_slow, self._namespaces))
        for namespace in self._namespaces:
            seconds = self._rest_seconds(namespace, now, quick_wait=quick_wait)
            if not seconds:
                return namespace, 0.0
            least = min(least, seconds)
        return None, least

    def done(self, unit: Unit, *, seconds: float = 0.0, failed: bool | None = None) -> None:
        """Mark a unit as no longer worked on.

        *seconds*: how long the write took. *failed*: None where nothing was written.
        """
        with self._changed:
            share, now = self._shares[unit.namespace], self._monotonic()
            share.under_way -= 1
            if failed:
                share.at_once = 1
                share.failures = min(share.failures + _STEP, _MOST_FAILURES)
                most = min(MOST_REST_SECONDS, LEAST_REST_SECONDS * 2 ** (share.failures // _STEP))
                share.rests_until = now + self._uniform(most / 2, most)
            elif failed is not None:
                share.failures = max(0, share.failures - 1)
                share.at_once = min(MOST_AT_ONCE, share.at_once + 1)
                share.slow_until = now + 2 * seconds if seconds >= SLOW_SECONDS else 0.0
            if not (share.under_way or share.failures or share.slow_until):
                del self._shares[unit.namespace]
            again = self._working.pop(unit, None)
            if again is not None:
                self._put(unit, again)
            self._changed.notify()  # the namespace, or another one, may have a request now

    def clear(self) -> None:
        """Drop everything that waits."""
        with self._changed:
            self._namespaces.clear()

    def stop(self) -> None:
        """Make every ``get`` return None, from now on."""
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    def _is_slow(self, namespace: str) -> bool:
        return namespace in self._shares and self._shares[namespace].slow_until > 0

    def _rest_seconds(self, namespace: str, now: float, *, quick_wait: bool) -> float:
        """Return for how long a namespace rests, infinity while it has its share."""
        share = self._shares.get(namespace)
        if share is None:
            return 0.0
        gives_way = quick_wait and self._is_slow(namespace)
        under_way = [self._shares[unit.namespace] for unit in self._working]
        if (
            share.under_way >= (1 if gives_way else share.at_once)
            or (share.failures and sum(one.failures > 0 for one in under_way) >= MOST_FAILING)
            or (gives_way and sum(one.slow_until > 0 for one in under_way) >= MOST_SLOW)
        ):
            return float("inf")
        until = max(share.rests_until, share.slow_until if gives_way else 0.0)
        return max(0.0, until - now)

    def _put(self, unit: Unit, since: float) -> bool:
        """Queue a unit, or note that it is to come again; tell whether one more waits."""
        if unit in self._working:
            self._working[unit] = self._working[unit] or since
            return False
        jobs = self._namespaces.setdefault(unit.namespace, OrderedDict())
        names = jobs.setdefault(unit.job, OrderedDict())
        is_new = unit.name not in names
        names.setdefault(unit.name, since)
        return is_new

    def _take(self, namespace: str) -> tuple[Unit, float]:
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
        unit = Unit(namespace, job, name)
        self._shares.setdefault(namespace, _Share()).under_way += 1
        self._working[unit] = None
        return unit, since
