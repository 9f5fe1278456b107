"""What shows a pod of a general-purpose workload to be one of several nodes, and what does not."""

import re
from typing import Any

import pytest

from tests.core.workloads.rows import build, each
from tests.tables import read
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.nodes import find_mark, shows_member


def running(text: str, **fields: Any) -> Object:
    return {"name": "main", "command": ["sh", "-c", text], **fields}


@pytest.mark.parametrize(
    "name",
    ["MASTER_ADDR", "NNODES", "NODE_RANK", "JAX_COORDINATOR_ADDRESS", "TF_CONFIG", "WORLD_SIZE"],
)
def test_knows_variables_of_several_nodes_wherever_their_value_comes_from(name: str) -> None:
    for entry in (
        {"name": name, "value": "x"},
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": "c", "key": "k"}}},
    ):
        assert (
            find_mark(running("./run.sh", env=[{"name": "A", "value": "b"}, entry]))
            == f"sets {name}"
        )


@pytest.mark.parametrize(
    "name", ["REDIS_MASTER_ADDR", "RANK", "NODE_NAME", "POD_IP", "NNODES_MAX", "VLLM_HOST_IP"]
)
def test_takes_no_other_variable_for_one_of_several_nodes(name: str) -> None:
    assert not find_mark(running("./run.sh", env=[{"name": name, "value": "x"}]))


@pytest.mark.parametrize(
    ("container", "expected"),
    [
        (running("./run.sh", env=[{"name": "HEAD", "value": "ddp-0.ddp.ns.svc"}]), True),
        (running("./run.sh", env=[{"name": "HEAD", "value": "tcp://ddp-0:29500"}]), True),
        (running("./run.sh", env=[{"name": "CACHE", "value": "ddp-0"}]), False),
        (running("./run.sh", env=[{"name": "DB", "value": "other-0.other"}]), False),
        (
            running(
                "./run.sh",
                env=[{"name": "ME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            ),
            False,
        ),
        (running("until nc -z ddp-0.ddp 29500; do sleep 1; done; ./run.sh"), True),
        (running("./run.sh --peers=ddp-0.ddp,ddp-1.ddp"), True),
        (running("./run.sh my-ddp-0.ddp"), False),
        (running("./run.sh ddp-0. /ddp-0/x"), False),
        (running("./run.sh ddp-0.ddp" + " x" * 40_000), False),
        ({}, False),
    ],
    ids=lambda value: "",
)
def test_knows_a_container_that_names_a_pod_of_the_job(container: Object, expected: bool) -> None:
    assert (
        shows_member(container, lambda name: re.fullmatch(r"ddp-\d+", name) is not None) is expected
    )


@each(read(__file__, "jobs.yaml")["counts"])
def test_counts_pods_by_their_marks(row: Object) -> None:
    trains = row.pop("trains")
    assert isinstance(recognise(build(row)), TrainingPod) is trains
    assert not isinstance(recognise(build({**row, "bare": True})), TrainingPod)
