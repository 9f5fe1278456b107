"""Who leads by what a Lease says: `check` and `explain` must say the same of it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import NOW, Scene, ago
from webhook.core.model import Object
from webhook.diagnose.lease import judge_lease


def lease(seconds: float, lasts: Any = 15, holder: str = "c-1") -> Object:
    """Return a Lease that was renewed so long ago."""
    return {
        "spec": {
            "holderIdentity": holder,
            "leaseDurationSeconds": lasts,
            "renewTime": ago(seconds=seconds),
        }
    }


HELD, STALE = ("ok", "ok"), ("fail", "lease-stale")
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


@pytest.mark.parametrize(("found", "told"), CASES, ids=str)
def test_is_stale_once_it_was_not_renewed_for_as_long_as_it_lasts(
    found: Object | None, told: tuple[str, str]
) -> None:
    state = judge_lease(found, NOW)
    assert state.leads == (told != STALE)


@pytest.mark.parametrize(("found", "told"), CASES[:-1], ids=str)
def test_check_and_explain_say_the_same(found: Object, told: tuple[str, str]) -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    scene.lease = found
    [finding] = findings(scene, "lease", "controller")
    assert str(finding.code) == ("lease-stale" if told == STALE else "controller-silent")
    assert finding.message.startswith(judge_lease(found, NOW).message)
