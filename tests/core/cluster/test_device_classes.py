"""What drivers give out by claims: counted where that is certain, and otherwise said to be uncounted."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

from webhook.core.cluster.device_classes import (
    IMPLICIT,
    DeviceClass,
    DeviceOffers,
    Given,
    read_device_class,
    read_device_slice,
)
from webhook.core.cluster.nodes import NodeOffer, Shortage, judge_supply
from webhook.core.model import Object

NODES = (NodeOffer("a", {"rail": "fast"}), NodeOffer("b"))
UNSURE = "not all devices of its driver are certain"
ONE_DRIVER = 'device.driver == "dra.net"'


def device_class(*expressions: str, name: str = "nic", resource: str = "rdma/hca") -> Object:
    selectors = [{"cel": {"expression": text}} for text in expressions]
    return {
        "metadata": {"name": name},
        "spec": {"extendedResourceName": resource, "selectors": selectors},
    }


def device_slice(
    node: str = "a",
    devices: int = 2,
    *,
    driver: str = "dra.net",
    generation: int = 1,
    parts: int = 1,
    **spec: Any,
) -> Object:
    pool = {"name": spec.pop("pool", node), "generation": generation, "resourceSliceCount": parts}
    listed = spec.pop("listed", [{"name": f"d-{number}"} for number in range(devices)])
    place = {"nodeName": node} if node else {"allNodes": True}
    return {
        "metadata": {"name": "s"},
        "spec": {"driver": driver, "pool": pool, "devices": listed, **place, **spec},
    }


def offers(classes: list[Object], *slices: Object) -> DeviceOffers:
    return DeviceOffers(
        tuple(map(read_device_class, classes)), tuple(map(read_device_slice, slices))
    )


@pytest.mark.parametrize(
    ("expressions", "driver", "named"),
    [
        ((), "", ()),
        ((ONE_DRIVER,), "dra.net", ("dra.net",)),
        (("device.driver=='dra.net'",), "dra.net", ("dra.net",)),
        ((ONE_DRIVER, f" {ONE_DRIVER}\n"), "dra.net", ("dra.net",)),
        ((ONE_DRIVER, 'device.driver == "other"'), None, ("dra.net", "other")),
        ((f"{ONE_DRIVER} && device.attributes['dra.net'].rdma",), None, ("dra.net",)),
        ((ONE_DRIVER, "device.capacity['x'].y > 1"), None, ("dra.net",)),
        (("true",), None, ()),
        ((f"{ONE_DRIVER} //{'x' * 20_000}",), None, ()),
        (('!(device.driver == "dra.net")',), None, ("dra.net",)),
    ],
)
def test_reads_whose_devices_a_class_takes(
    expressions: tuple[str, ...], driver: str | None, named: tuple[str, ...]
) -> None:
    assert read_device_class(device_class(*expressions)) == DeviceClass(
        "nic", "rdma/hca", driver, named
    )


def test_a_class_gives_its_resource_and_the_implicit_one() -> None:
    found = offers([device_class(ONE_DRIVER)], device_slice())
    for resource in ("rdma/hca", f"{IMPLICIT}nic"):
        given = found.given(resource)
        assert given is not None
        assert given.by_node == {"a": Fraction(2)}
    assert found.given("rdma/other") is None
    assert found.given("") is None
    assert offers([device_class(ONE_DRIVER, resource="")]).given("") is None


def judge(
    found: DeviceOffers, amount: int = 1, labels: dict[str, str] | None = None
) -> tuple[Shortage | None, str]:
    supply = judge_supply(
        NODES, "rdma/hca", Fraction(amount), (labels or {}).items(), found.given("rdma/hca")
    )
    return supply.shortage, supply.uncounted


def test_counts_what_is_certain() -> None:
    found = offers(
        [device_class(ONE_DRIVER)],
        device_slice("a", 2, parts=2),
        device_slice("a", 3, parts=2),
        device_slice("a", 50, generation=0, parts=2),
        device_slice("b", 1),
        device_slice("b", 40, driver="other"),
    )
    assert judge(found, 5) == (None, "")
    assert judge(found, 6) == (Shortage.TOO_SMALL, "")
    assert judge(found, 5, {"rail": "fast"}) == (None, "")
    assert judge(found, 5, {"rail": "slow"}) == (Shortage.UNLABELLED, "")
    everything = offers(
        [device_class()], device_slice("b", 1), device_slice("b", 40, driver="other")
    )
    assert judge(everything, 41) == (None, "")


@pytest.mark.parametrize(
    ("found", "why"),
    [
        (offers([device_class("true")], device_slice()), "its selectors are CEL"),
        (
            offers([device_class(), device_class(name="b")], device_slice()),
            "which of them the scheduler takes",
        ),
        (
            offers([device_class(ONE_DRIVER)], device_slice(parts=2)),
            UNSURE,
        ),
        (
            offers([device_class(ONE_DRIVER)], device_slice("")),
            UNSURE,
        ),
        (
            offers(
                [device_class(ONE_DRIVER)],
                device_slice(listed=[{"name": "x", "taints": [{"key": "k"}]}]),
            ),
            UNSURE,
        ),
        (
            offers(
                [device_class(ONE_DRIVER)],
                device_slice("", listed=[{"name": "x", "nodeName": "a"}]),
            ),
            UNSURE,
        ),
        (
            offers(
                [device_class(ONE_DRIVER)],
                device_slice(listed=[{"name": "x", "consumesCounters": [{}]}]),
            ),
            UNSURE,
        ),
        (DeviceOffers(None, None, "403"), "DeviceClasses cannot be read: 403"),
        (
            offers([device_class(ONE_DRIVER)])._replace(slices=None, problem="403"),
            "ResourceSlices cannot be read: 403",
        ),
    ],
)
def test_says_why_it_does_not_count(found: DeviceOffers, why: str) -> None:
    shortage, uncounted = judge(found, 9)
    assert shortage is not None
    assert uncounted.startswith(why)


def test_a_class_without_a_device_leaves_the_shortage_certain() -> None:
    assert judge(offers([device_class(ONE_DRIVER)])) == (Shortage.NOWHERE, "")
    assert judge(offers([])) == (Shortage.NOWHERE, "")


def test_what_nodes_offer_by_a_device_plugin_stays_judged_where_classes_cannot_be_read() -> None:
    nodes = [NodeOffer("a", {}, {"rdma/hca": "1"})]
    given = DeviceOffers(None, None, "403").given("rdma/hca")
    supply = judge_supply(nodes, "rdma/hca", Fraction(2), (), given)
    assert (supply.shortage, supply.uncounted) == (Shortage.TOO_SMALL, "")


def test_names_drivers_that_publish_nothing() -> None:
    found = offers(
        [device_class(ONE_DRIVER), device_class("true", name="any")],
        device_slice(parts=3),
        device_slice("b"),
    )
    nic, anything = found.classes or ()
    assert found.silent_drivers(nic) == found.silent_drivers(anything) == ()
    assert offers([]).silent_drivers(nic) == ("dra.net",)
    assert DeviceOffers(slices=None).silent_drivers(nic) == ()


@pytest.mark.parametrize(
    ("classes", "told"),
    [
        ("a", "DeviceClass a"),
        ("abcd", "DeviceClasses a, b, c, d"),
        ("abcde", "DeviceClasses a, b, c and 2 more"),
    ],
)
def test_names_the_classes(classes: str, told: str) -> None:
    assert str(Given(tuple(classes), {})) == told
