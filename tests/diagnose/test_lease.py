"""Who leads by what a Lease says: `check` and `explain` must say the same of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.connection import NOW
from tests.diagnose.findings import findings
from tests.diagnose.scenes import Scene, ago
from webhook.core.model import Object
from webhook.diagnose.common import judge_lease


def lease(seconds: float, lasts: Any = 15, holder: str = "c-1") -> Object:
    """Return a Lease that was renewed so long ago."""
    return {
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": lasts,
            "renewTime": ago(seconds=seconds),
        }
    }


HELD, STALE = True, False
CASES = [
    (lease(2), HELD),
    (lease(30), HELD),
    (lease(31), STALE),
    (lease(45, 60), HELD),
    (lease(75, 60), HELD),
    (lease(76, 60), STALE),
    (lease(76, 10**400), STALE),
    (lease(31, "long"), STALE),
    (lease(-30), HELD),
    (lease(-31), HELD),
    (lease(2, holder=""), STALE),
    ({"spec": {"holderIdentity": "c-1", "renewTime": "soon"}}, STALE),
    ({"spec": {"holderIdentity": "c-1", "renewTime": "9999-12-31T23:59:59-23:00"}}, HELD),
    ({"spec": "junk"}, STALE),
    ({}, STALE),
    (None, STALE),
]


@pytest.mark.parametrize(("found", "leads"), CASES, ids=str)
def test_is_stale_once_it_was_not_renewed_for_as_long_as_it_lasts(
    found: Object | None, leads: bool
) -> None:
    assert judge_lease(found, NOW).leads is leads


@pytest.mark.parametrize(("seconds", "code"), [(2, "controller-silent"), (31, "lease-stale")])
def test_explain_says_what_check_says(seconds: int, code: str) -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    scene.lease = lease(seconds)
    [finding] = findings(scene, "lease", "controller")
    assert str(finding.code) == code
    assert finding.message.startswith(judge_lease(scene.lease, NOW).message)
