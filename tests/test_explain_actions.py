"""What `explain` says to do: what helps differs where the same component says much the same."""

from __future__ import annotations

import pytest

from tests.scenes import Scene, event
from webhook.explain.explanation import explain
from webhook.finding import Finding


def first(scene: Scene) -> Finding:
    """Give what a person reads first."""
    return explain(scene.reading).findings[0]


@pytest.mark.parametrize(
    ("refusal", "action"),
    [
        (
            'violates PodSecurity "baseline:latest": non-default capabilities (container "pytorch" must not include "IPC_LOCK" in '
            "securityContext.capabilities.add)",
            "label the namespace privileged, or set podSecurity: skip or ipcLock: false in the profile",
        ),
        (
            'violates PodSecurity "restricted:latest": unrestricted capabilities (container "pytorch" must not include "IPC_LOCK" in '
            'securityContext.capabilities.add), runAsNonRoot != true (container "pytorch" must set securityContext.runAsNonRoot=true)',
            "label the namespace privileged, or correct the job in what is named, and set podSecurity: skip in the profile where "
            "IPC_LOCK is",
        ),
        (
            "exceeded quota: q, requested: pods=1, used: pods=2, limited: pods=2",
            "raise the ResourceQuota by what is requested, injected devices included, or end other pods that it counts",
        ),
        (
            "failed quota: q: must specify limits.memory for: fabric-injector-wait,pytorch",
            "give the job's containers what is named, or the namespace a LimitRange with defaults",
        ),
        ("no PriorityClass with name high was found", "correct that; the owner then tries again, or restart the job"),
    ],
    ids=["IPC_LOCK alone", "and more", "quota exceeded", "quota wants requests", "other"],
)
def test_a_refusal_is_answered_by_what_would_lift_it(refusal: str, action: str) -> None:
    scene = Scene(1)
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", f'pods "bert-worker-1" is forbidden: {refusal}')]
    assert first(scene).action == action
