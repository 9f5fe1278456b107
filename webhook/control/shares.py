"""Give each namespace its share of the publishing threads: one whose writes fail or take long must not hold up the others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

MOST_AT_ONCE = 8
"""Requests of one namespace under way; more are no faster. There are more threads than that, so that some stay for the others."""
FIRST_AT_ONCE = 2
"""What a namespace begins with; each write that goes well adds one."""
MOST_FAILING = 4
"""Requests under way of all namespaces together whose writes have failed lately."""
SLOW_SECONDS = 1.0
"""A namespace whose last write took as long has one request at a time, and rests twice as long after it, while one waits whose writes
are quick: a pod with thousands of variables costs the API server seconds, whoever writes. It is no failure: the API server may be slow
for all, and then nobody gains by fewer requests."""
MOST_SLOW = 2
"""Requests under way of all slow namespaces together while one waits whose writes are quick: somebody may have many namespaces."""
LEAST_REST_SECONDS, MOST_REST_SECONDS = 0.25, 15.0
"""How long a namespace rests after a write that failed: at first as long as the pod that it was for."""
_SLOW_RESTS = 2.0
_STEP, _MOST_FAILURES = 2, 12
"""A failure counts twice, since a write that goes well takes one away: who fails at every other write is not forgiven."""
_REMEMBERED = 1000


@dataclass(slots=True)
class _Share:
    at_once: int = FIRST_AT_ONCE
    under_way: int = 0
    failures: int = 0
    is_slow: bool = False
    rests_until: float = 0.0
    rests_while_quick_wait_until: float = 0.0


class Shares:
    """Count the requests of each namespace. Not safe to share between threads: the queue holds its lock."""

    def __init__(self, uniform: Callable[[float, float], float]) -> None:
        self._uniform = uniform
        self._shares: dict[str, _Share] = {}
        self._failing_under_way = self._slow_under_way = 0

    def is_slow(self, namespace: str) -> bool:
        """Return whether its last write took long."""
        share = self._shares.get(namespace)
        return share is not None and share.is_slow

    def rest_seconds(self, namespace: str, now: float, *, quick_wait: bool = True) -> float:
        """Return for how long the namespace rests, infinity while it has its share; 0 where a request may begin.

        *quick_wait*: a namespace waits whose writes do not take long.
        """
        share = self._shares.get(namespace)
        if share is None:
            return 0.0
        gives_way = share.is_slow and quick_wait
        if share.under_way >= (1 if gives_way else share.at_once):
            return float("inf")
        if (share.failures and self._failing_under_way >= MOST_FAILING) or (
            gives_way and self._slow_under_way >= MOST_SLOW
        ):
            return float("inf")
        return max(
            0.0,
            share.rests_until - now,
            share.rests_while_quick_wait_until - now if gives_way else 0.0,
        )

    def begin(self, namespace: str, now: float) -> None:
        """Count a request that begins."""
        share = self._shares.get(namespace)
        if share is None:
            if len(self._shares) >= _REMEMBERED:
                kept = {
                    name: one
                    for name, one in self._shares.items()
                    if one.under_way or one.rests_until > now
                }
                self._shares = kept
            share = self._shares[namespace] = _Share()
        self._recount(share, under_way=share.under_way + 1)

    def end(
        self, namespace: str, now: float, *, seconds: float = 0.0, failed: bool | None = None
    ) -> None:
        """Count a request that has ended after so many *seconds*; *failed*: None where nothing was sent."""
        share = self._shares[namespace]
        under_way = share.under_way - 1
        self._recount(share, under_way=0)
        if failed:
            share.at_once = 1
            share.failures = min(share.failures + _STEP, _MOST_FAILURES)
            most = min(MOST_REST_SECONDS, LEAST_REST_SECONDS * 2 ** (share.failures // _STEP))
            share.rests_until = now + self._uniform(most / 2, most)
        elif failed is not None:
            share.failures = max(0, share.failures - 1)
            share.at_once = min(MOST_AT_ONCE, share.at_once + 1)
            share.is_slow = seconds >= SLOW_SECONDS
            share.rests_while_quick_wait_until = now + _SLOW_RESTS * seconds
        self._recount(
            share, under_way=under_way
        )  # those that are still under way count as what the namespace is now

    def _recount(self, share: _Share, *, under_way: int) -> None:
        more, share.under_way = under_way - share.under_way, under_way
        self._failing_under_way += more * bool(share.failures)
        self._slow_under_way += more * share.is_slow
