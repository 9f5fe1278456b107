"""What ``check`` says of pods that nobody injected."""

from typing import Any

import pytest

from tests import pods
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.earlier_pods import judge, may_be_earlier
from webhook.diagnose.check.needs import LabelledNamespace

LABELLED = {"train": LabelledNamespace("train", {names.PROFILE: "shared"})}


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


def test_counts_the_pods_of_one_job_once_though_only_rank_zero_shows_where_they_meet() -> None:
    found = [live("kubeflow-pytorchjob-0"), live("kubeflow-pytorchjob-1")]
    container = found[1]["spec"]["containers"][0]
    container["env"] = []  # a member that is told by its command, as of an indexed Job
    assert "of 1 job (bert) not injected" in next(judge(found)).message


def test_names_rank_zero_and_its_jobs() -> None:
    found = [live("kubeflow-pytorchjob-0"), live("kubeflow-pytorchjob-1"), live("torchx-volcano-1")]
    found[2]["metadata"]["ownerReferences"][0]["uid"] = "another"
    [finding] = judge(found)
    assert finding.subject == "namespace train"
    assert finding.message.startswith(
        "3 unfinished training pods of 2 jobs (bert, trainer) not injected: rank 0 (bert-master-0) "
    )
    [worker] = judge(found[2:])
    assert worker.message == "1 unfinished training pod of 1 job (trainer) not injected"


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
    assert list(judge([pod])) == []
