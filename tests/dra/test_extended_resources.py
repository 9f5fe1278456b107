"""Devices that a DeviceClass gives for an extended resource, which no node's status names."""

from pathlib import Path

import pytest

from tests.cluster.claims.drivers import Driver
from tests.cluster.node import jobs
from tests.cluster.node.fixtures import NamespaceFactory
from tests.profiles import as_text

from .conftest import EXTENDED_CLASS, EXTENDED_RESOURCE, TEST_DEVICES

PROFILES = as_text(f"""
by-claim:
  networks: [{{network: default/rdma-net, resource: {EXTENDED_RESOURCE}}}]
of-nobody:
  networks: [{{network: default/rdma-net, resource: example.com/nothing}}]
""")


def test_a_pod_that_asks_for_the_resource_gets_devices(
    namespace: NamespaceFactory, test_driver: Driver
) -> None:
    """The scheduler makes the claim; the node's status names no such resource."""
    limits = {"limits": {EXTENDED_RESOURCE: "2"}}
    manifest = jobs.pod("asks", ["python", "/app/train.py"], resources=limits)
    space = namespace(None)
    (asks,) = space.start(manifest)
    asks.report()
    made = asks.get()["status"]["extendedResourceClaimStatus"]
    assert [one["resourceName"] for one in made["requestMappings"]] == [EXTENDED_RESOURCE]
    (node,) = space.api.expect("GET", "/api/v1/nodes")["items"]
    assert EXTENDED_RESOURCE not in node["status"]["allocatable"]
    assert len(test_driver.devices()) == TEST_DEVICES


@pytest.mark.usefixtures("test_driver")
def test_check_knows_that_a_driver_may_give_the_devices(
    namespace: NamespaceFactory, tmp_path: Path
) -> None:
    """What no node offers is no alarm where a driver publishes it, only where nobody does."""
    (tmp_path / "profiles.yaml").write_text(PROFILES)
    document = namespace(None).document("check", f"--profiles={tmp_path / 'profiles.yaml'}")
    found = {
        one["subject"].partition(":")[0].removeprefix("profile "): one
        for one in document["findings"]
        if one["topic"] == "devices"
    }
    assert f"DeviceClass {EXTENDED_CLASS} may give it by claim" in found["by-claim"]["message"]
    levels = [found[name]["level"] for name in ("by-claim", "of-nobody")]
    assert levels == ["ok", "fail"]
