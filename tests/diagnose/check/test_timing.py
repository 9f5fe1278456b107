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
        (-31, "warn this machine: is 31 s behind the API server"),
        (119, "warn this machine: is 119 s ahead of the API server"),
        (600, "warn this machine: is 10 min ahead of the API server"),
        (-7200, "warn this machine: is 2 h behind the API server"),
        (86400 * 3, "warn this machine: is 3 d ahead of the API server"),
    ],
)
def test_compares_the_clocks(ahead: int, expected: str) -> None:
    assert brief([check_clock(NOW + timedelta(seconds=ahead), NOW)]) == [expected]


def test_says_when_certificates_are_in_danger() -> None:
    assert "issues no certificates" not in check_clock(NOW + timedelta(minutes=4), NOW).action
    assert (
        "more than 5 min, it issues no certificates"
        in check_clock(NOW + timedelta(minutes=6), NOW).action
    )


def test_does_without_a_time() -> None:
    assert brief([check_clock(NOW, None)]) == ["warn API server: told no time"]


def lease(
    holder: str | None = "pod-1", renewed: Any = "2026-03-01T12:00:00.000001Z", lasts: Any = 15
) -> dict[str, Any]:
    return {"spec": {"holderIdentity": holder, "leaseDurationSeconds": lasts, "renewTime": renewed}}


WAITING = "no address is published, and members of training jobs wait"
NEVER = f"fail Lease x: is held by pod-1, which renewed it at no time that can be read: {WAITING}"


@pytest.mark.parametrize(
    ("found", "after", "expected"),
    [
        (lease(), 5, "ok Lease x: is held by pod-1"),
        (lease(), -5, "ok Lease x: is held by pod-1"),
        (lease(), 30, "ok Lease x: is held by pod-1"),
        (lease(lasts=60), 45, "ok Lease x: is held by pod-1"),
        (
            lease(),
            300,
            f"fail Lease x: was renewed last 5 min ago, by pod-1, and lasts 15 s: {WAITING}",
        ),
        (lease(), -300, "warn Lease x: was renewed 5 min in the future, by pod-1"),
        (lease(""), 0, f"fail Lease x: is held by no controller: {WAITING}"),
        (lease(renewed=None), 0, NEVER),
        (lease(renewed="yesterday"), 0, NEVER),
        (None, 0, f"fail Lease x: does not exist: {WAITING}"),
    ],
    ids=str,
)
def test_judges_a_lease(found: dict[str, Any] | None, after: int, expected: str) -> None:
    assert brief([check_lease(found, "Lease x", NOW + timedelta(seconds=after))]) == [expected]
