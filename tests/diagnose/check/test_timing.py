"""What ``check`` says of clocks and of the controller's Lease."""

from datetime import timedelta

import pytest
import yaml

from tests.certs.simulation import NOW
from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
from webhook.diagnose.check.timing import check_clock, check_lease


@pytest.mark.parametrize(
    ("ahead", "head", "words"),
    cases("""
alike | 0 | ok clock-right this machine | agrees with the API server's clock
half a minute | 30 | ok clock-right this machine |
behind | -31 | warn clock-off this machine | is 31 s behind the API server
seconds ahead | 119 | warn clock-off this machine | is 119 s ahead of the API server
minutes ahead | 600 | warn clock-off this machine | is 10 min ahead of the API server
"""),
)
def test_compares_the_clocks(ahead: str, head: str, words: str) -> None:
    expect([check_clock(NOW + timedelta(seconds=int(ahead)), NOW)], f"{head} | {words}")


def test_says_when_certificates_are_in_danger() -> None:
    assert "issues no certificates" not in check_clock(NOW + timedelta(minutes=4), NOW).action
    assert (
        "more than 5 min, it issues no certificates"
        in check_clock(NOW + timedelta(minutes=6), NOW).action
    )


def test_does_without_a_time() -> None:
    assert brief([check_clock(NOW, None)]) == ["warn API server: told no time"]


WAITING = "no address is published, and members of training jobs wait"
STALE = "fail lease-stale Lease x |"


@pytest.mark.parametrize(
    ("spec", "row"),
    [
        (
            "{holderIdentity: c, renewTime: 2026-03-01T11:59:55Z}",
            "ok ok Lease x | is held by c",
        ),
        (
            "{holderIdentity: c, renewTime: 2026-03-01T11:55:00Z}",
            f"{STALE} was last renewed 5 min ago, by c, and lasts 6 s: {WAITING}",
        ),
        (
            "{holderIdentity: c, renewTime: 2026-03-01T12:05:00Z}",
            "warn lease-ahead Lease x | was renewed 5 min in the future, by c",
        ),
        ('{holderIdentity: ""}', f"fail lease-stale Lease x | is held by no controller: {WAITING}"),
        (
            "{holderIdentity: c, renewTime: yesterday}",
            f"{STALE} c, and its renewTime cannot be read: {WAITING}",
        ),
        ("", f"fail lease-stale Lease x | does not exist: {WAITING}"),
    ],
)
def test_says_what_a_lease_means(spec: str, row: str) -> None:
    """Which Lease is which, test_lease.py of the folder above shows."""
    found = {"spec": yaml.load(spec, yaml.BaseLoader)} if spec else None
    expect([check_lease(found, "Lease x", NOW)], row)
