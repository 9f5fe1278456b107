"""Look for nodes that offer what the profiles ask for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from webhook.core.cluster.demand import Demand
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers
from webhook.core.cluster.nodes import NodeOffer, judge_supply
from webhook.core.quantity import format_quantity
from webhook.diagnose.codes import SHORTAGES, Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed

_NO_OFFERS = DeviceOffers()


def check_devices(
    demands: Sequence[Demand], nodes: Sequence[NodeOffer], offers: DeviceOffers = _NO_OFFERS
) -> Iterator[Finding]:
    """Say for each resource of each profile how many nodes offer it, and whether one can hold a pod.

    *offers*: what drivers give out by claims (DRA).
    """
    found = (
        _look(demand, resource, Fraction(amount), nodes, offers)
        for demand in demands
        for resource, amount in demand.resources.items()
    )
    yield from dict.fromkeys(found)
    asked = {resource for demand in demands for resource in demand.resources}
    classes = [each for each in offers.classes or () if any(map(each.gives, asked))]
    yield from check_drivers(classes, offers)


def check_drivers(classes: Sequence[DeviceClass], offers: DeviceOffers) -> Iterator[Finding]:
    """Name the drivers of these classes that publish nothing, or less than they say."""
    for each in classes:
        if silent := offers.silent_drivers(each):
            message = f"names {listed(silent, 3)}, of which there is no ResourceSlice"
            yield Finding("fail", Code.DRIVER_SILENT, f"DeviceClass {each.name}", message)
    drivers = {driver for each in classes for driver in each.named or ("",)}
    for pool in offers.pools():
        if not pool.is_complete and drivers & {"", pool.driver}:
            message = (
                f"pool {pool.name} has {pool.there} of its {counted(pool.parts, 'ResourceSlice')}"
            )
            yield Finding("warn", Code.POOL_INCOMPLETE, f"driver {pool.driver}", message)


def _look(
    demand: Demand,
    resource: str,
    amount: Fraction,
    nodes: Sequence[NodeOffer],
    offers: DeviceOffers,
) -> Finding:
    least = "at least " if resource in demand.at_least else ""
    subject, takes = (
        f"profile {demand.profile}: {resource}",
        f"a pod takes {least}{format_quantity(amount)}",
    )
    supply = judge_supply(
        nodes, resource, amount, demand.node_selector.items(), offers.given(resource)
    )
    if supply.uncounted:
        by = (
            f"{supply.given} may give it by claim (DRA)"
            if supply.given
            else "a DeviceClass may give it (DRA)"
        )
        return Finding(
            "ok",
            Code.RESOURCE_UNCOUNTED,
            subject,
            f"{by}, not counted: {supply.uncounted}; {takes}",
        )
    if supply.shortage:
        also = f", nor does {supply.given} (DRA)" if supply.given else ""
        return Finding(
            "fail", SHORTAGES[supply.shortage], subject, f"{takes}, and {supply.message}{also}"
        )
    fitting = supply.nodes
    named = f"{counted(len(fitting), 'node')} ({listed([node.name for node in fitting], 3)})"
    also = f", {supply.given} (DRA) counted," if supply.given else ""
    total = format_quantity(supply.total)
    message = f"{named} {'offers' if len(fitting) == 1 else 'offer'} {total}{also} in all; {takes}"
    usable = sum(node.usable for node in fitting)
    if usable == 0:
        return Finding(
            "warn",
            Code.NODES_UNUSABLE,
            subject,
            f"{message}; none of them is ready and schedulable",
        )
    away = (
        "" if usable == len(fitting) else f"; {len(fitting) - usable} of them not ready or cordoned"
    )
    return Finding("ok", Code.RESOURCE_OFFERED, subject, f"{message}{away}")
