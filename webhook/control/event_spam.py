"""Limit the Events that are sent: each complaint once in ten minutes, each namespace to its share, and all together."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

REPEAT_SECONDS = 600.0
"""How long the same complaint about the same pod is not sent again."""
NAMESPACE_BURST, NAMESPACE_PER_SECOND = 25.0, 0.2
"""Burst and rate for one namespace, so that none takes another's share. client-go allows an object 25, then one in 300 s."""
TOTAL_BURST, TOTAL_PER_SECOND = 100.0, 2.0
MOST_COMPLAINTS = 4096
"""How many are remembered: more than the buckets let through in REPEAT_SECONDS, so that a young one is never forgotten."""


class PodRef(NamedTuple):
    """Name one pod; the uid distinguishes it from a later pod of the same name."""

    namespace: str
    name: str
    uid: str


@dataclass(slots=True)
class EventSeries:
    """Hold what is known of the Event about one pod for one reason: how often it was seen, and whether the Event exists."""

    pod: PodRef
    reason: str
    at: float
    count: int = 0
    told: bool = False


class Bucket:
    """Limit a rate as a token bucket: it holds up to *burst* tokens, and gains *per_second*."""

    def __init__(self, burst: float, per_second: float, at: float) -> None:
        self._burst = self._tokens = burst
        self._per_second = per_second
        self._at = at

    def fill(self, at: float) -> float:
        """Add the tokens gained since the last call; return how many there are."""
        self._tokens = min(self._burst, self._tokens + (at - self._at) * self._per_second)
        self._at = at
        return self._tokens

    def take(self) -> None:
        """Take a token."""
        self._tokens -= 1

    def is_full(self, at: float) -> bool:
        """Return whether it is as if it had never been used."""
        return self.fill(at) >= self._burst


class SpamFilter:
    """Let complaints through at a limited rate, with bounded memory. The caller holds a lock."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        self._monotonic = monotonic
        self._total = Bucket(TOTAL_BURST, TOTAL_PER_SECOND, monotonic())
        self._namespaces: dict[str, Bucket] = {}
        self._complaints: OrderedDict[tuple[str, str], EventSeries] = OrderedDict()

    def admit(self, pod: PodRef, reason: str) -> EventSeries | None:
        """Count the complaint; return it where an Event may be sent now, None where one was sent lately or there are too many."""
        at = self._monotonic()
        known = self._complaints.get((pod.uid, reason))
        if known is not None:
            known.count += 1
            if at - known.at < REPEAT_SECONDS:
                return None
        if not self._has_token(pod.namespace, at):
            return None
        complaint = known or EventSeries(pod, reason, at, count=1)
        complaint.at = at
        self._complaints[pod.uid, reason] = complaint
        self._complaints.move_to_end((pod.uid, reason))
        if len(self._complaints) > MOST_COMPLAINTS:
            self._complaints.popitem(last=False)
        return complaint

    def forget(self, complaint: EventSeries) -> None:
        """Let the complaint through the next time: its Event was not sent."""
        self._complaints.pop((complaint.pod.uid, complaint.reason), None)

    def _has_token(self, namespace: str, at: float) -> bool:
        bucket = self._namespaces.get(namespace) or Bucket(
            NAMESPACE_BURST, NAMESPACE_PER_SECOND, at
        )
        if bucket.fill(at) < 1 or self._total.fill(at) < 1:
            return False
        bucket.take()
        self._total.take()
        if namespace not in self._namespaces:  # those in use are few, for the total is bounded
            self._namespaces = {
                name: kept for name, kept in self._namespaces.items() if not kept.is_full(at)
            }
            self._namespaces[namespace] = bucket
        return True
