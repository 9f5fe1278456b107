"""Devices that a DeviceClass gives for an extended resource, which no node's status names."""

from tests.cluster.node import jobs
from tests.cluster.node.fixtures import NamespaceFactory

from .conftest import EXTENDED_RESOURCE, TEST_DEVICES
from .drivers import Driver


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
