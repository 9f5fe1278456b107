"""Look at clocks: this machine's beside the API server's, and the controller's last sign of life."""

from __future__ import annotations

from datetime import datetime, timedelta

from certs.issue import CLOCK_SKEW
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Code as NewCode
from webhook.diagnose.finding import Finding, ok
from webhook.diagnose.lease import LEASE_STALE, judge_lease
from webhook.diagnose.wording import duration

LEASE_AHEAD = NewCode(
    "lease-ahead",
    "lease",
    "The Lease was renewed at a time to come.",
    "set the clock of the node that the controller runs on",
)
MOST_SKEW = timedelta(seconds=30)
"""Difference of clocks that is told; the header has whole seconds, and the answer was on its way."""


def check_clock(here: datetime, server: datetime | None) -> Finding:
    """Compare this clock with the API server's; all else is judged by the latter."""
    if server is None:
        return Finding("warn", Code.CLOCK_UNKNOWN, "API server", "told no time")
    skew = here - server
    if abs(skew) <= MOST_SKEW:
        return Finding("ok", Code.CLOCK_RIGHT, "this machine", "agrees with the API server's clock")
    way = "ahead of" if skew > timedelta(0) else "behind"
    message = f"is {duration(abs(skew).total_seconds())} {way} the API server"
    action = Code.CLOCK_OFF.action
    if abs(skew) > CLOCK_SKEW:
        most = duration(CLOCK_SKEW.total_seconds())
        action += f"; where a controller's is off by more than {most}, it issues no certificates"
    return Finding("warn", Code.CLOCK_OFF, "this machine", message, action)


def check_lease(lease: Object | None, title: str, now: datetime) -> Finding:
    """Say whether a controller leads; *lease* None: there is no such Lease."""
    state = judge_lease(lease, now)
    if not state.leads:
        consequence = "no address is published, and members of training jobs wait"
        return LEASE_STALE.fail(title, f"{state.message}: {consequence}")
    if state.is_ahead:
        return LEASE_AHEAD.warn(title, state.message)
    return ok("lease", title, state.message)
