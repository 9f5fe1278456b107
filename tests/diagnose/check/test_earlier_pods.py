"""What ``check`` says of pods that nobody injected."""

from typing import Any

import pytest

from tests import pods
from tests.diagnose.check.findings import brief
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.earlier_pods import check_earlier_pods, is_unreached, may_be_earlier
from webhook.diagnose.check.namespaces import LabelledNamespace

LABELLED = {
    "train": LabelledNamespace("train", {names.PROFILE: "shared"}),
    "watched": LabelledNamespace("watched", {names.PROFILE: "shared", names.MODE: "observe"}),
    "out": LabelledNamespace("out", {names.PROFILE: "none"}),
    "half": LabelledNamespace("half", {names.MODE: "observe"}),
}
NONE = "ok training pods: none of the unfinished ones in labelled namespaces is without injection"


def live(fixture: str, namespace: str = "train", **metadata: Any) -> Object:
    """Give a fixture's pod as it is in a namespace."""
    pod = pods.load(f"pods/{fixture}.yaml")
    pod["metadata"] |= {
        "namespace": namespace,
        "name": pod["metadata"].get("name") or fixture,
        **metadata,
    }
    return pod


def metadata_of(pod: Object) -> Object:
    return {"metadata": pod["metadata"]}


TRAINING = [
    name.removeprefix("pods/").removesuffix(".yaml")
    for name in pods.all_names()
    if name.startswith("pods/")
]


@pytest.mark.parametrize("fixture", TRAINING)
def test_knows_every_training_system_by_its_metadata(fixture: str) -> None:
    """Whatever the whole pod would be recognised as must not be passed over by its metadata."""
    assert may_be_earlier(metadata_of(live(fixture)), LABELLED)


def test_counts_pods_and_jobs() -> None:
    found = [live("kubeflow-pytorchjob-0"), live("kubeflow-pytorchjob-1"), live("torchx-volcano-1")]
    found[2]["metadata"]["ownerReferences"][0]["uid"] = "another"
    (line,) = brief(check_earlier_pods(found))
    assert line == (
        f"warn namespace train: 3 unfinished training pods of 2 jobs (bert, trainer) without injection: "
        f"rank 0 ({found[0]['metadata']['name']}) was "
        "created before its namespace was labelled, or while the webhook was not called or only observed, "
        "and publishes no address"
    )


def test_counts_the_pods_of_one_job_once_though_only_rank_zero_shows_where_they_meet() -> None:
    found = [live("kubeflow-pytorchjob-0"), live("kubeflow-pytorchjob-1")]
    container = found[1]["spec"]["containers"][0]
    container["env"] = []  # a member that is told by its command, as of an indexed Job
    assert "of 1 job (bert) without" in brief(check_earlier_pods(found))[0]


def test_knows_a_worker_from_rank_zero() -> None:
    assert brief(check_earlier_pods([live("torchx-volcano-1")])) == [
        "warn namespace train: 1 unfinished training pod of 1 job (trainer) without injection"
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"annotations": {names.STATUS: "{}"}},
        {"labels": {names.PROFILE: "none", "training.kubeflow.org/job-name": "bert"}},
        {"deletionTimestamp": "2026-01-01T00:00:00Z"},
        {"namespace": "unlabelled"},
        {"namespace": "watched"},
        {"namespace": "out"},
        {"namespace": "half"},
    ],
    ids=str,
)
def test_passes_over(change: dict[str, Any]) -> None:
    assert not may_be_earlier(metadata_of(live("kubeflow-pytorchjob-0", **change)), LABELLED)


def test_passes_over_pods_of_no_training_system() -> None:
    replica_set = {
        "kind": "ReplicaSet",
        "name": "web",
        "apiVersion": "apps/v1",
        "uid": "u",
        "controller": True,
    }
    web = {"metadata": {"name": "web", "namespace": "train", "ownerReferences": [replica_set]}}
    assert not may_be_earlier(web, LABELLED)


def test_passes_over_a_stateful_set_that_does_not_train() -> None:
    """Its metadata looks like it, so that the whole pod is read; its variables tell."""
    pod = pods.drop_env(live("statefulset-0"), "MASTER_ADDR")
    pods.set_command(pod, "redis-server")
    assert may_be_earlier(metadata_of(pod), LABELLED)
    assert brief(check_earlier_pods([pod])) == [NONE]


def test_survives_pods_that_cannot_be_read() -> None:
    pod = live("kubeflow-pytorchjob-0")
    pod["spec"]["containers"][0]["env"] = "garbage"
    assert brief(check_earlier_pods([pod])) == [NONE]


@pytest.mark.parametrize(
    ("namespace", "labels", "expected"),
    [
        ("unlabelled", {names.PROFILE: "shared"}, True),
        ("half", {names.PROFILE: "shared"}, True),
        ("unlabelled", {names.PROFILE: "none"}, False),
        ("unlabelled", {}, False),
        ("train", {names.PROFILE: "shared"}, False),
    ],
)
def test_finds_labelled_pods_elsewhere(
    namespace: str, labels: dict[str, str], expected: bool
) -> None:
    pod = {"metadata": {"name": "a", "namespace": namespace, "labels": labels}}
    assert is_unreached(pod, LABELLED) is expected


def test_tells_of_labelled_pods_elsewhere() -> None:
    pod = {"metadata": {"name": "a", "namespace": "b", "labels": {names.PROFILE: "shared"}}}
    assert brief(check_earlier_pods([], [pod])) == [
        NONE,
        "warn pods with label fabric-injector.io/profile: 1 pod not injected, in namespaces without the label: b/a",
    ]
