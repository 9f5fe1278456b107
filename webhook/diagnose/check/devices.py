"""Look for nodes that offer what the profiles ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction

from webhook.core.cluster.demand import Demand
from webhook.core.cluster.nodes import NodeOffer, judge_supply
from webhook.core.quantity import format_quantity
from webhook.diagnose.codes import SHORTAGES, Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed


def check_devices(demands: Iterable[Demand], nodes: Sequence[NodeOffer]) -> Iterator[Finding]:
    """Say for each resource of each profile how many nodes offer it, and whether one can hold a pod."""
    found = (
        _look(demand, resource, Fraction(amount), nodes)
        for demand in demands
        for resource, amount in demand.resources.items()
    )
    yield from dict.fromkeys(found)


def _look(demand: Demand, resource: str, amount: Fraction, nodes: Sequence[NodeOffer]) -> Finding:
    least = "at least " if resource in demand.at_least else ""
    subject, takes = f"profile {demand.profile}: {resource}", f"a pod takes {least}{format_quantity(amount)}"
    supply = judge_supply(nodes, resource, amount, demand.node_selector.items())
    if supply.shortage:
        return Finding("fail", SHORTAGES[supply.shortage], subject, f"{takes}, and {supply.message}")
    fitting = supply.nodes
    total = format_quantity(sum((node.offered(resource) for node in fitting), Fraction(0)))
    named = f"{counted(len(fitting), 'node')} ({listed([node.name for node in fitting], 3)})"
    message = f"{named} {'offers' if len(fitting) == 1 else 'offer'} {total} in all; {takes}"
    usable = sum(node.usable for node in fitting)
    if usable == 0:
        return Finding("warn", Code.NODES_UNUSABLE, subject, f"{message}; none of them is ready and schedulable")
    away = "" if usable == len(fitting) else f"; {len(fitting) - usable} of them not ready or cordoned"
    return Finding("ok", Code.RESOURCE_OFFERED, subject, f"{message}{away}")
