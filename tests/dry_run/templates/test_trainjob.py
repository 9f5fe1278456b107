"""The runtimes that Kubeflow's Trainer ships; more of TrainJobs in parts.yaml."""

from __future__ import annotations

import pytest

from tests.calls import count_calls
from tests.dry_run.templates.cases import find, names, view, workload
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

_NODES = ["tj-node-0-0-*", "tj-node-0-1-*"]
_DATA, _MODEL = ("tj-dataset-initializer-0-0-*", "tj-model-initializer-0-0-*")
SHIPPED = {
    "torch-distributed": _NODES,
    "torch-distributed-with-cache": [_DATA, *_NODES],
    "torchtune-llama3.2-1b": [_DATA, _MODEL, *_NODES],
    "torchtune-llama3.2-3b": [_DATA, _MODEL, *_NODES],
    "torchtune-qwen2.5-1.5b": [_DATA, _MODEL, *_NODES],
    "jax-distributed": _NODES,
    "xgboost-distributed": _NODES,
    "deepspeed-distributed": [*_NODES, "tj-launcher-0-0-*"],
    "mlx-distributed": [*_NODES, "tj-launcher-0-0-*"],
}


def train_job(runtime: str, **trainer: object) -> Object:
    spec = {"runtimeRef": {"name": runtime}, "trainer": trainer}
    return workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", spec)


@pytest.mark.parametrize(("name", "pods"), SHIPPED.items(), ids=SHIPPED)
def test_knows_the_runtimes_that_trainer_ships(name: str, pods: list[str]) -> None:
    """With runLauncherAsNode, two of three nodes are not the launcher."""
    nodes = 3 if "launcher" in pods[-1] else 2
    limits = {"nvidia.com/gpu": "8"}
    found = find(train_job(name, numNodes=nodes, resourcesPerNode={"limits": limits}))
    assert names(found) == pods
    [told] = [each.message for each in found.ignored]
    assert told == "is not in the input: TrainJob/tj is shown with the one that Trainer ships"
    for each in found.pods:
        member = recognise(each.pod)
        assert member.system == "trainjob"
        trains = "initializer" not in podspec.display_name(each.pod)
        assert isinstance(member, TrainingPod) is trains
        if isinstance(member, TrainingPod):
            assert member.container == "node"
            assert podspec.limits(podspec.containers(each.pod)[0]) == limits


def test_every_shipped_runtime_gets_its_own_copy() -> None:
    job = train_job("torch-distributed", env=[{"name": "A", "value": "x"}])
    assert view(find(job).pods[0])["env"]["A"] == "x"
    assert "A" not in view(find(train_job("torch-distributed")).pods[0])["env"]


def test_looks_through_no_other_object_of_the_input_for_a_runtime() -> None:
    jobs = [train_job("own")] * 20
    others: list[Object] = [
        {"kind": "Other", "metadata": {"name": f"o{number}"}} for number in range(1_000)
    ]

    def calls(*objects: Object) -> int:
        return count_calls(lambda: find(*objects))

    assert calls(*jobs, *others) < 1.2 * (calls(*jobs) + calls(*others))
