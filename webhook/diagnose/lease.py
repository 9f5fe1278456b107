"""Decide by the Lease whether a controller leads."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from webhook.core.model import Object
from webhook.diagnose.finding import Code
from webhook.diagnose.wording import duration, seconds_since
from webhook.kube.lease import LeaseRecord

LEASE_STALE = Code(
    "lease-stale",
    "lease",
    "No controller holds the Lease and renews it, so no address is published.",
    "look at the controller's pods and their logs",
)
GRACE_SECONDS = 15
"""How much longer than it lasts a Lease counts as held: a renewal may be on its way."""


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
    record = LeaseRecord.of(lease)
    if not record.holder:
        return LeaseState(False, "is held by no controller")
    seconds = seconds_since(record.renewed, now)
    if seconds is None:
        return LeaseState(False, f"is held by {record.holder}, and its renewTime cannot be read")
    if seconds > record.seconds + GRACE_SECONDS:
        ago, lasting = duration(seconds), duration(record.seconds)
        message = f"was last renewed {ago} ago, by {record.holder}, and lasts {lasting}"
        return LeaseState(False, message)
    return LeaseState(True, f"is held by {record.holder}")
