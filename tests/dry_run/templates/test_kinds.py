"""Every kind gives its pods (shown.yaml), or says why it gives none (ignored.yaml).

What a controller adds to the pods of its template is in the pods that are shown (parts.yaml).
"""

import pytest

from tests.calls import count_calls
from tests.dry_run.templates.cases import (
    each_row,
    find,
    lacking,
    names,
    rows,
    view,
    whole,
    workload,
)
from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.dry_run.templates import find_templates, parse_documents

ROWS = rows("shown", "names", "replicas", "sources")
SHOWN: dict[str, tuple[Object, list[str]]] = {
    title: (row["manifest"], row["names"]) for title, row in ROWS.items()
}
IGNORED = rows("ignored", "says", "source", "broken")
PARTS = rows("parts", "beside", "pods", "ignored", "says")


@each_row(ROWS)
def test_shows_rank_zero_and_one_other(row: Object) -> None:
    pods = whole(find(row["manifest"]))
    assert [podspec.display_name(each.pod) for each in pods] == row["names"]
    assert [each.replicas for each in pods] == row.get("replicas", [1] * len(pods))
    sources = [each.source for each in pods]
    assert sources == row.get("sources", sources)


@each_row(IGNORED)
def test_says_why_an_object_gives_no_pod(row: Object) -> None:
    found = find(row["manifest"])
    assert found.pods == ()
    [ignored] = found.ignored
    assert ignored.source == row.get("source", "/".join(row.get("of", "").split()[1:]))
    assert row["says"] in ignored.message
    assert ignored.broken is row.get("broken", True)


@each_row(PARTS)
def test_adds_what_the_controller_adds(row: Object) -> None:
    found = find(*row.get("beside", ()), row["manifest"])
    shown = [view(each) for each in found.pods]
    assert lacking(row["pods"], shown) == []
    pairs = zip(row["pods"], shown, strict=True)
    assert [part for part, whole in pairs if part.keys() - whole.keys()] == []
    assert [each.source for each in found.ignored] == row.get("ignored", [])
    assert row.get("says", "") in " ".join(each.message for each in found.ignored)
    assert not any(each.broken for each in found.ignored)


def test_separates_what_yaml_aliases_share() -> None:
    [found] = find_templates(parse_documents(_ALIASES)).pods
    first, second = found.pod["spec"]["containers"]
    assert first["env"] == second["env"]
    assert first["env"] is not second["env"]


_ALIASES = """
kind: StatefulSet
apiVersion: apps/v1
metadata: {name: db}
spec:
  template:
    spec:
      containers:
      - {name: a, image: i, env: &env [{name: A, value: b}]}
      - {name: b, image: i, env: *env}
"""
_NODES = ["tj-node-0-0-*", "tj-node-0-1-*"]
_DATA, _MODEL = ("tj-dataset-initializer-0-0-*", "tj-model-initializer-0-0-*")
SHIPPED = {
    "torch-distributed": _NODES,
    "torch-distributed-with-cache": [_DATA, *_NODES],
    **{
        f"torchtune-{model}": [_DATA, _MODEL, *_NODES]
        for model in ("llama3.2-1b", "llama3.2-3b", "qwen2.5-1.5b")
    },
    **{f"{library}-distributed": _NODES for library in ("jax", "xgboost")},
    **{
        f"{library}-distributed": [*_NODES, "tj-launcher-0-0-*"] for library in ("deepspeed", "mlx")
    },
}


def train_job(runtime: str, **trainer: object) -> Object:
    spec = {"runtimeRef": {"name": runtime}, "trainer": trainer}
    return workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", spec)


@pytest.mark.parametrize(("name", "pods"), SHIPPED.items(), ids=SHIPPED)
def test_knows_the_runtimes_that_trainer_ships(name: str, pods: list[str]) -> None:
    """With runLauncherAsNode, two of three nodes are not the launcher."""
    nodes, limits = 3 if "launcher" in pods[-1] else 2, {"nvidia.com/gpu": "8"}
    found = find(train_job(name, numNodes=nodes, resourcesPerNode={"limits": limits}))
    assert names(found) == pods
    assert len(found.ignored) == 1
    for each in whole(found):
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
    others = [{"kind": "Other", "metadata": {"name": f"o{number}"}} for number in range(1_000)]

    def calls(*objects: Object) -> int:
        return count_calls(lambda: find(*objects))

    assert calls(*jobs, *others) < 1.2 * (calls(*jobs) + calls(*others))
