"""Read and write what a Lease says, as client-go does; no clock and no network."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime

from webhook.core.model import Object

DURATION_SECONDS = 15
MOST_SECONDS = 60
"""Longest duration that is believed: a later version may write a longer one, but a wrong one must not last for ever."""
RELEASED_SECONDS = 1
MOST_TRANSITIONS = 2**31 - 1


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """Hold the fields of a Lease's spec that matter; times are MicroTime, ``2026-11-21T15:30:35.000001Z``.

    Two equal records are one renewal: a holder's renewTime changes each time. A field that is missing or of another type
    counts as empty.
    """

    holder: str = ""
    duration_seconds: int = 0
    acquired: str = ""
    renewed: str = ""
    transitions: int = 0

    @classmethod
    def of(cls, lease: Object) -> LeaseRecord:
        """Read an object, which may hold anything."""
        spec = lease.get("spec")
        if not isinstance(spec, dict):
            return cls()
        texts = (spec.get(key) for key in ("holderIdentity", "acquireTime", "renewTime"))
        holder, acquired, renewed = (value if isinstance(value, str) else "" for value in texts)
        numbers = (spec.get(key) for key in ("leaseDurationSeconds", "leaseTransitions"))
        duration, transitions = (value if isinstance(value, int) else 0 for value in numbers)
        return cls(holder, duration, acquired, renewed, transitions)

    @property
    def seconds(self) -> int:
        """Give how long the record holds after it was first seen."""
        return min(max(self.duration_seconds, DURATION_SECONDS), MOST_SECONDS)

    def held_by(self, identity: str, now: datetime) -> LeaseRecord:
        """Renew it if it is theirs, else hand it over: then acquireTime and leaseTransitions change too."""
        time = _micro_time(now)
        if self.holder == identity:
            return replace(self, duration_seconds=DURATION_SECONDS, acquired=self.acquired or time, renewed=time)
        transitions = self.transitions + 1 if 0 <= self.transitions < MOST_TRANSITIONS else 0
        return LeaseRecord(identity, DURATION_SECONDS, time, time, transitions)

    def released(self, now: datetime) -> LeaseRecord:
        """Leave it to whoever comes first."""
        time = _micro_time(now)
        return LeaseRecord("", RELEASED_SECONDS, time, time, self.transitions)

    def within(self, lease: Object) -> Object:
        """Give the object with this record; what else it holds is kept, resourceVersion above all."""
        spec = lease.get("spec")
        written = {
            "holderIdentity": self.holder,
            "leaseDurationSeconds": self.duration_seconds,
            "acquireTime": self.acquired,
            "renewTime": self.renewed,
            "leaseTransitions": self.transitions,
        }
        return {**lease, "spec": {**(spec if isinstance(spec, dict) else {}), **written}}


class ObservedLease:
    """Hold the last record that was seen, and since when it is as it is, by the clock of the one who looks."""

    def __init__(self) -> None:
        self.record = LeaseRecord()
        self._is_there = False
        self._since = 0.0

    def see(self, record: LeaseRecord | None, at: float) -> None:
        """Note what was read at that time; None where the Lease is gone, whose holder may still write and make it again."""
        if (record is not None) != self._is_there or record not in (None, self.record):
            self._since = at
        self._is_there = record is not None
        self.record = record or self.record

    def is_taken_from(self, identity: str) -> bool:
        """Tell whether another is written there."""
        return self._is_there and self.record.holder not in ("", identity)

    def is_kept_from(self, identity: str, at: float) -> bool:
        """Tell whether another may still hold it."""
        return self.record.holder not in ("", identity) and at < self._since + self.record.seconds


def new_lease(namespace: str, name: str) -> Object:
    """Give the object to create, still without a record."""
    metadata = {"namespace": namespace, "name": name}
    return {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}


def _micro_time(now: datetime) -> str:
    return now.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
