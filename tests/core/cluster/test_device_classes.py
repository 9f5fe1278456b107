"""Which DeviceClasses give a resource, and which drivers publish nothing."""

from fractions import Fraction

import pytest

from webhook.core.cluster.device_classes import (
    IMPLICIT,
    DeviceClass,
    DeviceOffers,
    read_device_class,
    read_driver,
)
from webhook.core.cluster.nodes import NodeOffer, Shortage, judge_supply

NIC = DeviceClass("nic", "rdma/hca", ("dra.net",))
ANY = DeviceClass("any", "rdma/hca")
THERE, NONE = frozenset({"dra.net"}), frozenset[str]()


@pytest.mark.parametrize(
    ("expressions", "named"),
    [
        ((), ()),
        (('device.driver == "dra.net"',), ("dra.net",)),
        (("device.driver=='dra.net' && device.attributes['dra.net'].rdma",), ("dra.net",)),
        (('device.driver == "a"', 'device.driver == "b"', 'device.driver == "a"'), ("a", "b")),
        (("true",), ()),
        ((f"{' ' * 20_000}device.driver == 'a'",), ()),
    ],
)
def test_reads_the_drivers_that_a_class_names(
    expressions: tuple[str, ...], named: tuple[str, ...]
) -> None:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    spec = {"extendedResourceName": "rdma/hca", "selectors": selectors}
    found = read_device_class({"metadata": {"name": "nic"}, "spec": spec})
    assert found == DeviceClass("nic", "rdma/hca", named)


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


@pytest.mark.parametrize(
    ("offers", "amount", "shortage", "uncounted"),
    [
        (DeviceOffers(), 9, Shortage.TOO_SMALL, ""),
        (DeviceOffers((NIC,), THERE), 1, None, ""),
        (DeviceOffers((NIC,), THERE), 9, Shortage.TOO_SMALL, "DeviceClass nic"),
        (DeviceOffers((NIC, ANY), THERE), 9, Shortage.TOO_SMALL, "DeviceClass nic, any"),
        (DeviceOffers((NIC,), NONE), 9, Shortage.TOO_SMALL, ""),
        (DeviceOffers(None, None), 9, Shortage.TOO_SMALL, ""),
    ],
)
def test_what_a_class_may_give_is_no_certain_shortage(
    offers: DeviceOffers, amount: int, shortage: Shortage | None, uncounted: str
) -> None:
    nodes = [NodeOffer("a", {}, {"rdma/hca": "1"})]
    supply = judge_supply(nodes, "rdma/hca", Fraction(amount), (), offers)
    assert (supply.shortage, supply.uncounted) == (shortage, uncounted)


def test_classes_that_cannot_be_read_may_explain_why_no_node_offers_it() -> None:
    unread = DeviceOffers(None, None)
    supply = judge_supply([NodeOffer("a")], "rdma/hca", Fraction(1), (), unread)
    assert (supply.shortage, supply.uncounted) == (
        Shortage.NOWHERE,
        "a DeviceClass that cannot be read",
    )
