"""Devices that a DeviceClass gives to pods that ask for an extended resource, which no node's status names."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cluster.claims.drivers import Driver
from tests.cluster.client import Client
from tests.cluster.node.node import Node
from tests.cluster.node.pods import create
from tests.node.conftest import NamespaceFactory
from webhook.cli import main

from .conftest import EXTENDED_CLASS, EXTENDED_RESOURCE, TEST_DEVICES
from .test_node import pod

PROFILES = f"""\
profiles:
  by-claim:
    networks: [{{network: default/rdma-net, resource: {EXTENDED_RESOURCE}}}]
  too-many:
    networks: [{{network: default/rdma-net, resource: {EXTENDED_RESOURCE}, count: {TEST_DEVICES + 1}}}]
  of-nobody:
    networks: [{{network: default/rdma-net, resource: example.com/nothing}}]
"""


def test_a_pod_that_asks_for_the_resource_gets_devices(
    api: Client, namespace: NamespaceFactory, test_driver: Driver
) -> None:
    """The scheduler makes the claim; the node's status names no such resource."""
    manifest = pod("asks", ["python", "/app/train.py"])
    manifest["spec"]["containers"][0]["resources"] = {"limits": {EXTENDED_RESOURCE: "2"}}
    asks = create(api, manifest, namespace(None))
    asks.report()
    made = asks.get()["status"]["extendedResourceClaimStatus"]
    assert [one["resourceName"] for one in made["requestMappings"]] == [EXTENDED_RESOURCE]
    (node,) = api.expect("GET", "/api/v1/nodes")["items"]
    assert EXTENDED_RESOURCE not in node["status"]["allocatable"]
    assert len(test_driver.devices()) == TEST_DEVICES


@pytest.mark.usefixtures("test_driver")
def test_check_counts_the_drivers_devices(
    node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What no node's status offers is no alarm where a driver publishes it, and still one where nobody does, or too few."""
    monkeypatch.setenv("KUBECONFIG", str(node.control_plane.kubeconfig(tmp_path / "kubeconfig")))
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    result = CliRunner().invoke(
        main, ["check", "-o", "json", "--profiles", str(tmp_path / "profiles.yaml")]
    )
    found = {
        one["subject"].partition(":")[0]: one
        for one in json.loads(result.output)["findings"]
        if one["topic"] == "devices"
    }
    by_claim = found["profile by-claim"]
    assert by_claim["level"] == "ok"
    assert (
        f"offers {TEST_DEVICES}, DeviceClass {EXTENDED_CLASS} (DRA) counted" in by_claim["message"]
    )
    assert [found[f"profile {name}"]["level"] for name in ("too-many", "of-nobody")] == [
        "fail",
        "fail",
    ]
