"""Decide whether a controller leads: whether the Lease is held, stale or free."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.wording import duration

GRACE_SECONDS = 15
"""How much longer than it lasts a Lease counts as held: a renewal may be on its way, and clocks differ."""
MOST_AHEAD_SECONDS = 30
_LEAST_SECONDS, _MOST_SECONDS = 6, 60
"""Bounds of a duration that the controllers believe, whatever the Lease says: LeaseRecord.seconds of webhook/kube."""


class LeaseState(NamedTuple):
    """Hold what is true of a Lease: *code*, one of the ``LEASE_…``, and a *message* that says so without a subject."""

    code: Code
    message: str

    @property
    def leads(self) -> bool:
        """Tell whether a controller renews it."""
        return self.code in (Code.LEASE_HELD, Code.LEASE_AHEAD)


def judge_lease(lease: Object | None, now: datetime) -> LeaseState:
    """Judge a Lease as leader election does: stale once it was not renewed for as long as it lasts; None or empty: there is none."""
    if not lease:
        return LeaseState(Code.LEASE_MISSING, "does not exist")
    spec = lease.get("spec")
    fields: Object = spec if isinstance(spec, dict) else {}
    holder, lasts = fields.get("holderIdentity"), fields.get("leaseDurationSeconds")
    if not holder:
        return LeaseState(Code.LEASE_FREE, "is held by no controller")
    limit = min(max(lasts if isinstance(lasts, int) else 0, _LEAST_SECONDS), _MOST_SECONDS)
    renewed = _time(fields.get("renewTime"))
    if renewed is None:
        return LeaseState(
            Code.LEASE_STALE, f"is held by {holder}, which renewed it at no time that can be read"
        )
    seconds = (now - renewed) / timedelta(seconds=1)
    if seconds > limit + GRACE_SECONDS:
        message = (
            f"was renewed last {duration(seconds)} ago, by {holder}, and lasts {duration(limit)}"
        )
        return LeaseState(Code.LEASE_STALE, message)
    if seconds < -MOST_AHEAD_SECONDS:
        return LeaseState(
            Code.LEASE_AHEAD, f"was renewed {duration(-seconds)} in the future, by {holder}"
        )
    return LeaseState(Code.LEASE_HELD, f"is held by {holder}")


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
