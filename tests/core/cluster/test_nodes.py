"""Nodes and DeviceClasses: what is kept of one, and whether they offer what pods ask for."""

from fractions import Fraction

import pytest

from tests.tables import read, table
from webhook.core.cluster.device_classes import (
    IMPLICIT,
    DeviceClass,
    DeviceOffers,
    read_device_class,
    read_driver,
)
from webhook.core.cluster.nodes import (
    NodeOffer,
    Shortage,
    devices,
    judge_supply,
    read_node,
    shown_amount,
)
from webhook.core.model import Object

ROWS = read(__file__, "nodes.yaml")
NODE: Object = {
    "metadata": {"name": "node-0", "labels": {"rail": "fast"}},
    "spec": {"unschedulable": True},
    "status": {
        "allocatable": {"rdma/hca": "8"},
        "conditions": [{"type": "DiskPressure"}, {"type": "Ready", "status": "True"}],
    },
}


def test_keeps_of_a_node_what_decides_about_pods() -> None:
    there = {"rail": "fast"}, {"rdma/hca": "8"}
    assert read_node(NODE) == NodeOffer("node-0", *there, cordoned=True)
    assert not read_node(NODE).usable
    assert read_node({}) == NodeOffer("", not_ready="no reason told")


@table("row", ROWS["conditions"])
def test_says_why_a_node_is_not_ready(row: Object) -> None:
    assert read_node({"status": {"conditions": row["of"]}}).not_ready == row["is"]


def test_writes_huge_pages_in_mi() -> None:
    assert shown_amount("hugepages-2Mi", Fraction(1 << 30)) == "1024Mi"
    assert shown_amount("hugepages-64Ki", Fraction(1 << 16)) == "65536"
    assert shown_amount("example.com/bytes", Fraction(1 << 20)) == "1048576"


def asks(amount: int | str) -> Object:
    kind = {"restartPolicy": "Always"} if str(amount).startswith("s") else {}
    requests = {"rdma/hca": str(amount).removeprefix("s")}
    return {"name": "x", "resources": {"requests": requests}, **kind}


@table("row", ROWS["devices"])
def test_counts_devices_as_the_scheduler_does(row: Object) -> None:
    spec = {
        "initContainers": [*map(asks, row["init"])],
        "containers": [*map(asks, row["containers"])],
    }
    assert devices({"metadata": {"name": "p"}, "spec": spec}) == {"rdma/hca": row["is"]}


NIC = DeviceClass("nic", "rdma/hca", ("dra.net",))
ANY = DeviceClass("any", "rdma/hca")
THERE, NONE = frozenset({"dra.net"}), frozenset[str]()


def named(*expressions: str) -> tuple[str, ...]:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    spec = {"extendedResourceName": "rdma/hca", "selectors": selectors}
    found = read_device_class({"metadata": {"name": "nic"}, "spec": spec})
    assert found[:2] == ("nic", "rdma/hca")
    return found.named


@pytest.mark.parametrize("row", ROWS["expressions"])
def test_reads_the_drivers_that_a_class_names(row: Object) -> None:
    assert [*named(*row["of"])] == row["is"]


def test_reads_no_more_of_an_expression_than_the_api_server_takes() -> None:
    assert named(f"{' ' * 20_000}device.driver == 'a'") == ()


def test_reads_the_driver_of_a_slice() -> None:
    assert read_driver({"spec": {"driver": "dra.net"}}) == "dra.net"
    assert read_driver({}) == ""


def test_a_class_gives_its_resource_and_the_implicit_one() -> None:
    assert NIC.gives("rdma/hca")
    assert NIC.gives(f"{IMPLICIT}nic")
    assert not NIC.gives("rdma/other")
    assert not DeviceClass("nic").gives("")


def test_names_drivers_that_publish_nothing() -> None:
    assert DeviceOffers((NIC,), NONE).silent_drivers(NIC) == ("dra.net",)
    assert DeviceOffers((NIC,), THERE).silent_drivers(NIC) == ()
    assert DeviceOffers((NIC,), None).silent_drivers(NIC) == ()
    assert DeviceOffers((ANY,), NONE).silent_drivers(ANY) == ()


UNREAD = DeviceOffers(None, None)


@table(
    "offers, amount, shortage, uncounted",
    {
        "too small": (DeviceOffers(), 9, Shortage.TOO_SMALL, ""),
        "enough": (DeviceOffers((NIC,), THERE), 1, None, ""),
        "a class may give it": (DeviceOffers((NIC, ANY), THERE), 9, Shortage.TOO_SMALL, "nic, any"),
        "its driver is silent": (DeviceOffers((NIC,), NONE), 9, Shortage.TOO_SMALL, ""),
        "classes explain no small node": (UNREAD, 9, Shortage.TOO_SMALL, ""),
    },
)
def test_what_a_class_may_give_is_no_certain_shortage(
    offers: DeviceOffers, amount: int, shortage: Shortage | None, uncounted: str
) -> None:
    nodes = [NodeOffer("a", {}, {"rdma/hca": "1"})]
    supply = judge_supply(nodes, "rdma/hca", Fraction(amount), (), offers)
    told = f"DeviceClass {uncounted}" if uncounted else ""
    assert (supply.shortage, supply.uncounted) == (shortage, told)


def test_says_why_no_node_will_do() -> None:
    unread = judge_supply([NodeOffer("a")], "rdma/hca", Fraction(1), (), UNREAD)
    assert unread.uncounted == "a DeviceClass that cannot be read"
    assert (unread.shortage, unread.message) == (Shortage.NOWHERE, "none of 1 node offers it")
    node = NodeOffer("a", {"rail": "slow"}, {"rdma/hca": "1"})
    found = judge_supply([node], "rdma/hca", Fraction(1), [("rail", "fast")])
    told = "of 1 node with enough of it none has rail=fast"
    assert (found.shortage, found.message) == (Shortage.UNLABELLED, told)
