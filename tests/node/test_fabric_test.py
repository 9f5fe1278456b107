"""``fabric-injector test`` with real pods on two real nodes: ranks that meet on net1, and nodes that cannot reach each other."""

import json
import os
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.client import Client
from tests.apiserver.webhook import installed_command
from tests.waiting import wait_until
from webhook.core import names
from webhook.core.model import Object

from .cni import copy_network
from .conftest import NamespaceFactory
from .images import DASH, PAUSE, TESTER, TESTER_WITHOUT_PYTHON
from .kubelet import NAME
from .node import Node
from .pods import create

pytestmark = pytest.mark.usefixtures("webhook", "controller")
SECOND = "fabric-test-2"


@pytest.fixture(scope="module")
def second(node: Node) -> Iterator[None]:
    """Run a second node; afterwards the cluster forgets it, so that no later pod is placed there."""
    with node.another(SECOND):
        yield
    node.api.expect("DELETE", f"/api/v1/nodes/{SECOND}")


def run(node: Node, folder: Path, space: str, *words: str) -> tuple[int, dict[str, Any], str]:
    """Run the command as an administrator; return its status, its document and its progress."""
    command = installed_command()
    assert command is not None
    kubeconfig = node.control_plane.kubeconfig(folder / "tester.kubeconfig")
    done = subprocess.run(
        [*command, "test", "-n", space, "--image", TESTER, "-o", "json", f"--kubeconfig={kubeconfig}", *words],
        capture_output=True,
        text=True,
        env={**os.environ},
        timeout=240,
    )
    assert done.returncode in (0, 1), done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.usefixtures("second")
def test_two_nodes_meet_on_the_fabric(node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path) -> None:
    space = namespace("rdma-shared")
    status, document, progress = run(node, tmp_path, space, "--nodes", f"{NAME},{SECOND}", "--timeout", "120")
    left = api.expect("GET", f"/apis/batch/v1/namespaces/{space}/jobs")["items"]
    node.end_pods(space)
    assert status == 0, json.dumps(document, indent=1) + progress
    [group] = document["groups"]
    assert sorted(group["nodes"]) == sorted((NAME, SECOND))
    assert ip_address(group["address"]) in ip_network(node.links.fabric)
    assert group["fabricGbits"] > 0
    assert group["podNetworkGbits"] > 0
    codes = {finding["code"] for finding in document["findings"]}
    assert {"test-attached", "test-ranks-met", "test-measured"} <= codes
    assert "2/2 injected" in progress
    assert [job for job in left if not job["metadata"].get("deletionTimestamp")] == []


