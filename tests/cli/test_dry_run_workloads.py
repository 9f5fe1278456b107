"""The command `dry-run` without a file: a line for each workload that stands in the cluster."""

from pathlib import Path
from typing import Any

import pytest

from tests.cli.dry_run_command import call, kubeconfig
from tests.cli.test_dry_run_cluster import put_cluster
from tests.dry_run.templates.cases import find, workload
from tests.fake_apiserver import NAMESPACES, PODS, FakeApiServer, status
from webhook.core import names

RDZV = ("--rdzv-backend=c10d", "--rdzv-endpoint=$(MASTER_ADDR):29500")
COMMAND = ["torchrun", "--nnodes=2", *RDZV, "train.py"]


def put_job(
    server: FakeApiServer, name: str, namespace: str, labels: Any = (), **master: Any
) -> None:
    """Put the pods of a PyTorchJob of two members, as its operator makes them."""
    limits = {"limits": {"nvidia.com/gpu": "8"}}
    container = {"name": "pytorch", "image": "i", "command": COMMAND, "resources": limits}
    of: dict[str, Any] = {"metadata": {"labels": dict(labels)}, "spec": {"containers": [container]}}
    roles = {"Worker": {"template": of}}
    roles["Master"] = {"template": {**of, "spec": {**of["spec"], **master}}}
    spec = {"pytorchReplicaSpecs": roles}
    job = workload("kubeflow.org/v1", "PyTorchJob", name, spec, namespace)
    for each in find(job).pods:
        put_pod(server, each.pod)


def put_pod(server: FakeApiServer, pod: Any) -> None:
    metadata = dict(pod["metadata"])
    key = metadata.pop("name"), metadata.pop("namespace")
    owners = metadata["ownerReferences"]
    metadata["ownerReferences"] = [{**each, "uid": each["name"]} for each in owners]
    server.put(PODS, *key, spec=pod["spec"], **metadata)


@pytest.fixture
def cluster(server: FakeApiServer) -> FakeApiServer:
    put_cluster(server)
    server.put(NAMESPACES, "team")
    server.put(NAMESPACES, "quiet", labels={names.PROFILE: names.PROFILE_NONE})
    for name, namespace in (("bert", "research"), ("llama", "team"), ("opt", "quiet")):
        put_job(server, name, namespace)
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5", "uid": "u"}
    for number in range(2):
        owners = [{**owner, "controller": True}]
        spec = {"containers": [{"name": "c"}]}
        server.put(PODS, f"web-5-{number}", "research", spec=spec, ownerReferences=owners)
    return server


def lines(text: str) -> list[list[str]]:
    return [line.split(maxsplit=3) for line in text.splitlines()]


def test_prints_a_line_for_each_workload_and_a_sum(folder: Path, cluster: FakeApiServer) -> None:
    cluster.put(PODS, "system", "kube-system", spec={"containers": [{"name": "c"}]})
    result = call("-A", env=kubeconfig(folder, cluster))
    assert result.exit_code == 0, result.output
    title, *rows = lines(result.stdout)
    assert title == ["NAMESPACE", "WORKLOAD", "WOULD", "BE    WHY"]
    assert [row[:3] for row in rows] == [
        ["research", "PyTorchJob/bert", "injected"],
        ["research", "ReplicaSet/web-5", "left-alone"],
    ]
    meets = "torchrun meets on the pod network, its ranks meet and train on net1 of"
    assert rows[0][3].startswith(f"2 pods: 1 rank 0, 1 worker; {meets}")
    assert result.stderr.splitlines()[-2:] == [
        "2 workloads for which there is a profile: 1 injected, 1 left-alone",
        "2 more are in namespaces without a profile: try one by --profile NAME",
    ]


def test_a_workload_that_cannot_meet_gives_status_3(folder: Path, cluster: FakeApiServer) -> None:
    put_job(cluster, "bert", "research", hostNetwork=True)
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
    listed = [each.path for each in cluster.requests if each.path.endswith("/pods")]
    assert listed
    assert all("/namespaces/research/" in path for path in listed)


def test_all_namespaces_go_before_one_as_in_kubectl(folder: Path, cluster: FakeApiServer) -> None:
    one = call("-n", "research", "--profile", "rdma-shared", env=kubeconfig(folder, cluster))
    both = call("-A", "-n", "research", "--profile", "rdma-shared", env=kubeconfig(folder, cluster))
    assert ("llama" in one.stdout, "llama" in both.stdout) == (False, True)


def test_a_pod_that_would_be_denied_is_status_1_and_says_why(
    folder: Path, cluster: FakeApiServer
) -> None:
    put_job(cluster, "typo", "research", {names.PROFILE: "no-such-profile"})
    result = call("-A", env=kubeconfig(folder, cluster))
    assert result.exit_code == 1
    [row] = [row for row in lines(result.stdout) if row[1] == "PyTorchJob/typo"]
    assert row[2] == "denied"
    assert "no-such-profile" in row[3]


def test_says_that_pods_may_not_be_listed(folder: Path, cluster: FakeApiServer) -> None:
    cluster.misbehave("list", PODS, status(403, "no such right"))
    result = call("-A", env=kubeconfig(folder, cluster))
    assert (result.exit_code, "pods: " in result.stderr) == (2, True)
    assert "answered 403: no such right" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-A", "-f", "pod.yaml"), "leave out the file"),
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
