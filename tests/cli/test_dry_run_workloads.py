"""The command `dry-run` without a file: a line for each workload that stands in the cluster."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.cli.dry_run_command import call, kubeconfig
from tests.cli.test_dry_run_cluster import put_cluster
from tests.fake_apiserver import NAMESPACES, PODS, FakeApiServer, status
from webhook.core import names

DEPLOYMENTS = "/apis/apps/v1/deployments"
REPLICA_SETS = "/apis/apps/v1/replicasets"
JOBS = "/apis/batch/v1/jobs"
PYTORCH_JOBS = "/apis/kubeflow.org/v1/pytorchjobs"
TRAIN_JOBS = "/apis/trainer.kubeflow.org/v1alpha1/trainjobs"
RUNTIMES = "/apis/trainer.kubeflow.org/v1alpha1/clustertrainingruntimes"
GROUPS = {
    "/apis/apps": ["v1"],
    "/apis/batch": ["v1"],
    "/apis/kubeflow.org": ["v2beta1", "v1"],
    "/apis/trainer.kubeflow.org": ["v1alpha1"],
}
RDZV = ("--rdzv-backend=c10d", "--rdzv-endpoint=$(MASTER_ADDR):29500")
COMMAND = ["torchrun", "--nnodes=2", *RDZV, "train.py"]
WEB = {"replicas": 2, "template": {"spec": {"containers": [{"name": "c"}]}}}


def template(name: str = "pytorch", **changes: Any) -> dict[str, Any]:
    limits = {"limits": {"nvidia.com/gpu": "8"}}
    container = {"name": name, "image": "i", "command": COMMAND, "resources": limits}
    return {"spec": {"containers": [container], **changes}}


def pytorch_job(**changes: Any) -> dict[str, Any]:
    pod = template(**changes)
    types = (("Master", 1), ("Worker", 3))
    return {"pytorchReplicaSpecs": {name: {"replicas": n, "template": pod} for name, n in types}}


def owned_by(version: str, kind: str, name: str) -> list[dict[str, Any]]:
    owner = {"apiVersion": version, "kind": kind, "name": name, "uid": f"u-{name}"}
    return [{**owner, "controller": True}]


@pytest.fixture
def cluster(server: FakeApiServer) -> FakeApiServer:
    put_cluster(server)
    server.put(NAMESPACES, "team")
    server.put(NAMESPACES, "quiet", labels={names.PROFILE: names.PROFILE_NONE})
    server.groups.update(GROUPS)
    server.put(PYTORCH_JOBS, "bert", "research", spec=pytorch_job())
    server.put(DEPLOYMENTS, "web", "research", spec=WEB)
    server.put(PYTORCH_JOBS, "llama", "team", spec=pytorch_job())
    server.put(PYTORCH_JOBS, "opt", "quiet", spec=pytorch_job())
    return server


def lines(text: str) -> list[list[str]]:
    return [line.split(maxsplit=3) for line in text.splitlines()]


def test_prints_a_line_for_each_workload_and_a_sum(folder: Path, cluster: FakeApiServer) -> None:
    result = call("-A", env=kubeconfig(folder, cluster))
    assert result.exit_code == 0, result.output
    title, *rows = lines(result.stdout)
    assert title == ["NAMESPACE", "WORKLOAD", "WOULD", "BE    WHY"]
    assert [row[:3] for row in rows[:2]] == [
        ["research", "Deployment/web", "left-alone"],
        ["research", "PyTorchJob/bert", "injected"],
    ]
    meets = "torchrun meets on the pod network, its ranks meet and train on net1 of"
    assert rows[1][3].startswith(f"4 pods: 1 rank 0, 3 workers; {meets}")
    assert result.stderr.splitlines()[-2:] == [
        "2 workloads for which there is a profile: 1 injected, 1 left-alone",
        "2 more are in namespaces without a profile: try one by --profile NAME",
    ]


def test_a_workload_that_cannot_meet_gives_status_3(folder: Path, cluster: FakeApiServer) -> None:
    halved = pytorch_job()
    halved["pytorchReplicaSpecs"]["Master"]["template"] = template(hostNetwork=True)
    cluster.put(PYTORCH_JOBS, "bert", "research", spec=halved)
    result = call("-A", env=kubeconfig(folder, cluster))
    assert "cannot meet" in result.stdout
    assert result.exit_code == 3, result.output


def test_a_profile_is_tried_where_the_namespace_names_none(
    folder: Path, cluster: FakeApiServer
) -> None:
    result = call("-A", "--profile", "rdma-shared", env=kubeconfig(folder, cluster))
    assert result.exit_code == 0, result.output
    assert ["team", "PyTorchJob/llama", "injected"] in [row[:3] for row in lines(result.stdout)]
    assert "quiet" not in result.stdout
    assert "1 more are in namespaces without a profile" in result.stderr


def test_one_namespace_takes_rights_in_it_alone(folder: Path, cluster: FakeApiServer) -> None:
    result = call("-n", "research", env=kubeconfig(folder, cluster))
    assert "PyTorchJob/bert" in result.stdout
    assert "llama" not in result.stdout
    listed = [
        each.path
        for each in cluster.requests
        if each.path.endswith(("/pytorchjobs", "/pods", "/jobs"))
    ]
    assert listed
    assert all("/namespaces/research/" in path for path in listed)


def test_what_a_workload_of_the_list_made_is_not_shown_again(
    folder: Path, cluster: FakeApiServer
) -> None:
    pod = template()["spec"]
    for number in range(2):
        owner = owned_by("kubeflow.org/v1", "PyTorchJob", "bert")
        cluster.put(PODS, f"bert-worker-{number}", "research", spec=pod, ownerReferences=owner)
    owner = owned_by("apps/v1", "Deployment", "web")
    cluster.put(REPLICA_SETS, "web-5", "research", spec=WEB, ownerReferences=owner)
    ended = {"conditions": [{"type": "Complete", "status": "True"}]}
    cluster.put(JOBS, "old", "research", spec={"template": template()}, status=ended)
    cluster.put(PODS, "system", "kube-system", spec=pod)
    for number in range(2):
        owner = owned_by("example.com/v1", "Trial", "tune")
        cluster.put(PODS, f"tune-{number}", "research", spec=pod, ownerReferences=owner)
    result = call("-n", "research", env=kubeconfig(folder, cluster))
    found = {row[1] for row in lines(result.stdout) if row[0] == "research"}
    assert {"Deployment/web", "PyTorchJob/bert"} < found
    [other] = found - {"Deployment/web", "PyTorchJob/bert"}
    assert "tune" in other, "two pods of an owner that is not listed are one line"


def test_a_pod_that_would_be_denied_is_status_1_and_says_why(
    folder: Path, cluster: FakeApiServer
) -> None:
    label = {names.PROFILE: "no-such-profile"}
    denied = {"replicas": 1, "template": {"metadata": {"labels": label}, **template()}}
    cluster.put(DEPLOYMENTS, "typo", "research", spec=denied)
    result = call("-A", env=kubeconfig(folder, cluster))
    assert result.exit_code == 1
    [row] = [row for row in lines(result.stdout) if row[1] == "Deployment/typo"]
    assert row[2] == "denied"
    assert "no-such-profile" in row[3]


def test_a_trainjob_is_completed_by_the_runtime_of_the_cluster(
    folder: Path, cluster: FakeApiServer
) -> None:
    node = {"name": "node", "template": {"spec": {"template": template("node")}}}
    jobs = {"spec": {"replicatedJobs": [node]}}
    spec = {"mlPolicy": {"numNodes": 5, "torch": {}}, "template": jobs}
    cluster.put(RUNTIMES, "ours", spec=spec)
    cluster.put(TRAIN_JOBS, "gpt", "research", spec={"runtimeRef": {"name": "ours"}})
    result = call("-A", env=kubeconfig(folder, cluster))
    [row] = [row for row in lines(result.stdout) if row[1] == "TrainJob/gpt"]
    assert row[3].startswith("5 pods")
    assert "ClusterTrainingRuntime" not in result.stdout


def test_names_what_may_not_be_listed(folder: Path, cluster: FakeApiServer) -> None:
    cluster.misbehave("get", JOBS, status(403, "no such right"))
    result = call("-A", env=kubeconfig(folder, cluster))
    refused, *_ = result.stderr.splitlines()
    assert refused == "what you may not list is missing here: jobs; ask for list of it"
    assert "PyTorchJob/bert" in result.stdout


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-A", "-f", "pod.yaml"), "leave out -n and the file"),
        (("-A", "-n", "research"), "leave out -n and the file"),
        (("-A", "--server"), "a list takes -o json|yaml|name|wide"),
        (("-n", "research", "-o", "patch"), "a list takes -o json|yaml|name|wide"),
        ((), "or list workloads: -A or -n NS"),
    ],
)
def test_says_what_does_not_go_together(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(folder)
    result = call(*arguments)
    assert result.exit_code == 2
    assert told in " ".join(result.stderr.split())
