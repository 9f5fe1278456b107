"""`fabric-injector check` on a cluster of its own: before installation, healthy, and with one thing broken at a time."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from tests.apiserver.installation import Installation, injected
from tests.cluster.client import Client
from tests.cluster.controlplane import ROUTED, ControlPlane
from tests.cluster.installation import NAMESPACE, install_yaml
from tests.cluster.objects import made
from tests.waiting import wait_until
from webhook.cli import main
from webhook.core import names

from .conftest import NETWORK, PROFILES
from .test_install import LABELLED

DEVICE = "rdma/rdma_shared_device_a"
PROFILE = "/apis/fabric-injector.io/v1alpha1/fabricprofiles/rdma-shared"
Check = Callable[..., "Outcome"]


class Outcome:
    """What the command answered: its exit status, and the findings as it prints them for programs."""

    def __init__(self, status: int, output: str) -> None:
        assert status in (0, 1), output
        self.status = status
        document = json.loads(output)
        self.findings: list[dict[str, str]] = document["findings"]
        self.summary: dict[str, int] = document["summary"]

    def told(self, level: str, topic: str = "") -> list[str]:
        """Give ``subject: message`` of the findings of a level, and of a topic where one is given."""
        found = [
            each
            for each in self.findings
            if each["level"] == level and topic in ("", each["topic"])
        ]
        return [f"{each['subject']}: {each['message']}" for each in found]


FLAGS = (ROUTED,)


@pytest.fixture(scope="module")
def cluster(address: str, plane: ControlPlane) -> ControlPlane:
    """A cluster with a network, a node that offers its device, and Multus on it, as far as objects go."""
    api, offered = plane.api, {DEVICE: "8", "pods": "110"}
    api.ensure(NETWORK)
    api.ensure(made("v1 Node", "gpu-1"))
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": offered, "allocatable": offered, "conditions": ready}
    api.expect("PATCH", "/api/v1/nodes/gpu-1/status", {"status": status})
    api.expect("PATCH", "/api/v1/nodes/gpu-1", {"spec": {"taints": None}})
    api.ensure(multus())
    daemon_set = "/apis/apps/v1/namespaces/kube-system/daemonsets/kube-multus-ds/status"
    counts = {"desiredNumberScheduled": 1, "numberReady": 1, "currentNumberScheduled": 1}
    api.expect("PATCH", daemon_set, {"status": {**counts, "numberMisscheduled": 0}})
    return plane


def multus() -> dict[str, Any]:
    labels, image = {"name": "multus"}, "ghcr.io/k8snetworkplumbingwg/multus-cni:snapshot"
    container = {"name": "kube-multus", "image": image, "args": ["--multus-conf-file=auto"]}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {"selector": {"matchLabels": labels}, "template": template}
    found = made("apps/v1 DaemonSet", "kube-multus-ds", spec=spec)
    found["metadata"]["namespace"] = "kube-system"
    return found


@pytest.fixture
def check(cluster: ControlPlane, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Give a function that runs the command, as the administrator or the bearer of a token."""

    def run(*arguments: str | Path, token: str | None = None) -> Outcome:
        config = cluster.kubeconfig(tmp_path / "kubeconfig", token or cluster.token)
        monkeypatch.setenv("KUBECONFIG", str(config))
        result = CliRunner().invoke(main, ["check", "-o", "json", *map(str, arguments)])
        return Outcome(result.exit_code, result.output)

    return run


@pytest.fixture(scope="module")
def healthy(
    cluster: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Installation]:
    """Install what is shipped, with real processes behind it; only what a kubelet would say is written by hand."""
    api = cluster.api
    cluster.create_namespace(LABELLED, {names.PROFILE: "rdma-shared"})
    cluster.kubectl("apply", "--server-side", f"--filename={install_yaml()}")
    cluster.define_profiles(PROFILES)
    for name in ("webhook", "controller"):
        set_ready(api, name, 2)
    with Installation(cluster, tmp_path_factory.mktemp("healthy"), PROFILES) as running:
        running.start_controller()
        running.start_webhook()
        wait_until(lambda: injected(api), "a pod to be injected by way of the Service")
        yield running


def set_ready(api: Client, component: str, ready: int) -> None:
    path = f"/apis/apps/v1/namespaces/{NAMESPACE}/deployments/fabric-injector-{component}/status"
    api.expect(
        "PATCH",
        path,
        {"status": {"replicas": 2, "readyReplicas": ready, "availableReplicas": ready}},
    )


TOPICS = (
    "certificates configuration deployments devices lease multus "
    "namespaces networks privileges profiles reachability"
)


def test_finds_a_healthy_installation_in_order_and_creates_nothing(
    check: Check, healthy: Installation
) -> None:
    def is_judged() -> bool:
        conditions = healthy.api.expect("GET", PROFILE).get("status", {}).get("conditions", [])
        return any(each["type"] == "Ready" for each in conditions)

    wait_until(is_judged, "the controller to say whether the profile is ready", 120)
    before = healthy.api.expect("GET", "/api/v1/pods")["metadata"]["resourceVersion"]
    found = check()
    assert (found.status, found.told("fail"), found.told("warn")) == (0, [], [])
    assert {each["topic"] for each in found.findings} >= set(TOPICS.split())
    assert found.told("ok", "reachability") == [
        f"the webhook, by a dry run of a pod in namespace {LABELLED} (nothing was created): is called, and injects"
    ]
    assert found.told("ok", "profiles") == [
        "FabricProfiles: 1 profile, valid: rdma-shared",
        "CustomResourceDefinition fabricprofiles.fabric-injector.io: is established, with the schema of this version",
    ]
    pods = healthy.api.expect("GET", "/api/v1/pods")["items"]
    assert [pod for pod in pods if int(pod["metadata"]["resourceVersion"]) > int(before)] == []
