"""What the end-to-end tests of network-resources-injector ask of it, asked of us through a real API server.

Source: network-resources-injector test/e2e/{resourcename,nodeselector,userdefinedinjections}_test.go. Its control
switches and user-defined injections are profiles here. The suite itself runs by ``make peer``.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.worlds import network
from webhook.core import names

from .client import Client
from .conftest import NamespaceFactory
from .jobs import as_sent
from .test_admission import create
from .webhook import Webhook

PROFILES = """
multus: {resourceNameKeys: [k8s.v1.cni.cncf.io/resourceName, example.com/second]}
profiles:
  completes:
    pods: all
    ipcLock: false
    sharedMemory: {enabled: false}
  resources-only:
    pods: all
    ipcLock: false
    sharedMemory: {enabled: false}
  honours:
    pods: all
    existingDevices: add
    ipcLock: false
    sharedMemory: {enabled: false}
  user-defined:
    podLabels: {customInjection: "true"}
    networks: [{network: sriov-net-attach-def}]
    annotations: {top-secret: password}
    ipcLock: false
    sharedMemory: {enabled: false}
"""
RESOURCE = "example.com/foo"
HOST = "kubernetes.io/hostname"


@pytest.fixture(scope="module")
def webhook_profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give profiles that complete what a pod's own annotation asks for, and nothing besides."""
    path = tmp_path_factory.mktemp("profiles") / "profiles.yaml"
    path.write_text(PROFILES)
    return path


def attach(
    api: Client,
    namespace: str,
    name: str = "foo-network",
    resource: str = RESOURCE,
    nodes: str = "",
) -> None:
    """Make a network, with its resourceName and nodeSelector."""
    manifest = network(f"{namespace}/{name}", resource)
    if nodes:
        manifest["metadata"]["annotations"][names.NODE_SELECTOR] = nodes
    api.expect(
        "POST",
        f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions",
        manifest,
    )


def pod(networks: str, *resources: dict[str, str], **spec: Any) -> dict[str, Any]:
    """Give a pod with an annotation; one container for each of *resources*, limits equal to requests."""
    containers = [
        {"name": name, "image": "i", "resources": {"limits": held, "requests": held}}
        for name, held in zip(("test", "second-container"), resources or ({},), strict=False)
    ]
    metadata = {"name": "nri-e2e-test", "annotations": {names.NETWORKS: networks}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": containers, **spec},
    }


def where(namespace: NamespaceFactory, profile: str = "completes") -> str:
    return namespace({names.PROFILE: profile})


@pytest.mark.parametrize("elsewhere", [False, True], ids=["missing", "in-another-namespace"])
def test_a_network_that_is_not_there_is_named(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, elsewhere: bool
) -> None:
    here = where(namespace)
    if elsewhere:
        attach(api, where(namespace))
    answer = api.create(pod("foo-network"), here)
    assert answer.status == 422
    assert f"network {here}/foo-network, which does not exist" in answer.message


@pytest.mark.parametrize(
    ("networks", "spec", "count"),
    [
        ("foo-network", {}, "1"),
        ("foo-network,foo-network", {}, "2"),
        ("foo-network", {"automountServiceAccountToken": False}, "1"),
        ('[{"name": "foo-network"}]', {}, "1"),
    ],
)
def test_a_resource_is_asked_for_once_for_each_attachment(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, networks: str, spec: Any, count: str
) -> None:
    here = where(namespace, "resources-only")
    attach(api, here)
    created = create(api, pod(networks, **spec), here)
    held = {RESOURCE: count}
    assert created["spec"]["containers"][0]["resources"] == {"limits": held, "requests": held}
    assert created["metadata"]["annotations"][names.NETWORKS] == networks


@pytest.mark.parametrize("resource", ["", RESOURCE], ids=["node-only", "with-resource"])
@pytest.mark.parametrize("node", ["kind-worker2", "kind-worker15"])
def test_a_networks_node_selector_becomes_the_pods(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, resource: str, node: str
) -> None:
    here = where(namespace)
    attach(api, here, resource=resource, nodes=f"{HOST}={node}")
    created = create(api, pod("foo-network"), here)
    assert created["spec"]["nodeSelector"] == {HOST: node}
    assert created["spec"]["containers"][0]["resources"].get("limits", {}) == (
        {resource: "1"} if resource else {}
    )


@pytest.mark.parametrize(
    ("asked", "held"),
    [
        (("1", "0"), ("2", "0")),
        (("2", "0"), ("2", "0")),
        (("0", "1"), ("1", "1")),
        (("0", "2"), ("0", "2")),
    ],
)
def test_only_the_devices_that_a_pod_lacks_are_added(
    api: Client,
    namespace: NamespaceFactory,
    webhook: Webhook,
    asked: tuple[str, str],
    held: tuple[str, str],
) -> None:
    """Its two modes leave the resource alone where anybody asks for it, or add the attachments to what is there."""
    here = where(namespace, "resources-only")
    attach(api, here)
    resources = [{RESOURCE: amount} if amount != "0" else {} for amount in asked]
    created = create(api, pod("foo-network,foo-network", *resources), here)
    found = [
        one["resources"].get("limits", {}).get(RESOURCE, "0")
        for one in created["spec"]["containers"]
    ]
    assert tuple(found) == held


def test_devices_come_on_top_where_the_profile_honours_what_is_there(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    here = where(namespace, "honours")
    attach(api, here)
    created = create(api, pod("foo-network,foo-network", {RESOURCE: "1"}), here)
    assert created["spec"]["containers"][0]["resources"]["limits"] == {RESOURCE: "3"}
    saved = as_sent(created, name="saved")
    assert create(api, saved, here)["spec"]["containers"][0]["resources"]["limits"] == {
        RESOURCE: "3"
    }


def test_every_key_that_names_a_resource_counts(
    api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    here = where(namespace, "resources-only")
    manifest = network(f"{here}/foo-network", RESOURCE)
    manifest["metadata"]["annotations"]["example.com/second"] = "example.com/boo"
    api.expect(
        "POST",
        f"/apis/k8s.cni.cncf.io/v1/namespaces/{here}/network-attachment-definitions",
        manifest,
    )
    created = create(api, pod("foo-network"), here)
    assert created["spec"]["containers"][0]["resources"]["limits"] == {
        RESOURCE: "1",
        "example.com/boo": "1",
    }


@pytest.mark.parametrize(("value", "injected"), [("true", True), ("false", False), ("100", False)])
def test_a_label_of_the_pod_asks_for_an_injection(
    api: Client, namespace: NamespaceFactory, webhook: Webhook, value: str, injected: bool
) -> None:
    here = where(namespace, "resources-only")
    attach(api, here)
    attach(api, here, "sriov-net-attach-def", "example.com/boo")
    asked = pod("foo-network")
    asked["metadata"]["labels"] = {"customInjection": value}
    created = create(api, asked, here)
    annotations = created["metadata"]["annotations"]
    assert annotations[names.NETWORKS] == (
        f"foo-network,{here}/sriov-net-attach-def" if injected else "foo-network"
    )
    assert annotations.get("top-secret") == ("password" if injected else None)
    held = {RESOURCE: "1", "example.com/boo": "1"} if injected else {RESOURCE: "1"}
    assert created["spec"]["containers"][0]["resources"]["limits"] == held
