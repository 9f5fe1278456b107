"""``fabric-injector test`` with real pods on two real nodes: ranks that meet on net1, and nodes that cannot reach each other."""

import json
import os
import subprocess
from collections.abc import Iterator
from ipaddress import ip_address, ip_network
from pathlib import Path
from typing import Any

import pytest

from tests.apiserver.client import Client
from tests.apiserver.webhook import installed_command

from .cni import copy_network
from .conftest import NamespaceFactory
from .images import TESTER
from .kubelet import NAME
from .node import Node

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
    assert status == 0, (document, progress)
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
    assert status == 1, (document, progress)
    [group] = document["groups"]
    assert group["failed"]
    assert group["fabricGbits"] is None
    failures = [finding for finding in document["findings"] if finding["level"] == "fail"]
    assert failures[0]["code"] == "test-ranks-apart", document
    assert NAME in failures[0]["subject"]
    assert SECOND in failures[0]["subject"]
