"""Jobs whose pods get whole cards, as by NVIDIA's HostDeviceNetwork: a device plugin counts them, host-device moves them in.

The profile is that of the preset: only the network says which device it needs.
"""

from collections.abc import Iterator

import pytest

from tests.cluster.client import Client
from tests.cluster.node import jobs
from tests.cluster.node.deviceplugin import offered
from tests.cluster.node.hostdevices import (
    ADDRESSES,
    RESOURCE,
    host_devices,
    interfaces_of_the_machine,
)
from tests.cluster.node.node import Node
from tests.waiting import wait_until

from .conftest import NamespaceFactory
from .test_jobs import assert_on_the_fabric

pytestmark = pytest.mark.usefixtures("webhook", "controller", "cards")


@pytest.fixture(scope="module")
def cards(node: Node) -> Iterator[None]:
    """A node with cards, and the network of the profile."""
    with host_devices(node, "default/example-hostdevice-network"):
        yield


@pytest.mark.parametrize("system", ["torchx", "pytorchjob"])
def test_a_job_meets_on_cards_that_are_moved_into_its_pods(
    api: Client, node: Node, namespace: NamespaceFactory, system: str
) -> None:
    assert len(interfaces_of_the_machine(node)) == offered(node, RESOURCE) == len(ADDRESSES)
    pods = jobs.start(api, system, namespace("nvidia-hostdevice"))
    reports = [pod.report() for pod in pods]
    cards = [report.pod.attached("net1")["device-info"]["pci"]["pci-address"] for report in reports]
    assert len(set(cards) & set(ADDRESSES)) == 2, "each pod has a card of its own"
    for rank, report in enumerate(reports):
        assert report.train["rank"] == rank
        assert report.train["environment"]["MASTER_ADDR"] == pods[0].fabric_address()
        assert_on_the_fabric(report)
        assert (
            report.pod.get()["status"]["containerStatuses"][0]["allocatedResources"][RESOURCE]
            == "1"
        )
    for pod in pods:
        pod.delete()
    wait_until(
        lambda: len(interfaces_of_the_machine(node)) == len(ADDRESSES),
        "the cards to be the machine's again",
        30,
    )
