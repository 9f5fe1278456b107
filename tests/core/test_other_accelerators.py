"""A profile for whole nodes: only pods whose training container asks for the profile's number of accelerators get it."""

from typing import Any

import pytest

from tests.profiles import profiles
from tests.worlds import namespace
from webhook.core import names
from webhook.core.model import Object, Outcome, Reason
from webhook.core.review import Verdict, decide
from webhook.world.objects import ObjectsWorld

PROFILES = profiles("fabric: {pods: all, accelerators: 8, container: {env: [{name: A, value: b}]}}")
GPU = "nvidia.com/gpu"


def judge(*asked: Object, labels: dict[str, str] | None = None, **spec: Any) -> Verdict:
    containers = [
        {"name": f"c{index}", "image": "i", "resources": each} for index, each in enumerate(asked)
    ]
    pod: Object = {
        "metadata": {"name": "a", "namespace": "train", "labels": labels or {}},
        "spec": {"containers": containers, **spec},
    }
    return decide(pod, "train", PROFILES, ObjectsWorld([namespace("train", profile="fabric")]))


@pytest.mark.parametrize(
    "asked",
    [
        [{"limits": {GPU: 8}}],
        [{"limits": {GPU: "8"}, "requests": {GPU: "8"}}],
        [{"requests": {"amd.com/gpu": 8}}],
        [{}, {"limits": {GPU: 8}}],
    ],
)
def test_a_pod_with_that_number_gets_it(asked: list[Object]) -> None:
    verdict = judge(*asked)
    assert verdict.operations
    assert (
        decide(
            verdict.pod, "train", PROFILES, ObjectsWorld([namespace("train", profile="fabric")])
        ).operations
        == []
    )


@pytest.mark.parametrize(
    ("asked", "found"),
    [
        ([{"limits": {GPU: 2}}], "2 accelerators"),
        ([{"limits": {GPU: 16}}], "16 accelerators"),
        ([{"limits": {GPU: 4}}, {"limits": {GPU: 4}}], "4 accelerators"),
        (
            [{"limits": {GPU: 8, "amd.com/gpu": 8}}],
            "nvidia.com/gpu in a number that is not certain",
        ),
    ],
)
def test_another_number_is_left_alone_with_a_warning(asked: list[Object], found: str) -> None:
    verdict = judge(*asked, labels={names.PROFILE: "fabric"})
    assert (verdict.allowed, verdict.operations) == (True, [])
    (decision,) = verdict.decisions
    assert (decision.outcome, decision.reason) == (Outcome.WARNED, Reason.OTHER_ACCELERATORS)
    assert decision.message == (
        f"pod a: profile fabric is for 8 accelerators, and container c0 asks for {found}: the pod is left alone; ask for 8, as of a "
        "whole node, or label the pod fabric-injector.io/profile with another profile or none"
    )


def test_a_pod_without_accelerators_that_does_not_train_is_left_alone_silently() -> None:
    verdict = judge({"limits": {"cpu": 1}})
    assert verdict.operations == []
    assert [(one.outcome, one.reason) for one in verdict.decisions] == [
        (Outcome.SKIPPED, Reason.OTHER_ACCELERATORS)
    ]


def test_a_training_pod_without_accelerators_is_left_alone_with_a_warning() -> None:
    labels = {
        "training.kubeflow.org/job-name": "j",
        "training.kubeflow.org/operator-name": "pytorchjob-controller",
        "training.kubeflow.org/replica-type": "worker",
        "training.kubeflow.org/replica-index": "0",
    }
    verdict = judge({}, labels=labels)
    assert verdict.operations == []
    assert [(one.outcome, one.reason) for one in verdict.decisions] == [
        (Outcome.WARNED, Reason.OTHER_ACCELERATORS)
    ]
    assert "asks for none" in verdict.decisions[0].message
