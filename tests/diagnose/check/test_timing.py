"""What ``check`` says of clocks and of the controller's Lease."""

from datetime import timedelta
from typing import Any

import pytest

from tests.certs.simulation import NOW
from tests.diagnose.check.findings import brief
from webhook.diagnose.check.timing import check_clock, check_lease


@pytest.mark.parametrize(
    ("ahead", "expected"),
    [
        (0, "ok this machine: agrees with the API server's clock"),
        (30, "ok this machine: agrees with the API server's clock"),
        (-31, "warn this machine: is 31 seconds behind the API server"),
        (119, "warn this machine: is 119 seconds ahead of the API server"),
        (600, "warn this machine: is 10 minutes ahead of the API server"),
        (-7200, "warn this machine: is 2 hours behind the API server"),
        (86400 * 3, "warn this machine: is 3 days ahead of the API server"),
    ],
)
def test_compares_the_clocks(ahead: int, expected: str) -> None:
    assert brief([check_clock(NOW + timedelta(seconds=ahead), NOW)]) == [expected]


def test_says_when_certificates_are_in_danger() -> None:
    assert "issues no certificates" not in check_clock(NOW + timedelta(minutes=4), NOW).action
    assert "more than 5 minutes, it issues no certificates" in check_clock(NOW + timedelta(minutes=6), NOW).action


def test_does_without_a_time() -> None:
    assert brief([check_clock(NOW, None)]) == ["warn API server: told no time"]


def lease(holder: str | None = "pod-1", renewed: Any = "2026-03-01T12:00:00.000001Z") -> dict[str, Any]:
    return {"spec": {"holderIdentity": holder, "renewTime": renewed}}


WAITING = "no address is published: members of training jobs wait"


@pytest.mark.parametrize(
    ("found", "after", "expected"),
    [
        (lease(), 5, "ok Lease x: pod-1 leads"),
        (lease(), -5, "ok Lease x: pod-1 leads"),
        (lease(), 30, "ok Lease x: pod-1 leads"),
        (lease(), 300, f"fail Lease x: pod-1 renewed it 5 minutes ago: {WAITING}"),
        (lease(), -300, "warn Lease x: pod-1 renewed it 5 minutes in the future"),
        (lease(""), 0, f"fail Lease x: nobody holds it: {WAITING}"),
        ({}, 0, f"fail Lease x: nobody holds it: {WAITING}"),
        (lease(renewed=None), 0, f"fail Lease x: pod-1 holds it, and never renewed it: {WAITING}"),
        (lease(renewed="yesterday"), 0, f"fail Lease x: pod-1 holds it, and never renewed it: {WAITING}"),
        (None, 0, f"fail Lease x: does not exist: no controller has ever led, so that {WAITING}"),
    ],
    ids=str,
)
def test_judges_a_lease(found: dict[str, Any] | None, after: int, expected: str) -> None:
    assert brief([check_lease(found, "Lease x", NOW + timedelta(seconds=after))]) == [expected]
