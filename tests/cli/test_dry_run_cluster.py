"""The command `dry-run` with the cluster's own profiles, namespaces and networks."""

import json
from pathlib import Path

import pytest

from tests.cli.dry_run_command import TORCHX, call, kubeconfig
from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NAMESPACES,
    NETWORKS,
    NOT_INSTALLED,
    Behaviour,
    FakeApiServer,
    status,
    text,
)
from webhook.core import names

DEPLOYMENT = "/apis/apps/v1/namespaces/fabric-injector/deployments/fabric-injector-webhook"
CONFIG_MAP = "/api/v1/namespaces/fabric-injector/configmaps/fabric-injector-config"
NETWORK = {"config": '{"type": "macvlan", "ipam": {"type": "nv-ipam"}}'}
RDMA_NET = f"{NETWORKS.replace('network-att', 'namespaces/default/network-att')}/rdma-net"
REFUSED = [status(403, "no such right")] * 9


def put_cluster(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    server.put(NETWORKS, "rdma-net", "default", spec=NETWORK)
    networks = [{"network": "default/rdma-net", "resource": "rdma/hca"}]
    server.put(FABRIC_PROFILES, "rdma-shared", spec={"networks": networks})


def test_reads_the_installed_profiles_and_the_kubeconfigs_namespace(
    folder: Path, server: FakeApiServer
) -> None:
    put_cluster(server)
    result = call("-f", TORCHX, "-o", "json", env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 0, result.output
    assert {(pod["namespace"], pod["profile"]) for pod in json.loads(result.stdout)["pods"]} == {
        ("research", "rdma-shared")
    }
    assert result.stderr == ""


def test_leaves_out_an_object_with_a_fault_and_says_so(folder: Path, server: FakeApiServer) -> None:
    put_cluster(server)
    server.put(FABRIC_PROFILES, "other", spec={"later": True})
    server.misbehave("get", CONFIG_MAP, status(403, "no such right"))
    result = call("-f", TORCHX, env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 0, result.output
    faults, settings = result.stderr.splitlines()
    assert faults.startswith("FabricProfile other: spec.later: is not a field")
    assert faults.endswith("; it is left out here")
    assert settings.startswith(
        "settings: ConfigMap fabric-injector/fabric-injector-config cannot be read, so Multus is"
    )


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (
            text(404, NOT_INSTALLED),
            "no CustomResourceDefinition fabricprofiles.fabric-injector.io, which the",
        ),
        (
            status(403, "no such right"),
            "ask for ClusterRole fabric-injector-profile-viewer there",
        ),
        (
            lambda exchange: exchange.answer(200, {"items": 3}),
            "answered with no list: items is not a list",
        ),
    ],
)
def test_says_why_the_installed_profiles_cannot_be_used(
    folder: Path, server: FakeApiServer, answer: Behaviour, told: str
) -> None:
    put_cluster(server)
    group = {"preferredVersion": {"groupVersion": "fabric-injector.io/v1alpha1"}}
    path = "/apis/fabric-injector.io"
    server.misbehave("get", path, lambda exchange: exchange.answer(200, group))
    server.misbehave("list", FABRIC_PROFILES, answer)
    result = call("-f", TORCHX, env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert told in result.stderr


def own_profiles(folder: Path) -> tuple[str, ...]:
    return ("-f", TORCHX, "-n", "research", "--profiles", str(folder / "profiles.yaml"))


def test_asks_the_cluster_about_namespaces_and_networks(
    folder: Path, server: FakeApiServer
) -> None:
    server.put(NAMESPACES, "research", labels={names.PROFILE: "rdma-shared"})
    server.put(NETWORKS, "rdma-net", "default", spec=NETWORK)
    result = call(*own_profiles(folder), "-o", "json", env=kubeconfig(folder, server))
    assert result.exit_code == 0, result.output
    assert all(pod["patch"] for pod in json.loads(result.stdout)["pods"])
    assert {request.method for request in server.requests} == {"GET"}


def test_says_when_the_cluster_cannot_be_asked(folder: Path, server: FakeApiServer) -> None:
    server.misbehave("get", f"{NAMESPACES}/research", *REFUSED)
    result = call(*own_profiles(folder), env=kubeconfig(folder, server))
    assert result.exit_code == 2
    assert "answered 403: no such right" in result.stderr
    assert "ask for the right there" in result.stderr


def test_goes_on_without_a_network_that_may_not_be_read(
    folder: Path, server: FakeApiServer
) -> None:
    put_cluster(server)
    server.misbehave("get", RDMA_NET, *REFUSED)
    result = call("-f", TORCHX, "-o", "json", env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 0, result.output
    assert all("rdma/hca" in json.dumps(pod["pod"]) for pod in json.loads(result.stdout)["pods"])
    [told] = result.stderr.splitlines()
    assert told.startswith(
        "networks you cannot read are assumed to exist: default/rdma-net; ask for get of"
    )


def test_goes_on_without_no_network_that_cannot_be_read(
    folder: Path, server: FakeApiServer
) -> None:
    put_cluster(server)
    server.misbehave("get", RDMA_NET, *[status(500, "broken")] * 9)
    result = call("-f", TORCHX, env=kubeconfig(folder, server, namespace="research"))
    assert result.exit_code == 2
    assert "answered 500: broken" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (("-f", "absent.yaml"), "absent.yaml: cannot be read (No such file or directory)"),
        (("-f", "broken.yaml"), "broken.yaml: line 2, column 5: not valid YAML"),
        (("-f", "pod.yaml", "--profiles", "absent.yaml"), "absent.yaml: cannot be read"),
        (("-A", "--profiles", "absent.yaml"), "absent.yaml: cannot be read"),
        (("-f", "pod.yaml"), "no credentials for a cluster"),
    ],
)
def test_reads_all_files_before_a_cluster(
    folder: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...], told: str
) -> None:
    monkeypatch.chdir(folder)
    (folder / "broken.yaml").write_text("a: 1\nb: c: d")
    result = call(*arguments, env={"KUBECONFIG": "", "HOME": str(folder)})
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"Error: {told}")
