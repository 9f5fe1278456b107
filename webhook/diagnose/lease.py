"""Decide by the Lease whether a controller leads."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from webhook.core.model import Object
from webhook.diagnose.finding import Code
from webhook.diagnose.wording import duration

LEASE_STALE = Code(
    "lease-stale",
    "lease",
    "No controller holds the Lease and renews it, so no address is published.",
    "look at the controller's pods and their logs",
)
GRACE_SECONDS = 15
"""How much longer than it lasts a Lease counts as held: a renewal may be on its way."""
_LEAST_SECONDS, _MOST_SECONDS = 6, 60
"""Bounds of a duration that the controllers believe: LeaseRecord.seconds of webhook/kube."""


class LeaseState(NamedTuple):
    """Say whether a controller *leads*, in a *message* without a subject."""

    leads: bool
    message: str


def judge_lease(lease: Object | None, now: datetime) -> LeaseState:
    """Judge a Lease as leader election does: stale once it was not renewed for as long as it lasts.

    None or empty: there is none.
    """
    if not lease:
        return LeaseState(False, "does not exist")
    spec = lease.get("spec")
    fields: Object = spec if isinstance(spec, dict) else {}
    holder, lasts = fields.get("holderIdentity"), fields.get("leaseDurationSeconds")
    if not holder:
        return LeaseState(False, "is held by no controller")
    limit = min(max(lasts if isinstance(lasts, int) else 0, _LEAST_SECONDS), _MOST_SECONDS)
    renewed = _time(fields.get("renewTime"))
    if renewed is None:
        return LeaseState(False, f"is held by {holder}, and its renewTime cannot be read")
    seconds = (now - renewed) / timedelta(seconds=1)
    if seconds > limit + GRACE_SECONDS:
        ago, lasting = duration(seconds), duration(limit)
        return LeaseState(False, f"was last renewed {ago} ago, by {holder}, and lasts {lasting}")
    return LeaseState(True, f"is held by {holder}")


def _time(text: object) -> datetime | None:
    try:
        return datetime.fromisoformat(str(text)).astimezone(UTC)
    except (ValueError, OverflowError):
        return None
