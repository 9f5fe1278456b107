"""The command `dry-run` with the cluster's own profiles, namespaces and networks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.dry_run_command import PROFILES, TORCHX, call, kubeconfig
from tests.fake_apiserver import NAMESPACES, NETWORKS, Behaviour, FakeApiServer, status
from webhook.core import names

CONFIG_MAP = "/api/v1/namespaces/fabric-injector/configmaps/fabric-injector-profiles"


def config_map(data: object) -> Behaviour:
    body = {"metadata": {"name": "fabric-injector-profiles", "namespace": "fabric-injector"}, "data": data}
    return lambda exchange: exchange.answer(200, body)


def test_reads_the_installed_profiles_and_the_kubeconfigs_namespace(folder: Path, server: FakeApiServer) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    server.put(NETWORKS, "rdma-net", "default", spec={"config": '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'})
    server.misbehave("get", CONFIG_MAP, config_map({"profiles.yaml": PROFILES}))
    result = call("-f", TORCHX, "-o", "json", env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 0, result.output
    assert {(pod["namespace"], pod["profile"]) for pod in json.loads(result.stdout)["pods"]} == {
        ("research", "rdma-shared")
    }


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (status(404, "not found"), "fabric-injector-profiles does not exist; give --profiles FILE, or --server"),
        (status(403, "no such right"), "answered 403: no such right; give --profiles FILE, or --server"),
        (config_map({"a": ""}), "holds no profiles.yaml; give --profiles FILE"),
        (config_map(None), "holds no profiles.yaml; give --profiles FILE"),
        (config_map([]), "answered with an object that cannot be read: data is not an object"),
        (
            config_map({"profiles.yaml": "profiles:\n  a: {network: x}\n"}),
            "ConfigMap fabric-injector/fabric-injector-profiles: line 2: profiles.a.network: ",
        ),
    ],
)
def test_says_why_the_installed_profiles_cannot_be_used(
    folder: Path, server: FakeApiServer, answer: Behaviour, told: str
) -> None:
    server.misbehave("get", CONFIG_MAP, answer)
    result = call("-f", TORCHX, env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert told in result.stderr


def test_asks_the_cluster_about_namespaces_and_networks(folder: Path, server: FakeApiServer) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    config = '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'
    server.put(NETWORKS, "rdma-net", "default", spec={"config": config})
    arguments = ("-f", TORCHX, "--namespace", "research", "--profiles", str(folder / "profiles.yaml"), "-o", "json")
    result = call(*arguments, env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    assert all(pod["patch"] for pod in json.loads(result.stdout)["pods"])
    assert {request.method for request in server.requests} == {"GET"}


def test_says_when_the_cluster_cannot_be_asked(folder: Path, server: FakeApiServer) -> None:
    server.misbehave("get", f"{NAMESPACES}/research", *[status(403, "no such right")] * 9)
    arguments = ("-f", TORCHX, "--namespace", "research", "--profiles", str(folder / "profiles.yaml"))
    result = call(*arguments, env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert "answered 403: no such right; --server lets the cluster decide, with fewer rights" in result.stderr
