"""``explain`` as a process, on jobs that a real API server keeps and the real webhook injected."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.jobs import as_sent
from tests.cluster.objects import made
from tests.cluster.processes import run_command
from tests.cluster.webhook import Webhook
from tests.pods import load
from tests.waiting import wait_until
from tests.worlds import network
from webhook.core import names

from .conftest import PROFILES

NETWORK = "default/rdma-net-ipam"
SYSTEM = "fabric-injector"


@pytest.fixture(scope="module")
def cluster(control_plane: ControlPlane, api: Client, webhook: Webhook) -> ControlPlane:
    """Install what `explain` reads besides the job: profiles, a network, a node, a Lease that nobody renews."""
    api.ensure(made("v1 Namespace", SYSTEM))
    control_plane.define_profiles(PROFILES)
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}
    renewed = {"leaseDurationSeconds": 15, "renewTime": "2026-01-01T00:00:00.000000Z"}
    api.request(
        "DELETE", f"/apis/coordination.k8s.io/v1/namespaces/{SYSTEM}/leases/fabric-injector"
    )
    spec = {"holderIdentity": "c-1", **renewed}
    api.ensure({**lease, "metadata": {"name": "fabric-injector"}, "spec": spec}, SYSTEM)
    api.ensure(network(NETWORK))
    offers = {"nvidia.com/gpu": "8", "rdma/rdma_shared_device_a": "64", "cpu": "64"}
    offers |= {"memory": "1Ti", "pods": "110"}
    api.ensure(made("v1 Node", "node-1"))
    ready = {"conditions": [{"type": "Ready", "status": "True"}]}
    status = {"allocatable": offers, "capacity": offers, **ready}
    api.expect("PATCH", "/api/v1/nodes/node-1/status", {"status": status})
    return control_plane


def waiting(api: Client, namespace: str, number: int) -> None:
    """Create a member of a PyTorchJob through the webhook, on a node and attached, whose wait step runs."""
    pod = as_sent(load(f"pods/kubeflow-pytorchjob-{number}.yaml"))
    pod["spec"] = {**pod["spec"], "nodeName": "node-1", "serviceAccountName": "default"}
    name = api.expect("POST", f"/api/v1/namespaces/{namespace}/pods", pod)["metadata"]["name"]
    entry = {"name": NETWORK, "interface": "net1", "ips": [f"192.168.0.{number + 1}"]}
    begun = "2026-01-01T00:00:00Z"
    wait = {"name": names.WAIT_CONTAINER, "image": "i", "imageID": "", "ready": False}
    running = {**wait, "restartCount": 0, "state": {"running": {"startedAt": begun}}}
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": begun}
    status = {"phase": "Pending", "conditions": [scheduled], "initContainerStatuses": [running]}
    noted = {"annotations": {names.NETWORK_STATUS: json.dumps([entry])}}
    path = f"/api/v1/namespaces/{namespace}/pods/{name}/status"
    api.expect("PATCH", path, {"metadata": noted, "status": status})


class Explain:
    """Run the command, as the administrator or with a token."""

    def __init__(self, cluster: ControlPlane, command: list[str], folder: Path) -> None:
        self._cluster, self._command, self._folder = cluster, command, folder

    def __call__(
        self, *arguments: str, token: str | None = None, command: str = "explain"
    ) -> subprocess.CompletedProcess[str]:
        config = self._cluster.kubeconfig(self._folder / f"kubeconfig-{token is None}", token)
        return run_command([*self._command, command, *arguments], config)

    def document(self, *arguments: str, token: str | None = None) -> dict[str, Any]:
        """Give what -o json prints."""
        done = self(*arguments, "-o", "json", token=token)
        assert done.returncode in (0, 1), done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def explain(cluster: ControlPlane, webhook_command: list[str], tmp_path: Path) -> Explain:
    return Explain(cluster, webhook_command, tmp_path)


@pytest.fixture(scope="module")
def research(api: Client, cluster: ControlPlane, namespace: NamespaceFactory) -> str:
    """Give a namespace with two members of a job that waits for a controller."""
    name = namespace("rdma-shared")
    for number in range(2):
        waiting(api, name, number)
    return name


def test_one_who_may_read_pods_alone_is_told_what_is_unknown(
    api: Client, explain: Explain, research: str, cluster: ControlPlane
) -> None:
    token = cluster.allow(research, ":pods get list")
    found = explain.document("job/bert", "-n", research, token=token)
    unread = {finding["subject"] for finding in found["findings"] if finding["topic"] == "unread"}
    assert unread == {
        f"namespaces {research}",
        "nodes",
        "leases fabric-injector/fabric-injector",
        "events",
        "profiles",
        f"network {NETWORK}",
    }
    assert found["findings"][0]["code"] == "controller-silent"
    api.ensure(made("v1 ServiceAccount", "nobody"), research)
    done = explain(
        "job/bert", "-n", research, token=cluster.service_account_token(research, "nobody")
    )
    assert done.returncode == 2
    assert f"explain reads pods in namespace {research}: ask for it" in done.stderr


def test_pods_that_admission_refused_are_told_by_their_owners_events(
    api: Client, explain: Explain, namespace: NamespaceFactory, controller_manager: ControlPlane
) -> None:
    name = namespace("rdma-shared", {names.POD_SECURITY_ENFORCE: "baseline"})
    template = as_sent(load("pods/indexed-job-0.yaml"))
    spec = {**template["spec"], "restartPolicy": "Never"}
    meta = {"labels": {names.PROFILE: "rdma-shared"}}
    job = made("batch/v1 Job", "bert")
    api.ensure({**job, "spec": {"template": {"metadata": meta, "spec": spec}}}, name)
    events = f"/api/v1/namespaces/{name}/events?fieldSelector=reason%3DFailedCreate"
    wait_until(lambda: api.expect("GET", events)["items"], "the Job controller's Event")
    done = explain("job/bert", "-n", name)
    assert done.returncode == 1, done.stderr
    first = done.stdout.splitlines()[0]
    assert first.startswith(
        "fail  Job bert: a pod of it was refused: pod bert-*: label pod-security"
    )
    assert "IPC_LOCK" in first
