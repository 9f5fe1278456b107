"""What `explain` tells of Events: those of our own, and what kept the job's owner from creating pods."""

from __future__ import annotations

from datetime import timedelta

import pytest

from tests.diagnose.explain.explanations import findings, first, one
from tests.diagnose.scenes import NOW, Scene, event
from webhook.diagnose.explain.events import concerns


def test_our_own_events_of_live_pods_are_told() -> None:
    scene = Scene(1)
    scene.events = [
        event("Pod", "bert-worker-0", "UnexpectedInterface", "the network is on net2", source="fabric-injector"),
        event("Pod", "bert-worker-0", "BackOff", "of another component", source="kubelet"),
        event("Pod", "bert-worker-0", "NoSecondaryAddress", "over by now", source="fabric-injector"),
        event("Pod", "gone", "NoSecondaryAddress", "of a pod that is gone", source="fabric-injector"),
    ]
    assert one(scene) == "warn pod bert-worker-0: Event UnexpectedInterface: the network is on net2"


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            'Internal error occurred: failed calling webhook "pods.fabric-injector.io": Post "https://x": connection refused',
            'cannot be created, because the webhook does not answer: Post "https://x": connection refused',
        ),
        (
            'pods "bert-worker-3" is forbidden: violates PodSecurity "baseline:latest": non-default capabilities',
            'was refused: violates PodSecurity "baseline:latest": non-default capabilities',
        ),
        ('pods "bert-worker-3" is forbidden: no such service account', "was refused: no such service account"),
        (
            'Internal error occurred: failed calling webhook "validate.example.com": Post "https://x": connection refused',
            "cannot be created, because another program's webhook does not answer: "
            '"validate.example.com": Post "https://x": connection refused',
        ),
        (
            'admission webhook "validate.example.com" denied the request: label team is missing',
            'was refused: webhook "validate.example.com" denied the request: label team is missing',
        ),
        (
            "Error creating: Timeout: request did not complete",
            "could not be created: Timeout: request did not complete",
        ),
    ],
    ids=["webhook-down", "pod-security", "other", "other-webhook-down", "other-webhook-denies", "unknown"],
)
def test_what_kept_the_owner_from_creating_pods(message: str, told: str) -> None:
    scene = Scene(1)
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", message)]
    assert one(scene, "admission", "reachability") == f"fail PyTorchJob bert: a pod of it {told}"


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
            "label the namespace privileged, or correct what is named, and for IPC_LOCK set podSecurity: skip in the profile",
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


def test_refusals_before_the_newest_pod_are_over() -> None:
    scene = Scene(1)
    old = (NOW - timedelta(hours=1)).strftime("%Y-%m-%dT%H:%M:%SZ")
    scene.events = [event("PyTorchJob", "bert", "FailedCreatePod", "pods is forbidden: x", at=old)]
    assert findings(scene) == []


@pytest.mark.parametrize(
    ("name", "is_ours"),
    [
        ("bert", True),
        ("bert-worker-0", True),
        ("bert-1", True),
        ("pytorchjob-bert-a1b2c", True),
        ("bert-7d3f9ce1-1c1f-4a6e-9c3a-0f0e2f1b2c3d", True),
        ("child", True),
        ("bert-large", False),
        ("big-bert", False),
        ("pytorchjob-bert-large-a1b2c", False),
    ],
)
def test_whose_event_it_is(name: str, is_ours: bool) -> None:
    assert concerns(event("Job", name, "FailedCreate", "x"), "bert", {"bert", "child"}) is is_ours
