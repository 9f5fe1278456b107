"""Tolerations: the profile's are appended; one of the same taint stays as the user wrote it."""

from __future__ import annotations

import pytest

from tests.core.builders import carry_out, outcomes, plan, profile
from tests.pods import minimal_pod
from webhook.core.injection.tolerations import inject
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import ProfileToleration

GPU = ProfileToleration("nvidia.com/gpu", "Exists", effect="NoSchedule")
POOL = ProfileToleration("pool", value="train", effect="NoExecute", toleration_seconds=60)


def test_appends_what_the_pod_lacks() -> None:
    pod = minimal_pod(tolerations=[{"key": "mine", "operator": "Exists"}])
    result, decisions = carry_out(inject, pod, plan(pod, profile=profile(tolerations=(GPU, POOL))))
    assert result["spec"]["tolerations"] == [
        {"key": "mine", "operator": "Exists"},
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {
            "key": "pool",
            "operator": "Equal",
            "value": "train",
            "effect": "NoExecute",
            "tolerationSeconds": 60,
        },
    ]
    assert outcomes(decisions) == [(Outcome.INJECTED, Reason.ADDED)]
    assert (
        decisions[0].message == "the pod tolerates nvidia.com/gpu:NoSchedule, pool=train:NoExecute"
    )


@pytest.mark.parametrize(
    ("wanted", "there"),
    [
        (
            GPU,
            {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule", "value": None},
        ),
        (POOL, {"key": "pool", "value": "train", "effect": "NoExecute", "tolerationSeconds": 5}),
        (ProfileToleration(operator="Exists"), {"operator": "Exists"}),
    ],
)
def test_keeps_the_users_own_of_the_same_taint(wanted: ProfileToleration, there: Object) -> None:
    pod = minimal_pod(tolerations=[there])
    result, decisions = carry_out(inject, pod, plan(pod, profile=profile(tolerations=(wanted,))))
    assert result == pod
    assert outcomes(decisions) == [(Outcome.KEPT, Reason.ALREADY_THERE)]


def test_tolerates_every_taint_and_says_so() -> None:
    pod = minimal_pod(tolerations=None)
    result, decisions = carry_out(
        inject, pod, plan(pod, profile=profile(tolerations=(ProfileToleration(operator="Exists"),)))
    )
    assert result["spec"]["tolerations"] == [{"operator": "Exists"}]
    assert decisions[0].message == "the pod tolerates every taint"


def test_a_profile_without_any_asks_for_none() -> None:
    pod = minimal_pod()
    result, decisions = carry_out(inject, pod, plan(pod))
    assert (result, outcomes(decisions)) == (pod, [(Outcome.SKIPPED, Reason.NOT_ASKED)])
