"""The control plane and its fixtures work, seen with a stand-in for the webhook's server."""

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

from . import standin
from .client import Client
from .conftest import NamespaceFactory
from .controlplane import ControlPlane
from .webhook import Webhook, default_configuration

ENROLLED = {"fabric-injector.io/profile": "rdma-shared"}
POD: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "plain-"},
    "spec": {"containers": [{"name": "main", "image": "none"}]},
}


@pytest.fixture(scope="module")
def webhook_command() -> list[str]:
    """Start the stand-in."""
    return [sys.executable, standin.__file__]


def pod(**metadata: dict[str, str]) -> dict[str, Any]:
    """Give a plain pod with the annotations or labels."""
    changed = copy.deepcopy(POD)
    changed["metadata"].update(metadata)
    return changed


def test_pod_and_network_without_webhook(
    control_plane: ControlPlane, api: Client, namespace: NamespaceFactory
) -> None:
    """A namespace, a pod and a network can be created, and kubectl reports the version of the build."""
    name = namespace()
    network = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": "fast"},
        "spec": {"config": "{}"},
    }
    assert api.create(POD, name).status == 201
    assert api.create(network, name).json["spec"] == {"config": "{}"}
    assert control_plane.kubectl("get", "net-attach-def", "-n", name, "-o", "name").stdout.endswith(
        "/fast\n"
    )
    assert "Server Version: v1." in control_plane.kubectl("version").stdout


def test_only_enrolled_pods_reach_the_webhook(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    """Pods without annotations are mutated; opted-out pods, mirror pods and other namespaces are not."""
    enrolled, other = namespace(ENROLLED), namespace()
    mirror = pod(annotations={"kubernetes.io/config.mirror": "x"})
    mirror["spec"]["nodeName"] = "node"
    seen = api.create(POD, enrolled)
    assert seen.status == 201, seen.message
    assert seen.json["metadata"]["annotations"] == {standin.MARK: "seen"}
    assert seen.warnings == ["stand-in"]
    for manifest, where in [
        (pod(labels={"fabric-injector.io/profile": "none"}), enrolled),
        (mirror, enrolled),
        (POD, other),
    ]:
        answer = api.create(manifest, where)
        assert answer.status == 201, answer.message
        assert standin.MARK not in answer.json["metadata"].get("annotations", {})


def test_a_stopped_webhook_refuses_pods(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    """With failurePolicy Fail nothing passes while the server is away, and all is well after its return."""
    name = namespace(ENROLLED)
    webhook.stop(force=True)
    refused = api.create(POD, name)
    webhook.start()
    assert refused.status == 500
    assert "failed calling webhook" in refused.message
    assert api.create(POD, name).status == 201


def test_the_account_of_the_webhook_may_only_read(
    control_plane: ControlPlane, webhook: Webhook
) -> None:
    """Its token lists pods, namespaces and networks and reads its own registration; all else is forbidden."""
    client = control_plane.client(
        control_plane.service_account_token("fabric-injector", "fabric-injector-webhook")
    )
    registrations = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    allowed = [
        "/api/v1/pods",
        "/api/v1/namespaces",
        "/apis/k8s.cni.cncf.io/v1/network-attachment-definitions",
    ]
    assert [
        client.request("GET", path).status for path in [*allowed, f"{registrations}/{webhook.name}"]
    ] == [200] * 4
    assert [client.request("GET", path).status for path in ["/api/v1/secrets", registrations]] == [
        403,
        403,
    ]
    assert client.create(POD, "default").status == 403


def test_data_outlives_the_api_server(
    control_plane: ControlPlane, api: Client, namespace: NamespaceFactory
) -> None:
    """After a restart the same client finds the same objects."""
    created = api.create(POD, namespace()).json["metadata"]
    control_plane.stop_apiserver()
    control_plane.start_apiserver()
    found = api.expect("GET", f"/api/v1/namespaces/{created['namespace']}/pods/{created['name']}")
    assert found["metadata"]["uid"] == created["uid"]


def test_an_unguarded_match_condition_refuses_pods(
    control_plane: ControlPlane,
    api: Client,
    namespace: NamespaceFactory,
    webhook_command: list[str],
    tmp_path: Path,
) -> None:
    """A condition that looks into absent annotations is an error, which is a 403 before the webhook is called."""
    configuration = default_configuration()
    configuration["metadata"]["name"] = "aa-unguarded"
    configuration["webhooks"][0]["name"] = "unguarded.fabric-injector.io"
    configuration["webhooks"][0]["matchConditions"][0]["expression"] = (
        '!("kubernetes.io/config.mirror" in object.metadata.annotations)'
    )
    with Webhook(control_plane, tmp_path, tmp_path / "unused", webhook_command, configuration):
        refused = api.create(POD, namespace(ENROLLED))
    assert refused.status == 403
    assert "no such key: annotations" in refused.message


def test_controller_manager_makes_pods(
    controller_manager: ControlPlane, api: Client, namespace: NamespaceFactory
) -> None:
    """A Job gets its pod."""
    name = namespace()
    template = {"spec": {**POD["spec"], "restartPolicy": "Never"}}
    job = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "train"},
        "spec": {"template": template},
    }
    assert api.create(job, name).status == 201
    controller_manager.kubectl(
        "wait", "-n", name, "job/train", "--for=jsonpath={.status.active}=1", "--timeout=30s"
    )
