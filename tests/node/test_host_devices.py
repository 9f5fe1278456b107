"""A job whose pods get whole cards, as by NVIDIA's HostDeviceNetwork.

The profile is that of the preset: only the network says which device it needs.
"""

from tests.cluster.node import jobs
from tests.cluster.node.expectations import assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.node import Node
from tests.cluster.webhook import Webhook
from tests.waiting import wait_until

from .devices import CARD, CARDS, cards, cards_of_the_machine, offered


def test_a_job_meets_on_cards_that_are_moved_into_its_pods(
    node: Node, namespace: NamespaceFactory, webhook: Webhook, controller: object
) -> None:
    with cards(node, "default/example-hostdevice-network"):
        assert len(cards_of_the_machine()) == offered(node, CARD) == len(CARDS)
        pods = jobs.start(namespace("nvidia-hostdevice"), "torchx")
        reports = [pod.report() for pod in pods]
        told = [report.pod.attached()["device-info"]["pci"]["pci-address"] for report in reports]
        assert len(set(told) & {*CARDS}) == 2, "each pod has a card of its own"
        for rank, report in enumerate(reports):
            assert report.train["rank"] == rank
            assert report.master_addr == pods[0].fabric_address()
            assert_on_the_fabric(report)
            assert report.pod.allocated()[CARD] == "1"
        for pod in pods:
            pod.delete()
        wait_until(
            lambda: len(cards_of_the_machine()) == len(CARDS),
            "the cards to be the machine's again",
            120,
        )