@pytest.mark.usefixtures("second")
def test_two_nodes_that_cannot_reach_each_other_are_found(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    """A network whose interfaces get addresses, and carry nothing from one to the other: a cable, a VLAN, a switch."""
    copy_network(api, "default/apart-net", mode="private")
    space = namespace("apart")
    status, document, progress = run(node, tmp_path, space, "--pairwise", "--timeout", "60")
    node.end_pods(space)
    assert status == 1, json.dumps(document, indent=1) + progress
    [group] = document["groups"]
    assert group["failed"]
    assert group["fabricGbits"] is None
    failures = [finding for finding in document["findings"] if finding["level"] == "fail"]
    assert failures[0]["code"] == "test-ranks-apart", document
    assert NAME in failures[0]["subject"]
    assert SECOND in failures[0]["subject"]


@pytest.mark.usefixtures("second")
@pytest.mark.parametrize(
    ("image", "told"),
    [
        (TESTER_WITHOUT_PYTHON, "exec /usr/local/bin/fabric-injector: no such file"),
        (DASH, "runAsNonRoot and image will run as root"),
        ("fabric-injector.test/nowhere:1", "cannot be pulled: "),
    ],
    ids=["no-python", "root", "nowhere"],
)
def test_an_image_that_cannot_run_it_is_told_first_long_before_the_timeout(
    node: Node, namespace: NamespaceFactory, tmp_path: Path, image: str, told: str
) -> None:
    space = namespace("rdma-shared")
    words = ("--nodes", f"{NAME},{SECOND}", "--timeout", "3600", "--image", image)
    status, document, progress = run(node, tmp_path, space, *words)
    first = document["findings"][0]
    assert (status, first["code"], first["subject"]) == (1, "test-image-unfit", f"image {image}"), (first, progress)
    assert told in first["message"]
    assert "--image" in first["action"]


@pytest.mark.usefixtures("second")
def test_a_profile_that_tells_no_address_is_no_failure(node: Node, namespace: NamespaceFactory, tmp_path: Path) -> None:
    words = ("--nodes", f"{NAME},{SECOND}", "--timeout", "3600")
    status, document, progress = run(node, tmp_path, namespace("pod-network"), *words)
    assert status == 0, json.dumps(document, indent=1) + progress
    assert {each["code"]: each["level"] for each in document["findings"]} == {
        "test-attached": "ok",
        "test-unmeasured": "warn",
    }
    assert "addressSource: none" in document["findings"][-1]["message"]
    assert document["groups"][0]["fabricGbits"] is None


@pytest.mark.usefixtures("second")
def test_ranks_meet_at_the_address_that_gke_tells(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    """In GKE's place the test writes the address, here that on the pod network: no other interface is made."""
    space = namespace("gke-one-card")
    with ThreadPoolExecutor(1) as pool:
        words = ("--nodes", f"{NAME},{SECOND}", "--timeout", "120")
        running = pool.submit(run, node, tmp_path, space, *words)
        wait_until(lambda: running.done() or len(write_pod_ips(api, space)) == 2, "both pods to have an address", 90)
        status, document, progress = running.result()
    assert status == 0, json.dumps(document, indent=1) + progress
    codes = {finding["code"] for finding in document["findings"]}
    assert codes == {"test-injected", "test-ranks-met", "test-measured"}


def write_pod_ips(api: Client, space: str) -> list[str]:
    """Write the address of each pod that has one as GKE does, and give these."""
    found = []
    for pod in api.expect("GET", f"/api/v1/namespaces/{space}/pods")["items"]:
        if address := pod["status"].get("podIP"):
            annotations = {names.GKE_POD_IPS: json.dumps([{"networkName": "rdma-0", "ip": address}])}
            path = f"/api/v1/namespaces/{space}/pods/{pod['metadata']['name']}"
            api.expect("PATCH", path, {"metadata": {"annotations": annotations}})
            found.append(address)
    return found


DEVICE = "rdma/rdma_shared_device_a"
TAINT = {"key": "team", "value": "vision", "effect": "NoSchedule"}


@pytest.fixture
def tainted(node: Node, second: None) -> Iterator[None]:
    """The second node lets pods of a team alone in."""
    path = f"/api/v1/nodes/{SECOND}"
    node.api.expect("PATCH", path, {"spec": {"taints": [TAINT]}})
    yield
    node.api.expect("PATCH", path, {"spec": {"taints": None}})


@pytest.mark.usefixtures("tainted")
def test_a_node_whose_taint_keeps_the_test_out_is_told_first(
    node: Node, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    first = first_failure(node, tmp_path, namespace("rdma-shared"), "taint-untolerated")
    assert f"node {SECOND} has the taint team=vision:NoSchedule" in first["message"]


@pytest.mark.usefixtures("second")
def test_devices_that_others_hold_are_told_first_with_who_holds_them(
    node: Node, api: Client, namespace: NamespaceFactory, tmp_path: Path
) -> None:
    greedy = namespace(None)
    hog = create(api, taking_all_devices(), greedy)
    hog.wait(lambda pod: pod["status"]["phase"] == "Running", "all devices of the second node to be taken")
    first = first_failure(node, tmp_path, namespace("rdma-shared"), "resource-taken")
    assert f"Insufficient {DEVICE}" in first["message"]
    assert f"{greedy}/{hog.name}" in first["action"]


def first_failure(node: Node, folder: Path, space: str, code: str) -> dict[str, Any]:
    """Test both nodes, hold the first finding to be a failure of this code, and give it."""
    status, document, progress = run(node, folder, space, "--nodes", f"{NAME},{SECOND}", "--timeout", "40")
    node.end_pods(space)
    first: dict[str, Any] = document["findings"][0]
    found = status, first["level"], first["code"]
    assert found == (1, "fail", code), json.dumps(document, indent=1) + progress
    return first


def taking_all_devices() -> Object:
    """Give a pod that holds each device of the second node."""
    devices = {DEVICE: "100"}
    container = {"name": "hog", "image": PAUSE, "resources": {"requests": devices, "limits": devices}}
    spec = {
        "nodeSelector": {"kubernetes.io/hostname": SECOND},
        "containers": [container],
        "terminationGracePeriodSeconds": 0,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "hog"}, "spec": spec}
