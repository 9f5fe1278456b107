"""Who leads by what a Lease says: `check` and `explain` must say the same of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import NOW, Scene, ago
from webhook.core.model import Object
from webhook.diagnose.check.timing import check_lease
from webhook.diagnose.codes import Code
from webhook.diagnose.lease import GRACE_SECONDS, judge_lease
from webhook.kube.lease import LeaseRecord


def lease(seconds: float, lasts: Any = 15, holder: str = "c-1") -> Object:
    """Return a Lease that was renewed so long ago."""
    return {
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": lasts,
            "renewTime": ago(seconds=seconds),
        }
    }


CASES = [
    (lease(2), Code.LEASE_HELD),
    (lease(30), Code.LEASE_HELD),
    (lease(31), Code.LEASE_STALE),
    (lease(45, 60), Code.LEASE_HELD),
    (lease(75, 60), Code.LEASE_HELD),
    (lease(76, 60), Code.LEASE_STALE),
    (lease(76, 10**400), Code.LEASE_STALE),
    (lease(31, "long"), Code.LEASE_STALE),
    (lease(-30), Code.LEASE_HELD),
    (lease(-31), Code.LEASE_AHEAD),
    (lease(2, holder=""), Code.LEASE_FREE),
    ({"spec": {"holderIdentity": "c-1", "renewTime": "soon"}}, Code.LEASE_STALE),
    (
        {"spec": {"holderIdentity": "c-1", "renewTime": "9999-12-31T23:59:59-23:00"}},
        Code.LEASE_STALE,
    ),
    ({"spec": "junk"}, Code.LEASE_FREE),
    ({}, Code.LEASE_MISSING),
    (None, Code.LEASE_MISSING),
]


@pytest.mark.parametrize(("found", "code"), CASES, ids=str)
def test_is_stale_once_it_was_not_renewed_for_as_long_as_it_lasts(
    found: Object | None, code: Code
) -> None:
    assert judge_lease(found, NOW).code is code
    assert check_lease(found, "Lease x", NOW).code is code


@pytest.mark.parametrize("lasts", [-1, 0, 1, 15, 16, 60, 61, 10**9, None, "60"], ids=str)
def test_believes_the_durations_that_the_controllers_believe(lasts: Any) -> None:
    limit = LeaseRecord.of(lease(0, lasts)).seconds + GRACE_SECONDS
    assert judge_lease(lease(limit, lasts), NOW).leads
    assert not judge_lease(lease(limit + 1, lasts), NOW).leads


@pytest.mark.parametrize(("found", "code"), CASES[:-1], ids=str)
def test_check_and_explain_say_the_same(found: Object, code: Code) -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    scene.lease = found
    [told] = findings(scene, "lease", "controller")
    is_gone = check_lease(found, "Lease x", NOW).level == "fail"
    assert told.code is (code if is_gone else Code.CONTROLLER_SILENT)
    assert told.message.startswith(judge_lease(found, NOW).message)
