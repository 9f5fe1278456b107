"""Look at clocks: this machine's beside the API server's, and the controller's last sign of life."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

from certs.issue import CLOCK_SKEW
from webhook.core.finding import Finding
from webhook.core.model import Object
from webhook.diagnose.wording import counted

MOST_SKEW = timedelta(seconds=30)
"""Difference of clocks that is told; the header has whole seconds, and the answer was on its way."""
FRESH = timedelta(seconds=30)
"""Age up to which a Lease counts as held: twice its duration, and some difference of clocks."""


def check_clock(here: datetime, server: datetime | None) -> Finding:
    """Compare this clock with the API server's; all else is judged by the latter."""
    if server is None:
        return Finding(
            "warn", "clock", "API server", "told no time", "all is judged by this machine's clock: see that it is right"
        )
    skew = here - server
    if abs(skew) <= MOST_SKEW:
        return Finding("ok", "clock", "this machine", "agrees with the API server's clock")
    way = "ahead of" if skew > timedelta(0) else "behind"
    message = f"is {_duration(abs(skew))} {way} the API server"
    action = "set the clock; all that follows is judged by the API server's time"
    if abs(skew) > CLOCK_SKEW:
        action += f"; where a controller's is off by more than {_duration(CLOCK_SKEW)}, it issues no certificates"
    return Finding("warn", "clock", "this machine", message, action)


def check_lease(lease: Object | None, title: str, now: datetime) -> Finding:
    """Say whether a controller leads; *lease* None: there is no such Lease."""
    task = "no address is published: members of training jobs wait"
    action = "look at the controller's pods and their logs"
    if lease is None:
        return Finding("fail", "lease", title, f"does not exist: no controller has ever led, so that {task}", action)
    spec = lease.get("spec") or {}
    holder = spec.get("holderIdentity") or ""
    if not holder:
        return Finding("fail", "lease", title, f"nobody holds it: {task}", action)
    renewed = _time(spec.get("renewTime"))
    if renewed is None:
        return Finding("fail", "lease", title, f"{holder} holds it, and never renewed it: {task}", action)
    age = now - renewed
    if age > FRESH:
        return Finding("fail", "lease", title, f"{holder} renewed it {_duration(age)} ago: {task}", action)
    if age < -MOST_SKEW:
        message = f"{holder} renewed it {_duration(-age)} in the future"
        return Finding("warn", "lease", title, message, "set the clock of the node that it runs on")
    return Finding("ok", "lease", title, f"{holder} leads")


def _duration(length: timedelta) -> str:
    seconds = round(length.total_seconds())
    for unit, size in (("day", 86400), ("hour", 3600), ("minute", 60)):
        if seconds >= 2 * size:
            return counted(seconds // size, unit)
    return counted(seconds, "second")


def _time(value: object) -> datetime | None:
    try:
        return datetime.fromisoformat(value).astimezone(UTC) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None
