"""Look for nodes that offer what the profiles ask for."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from webhook.core.finding import Finding
from webhook.core.model import Object
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.diagnose.check.demand import Demand
from webhook.diagnose.wording import counted, listed

TOPIC = "devices"


@dataclass(frozen=True, slots=True)
class Node:
    """Hold what is kept of a node; *usable*: it is ready and takes new pods."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    usable: bool = True


def read_node(node: Object) -> Node:
    """Keep what matters of a Node."""
    metadata, status = node.get("metadata") or {}, node.get("status") or {}
    conditions = status.get("conditions") or ()
    ready = any(each.get("type") == "Ready" and each.get("status") == "True" for each in conditions)
    cordoned = bool((node.get("spec") or {}).get("unschedulable"))
    return Node(
        metadata.get("name") or "",
        metadata.get("labels") or {},
        status.get("allocatable") or {},
        ready and not cordoned,
    )


def check_devices(demands: Iterable[Demand], nodes: Sequence[Node]) -> Iterator[Finding]:
    """Say for each resource of each profile how many nodes offer it, and whether one can hold a pod."""
    seen = set()
    for demand in demands:
        for resource, amount in demand.resources.items():
            finding = _look(demand, resource, Fraction(amount), nodes)
            if finding not in seen:
                seen.add(finding)
                yield finding


def _look(demand: Demand, resource: str, amount: Fraction, nodes: Sequence[Node]) -> Finding:
    subject = f"profile {demand.profile}: {resource}"
    offers = [(node, offered) for node in nodes if (offered := stored_quantity(node.allocatable.get(resource))) > 0]
    if not offers:
        action = (
            "install or configure the device plugin that offers it, or correct the name; pods stay Pending until then"
        )
        return Finding("fail", TOPIC, subject, f"of {counted(len(nodes), 'node')} none offers it", action)
    fitting = [(node, offered) for node, offered in offers if demand.node_selector.items() <= node.labels.items()]
    selector = ", ".join(f"{key}={value}" for key, value in sorted(demand.node_selector.items()))
    if not fitting:
        message = f"{_named(offers)} {_offer(offers)} it, and none has label {selector}"
        action = "label the nodes, or correct the nodeSelector of the profile or of its networks"
        return Finding("fail", TOPIC, subject, message, action)
    largest = max(offered for _, offered in fitting)
    if largest < amount:
        message = f"a pod takes {format_quantity(amount)}, and no node has more than {format_quantity(largest)}"
        return Finding("fail", TOPIC, subject, message, "lower count: or resources: in the profile, or offer more")
    total = format_quantity(sum((offered for _, offered in fitting), Fraction(0)))
    message = f"{_named(fitting)} {_offer(fitting)} {total} in all; a pod takes {format_quantity(amount)}"
    usable = sum(node.usable for node, _ in fitting)
    if usable == 0:
        action = "look at `kubectl get nodes`: pods stay Pending while none is ready and schedulable"
        return Finding("warn", TOPIC, subject, f"{message}; none of them is ready and schedulable", action)
    away = "" if usable == len(fitting) else f"; {len(fitting) - usable} of them not ready or cordoned"
    return Finding("ok", TOPIC, subject, f"{message}{away}")


def _offer(offers: Sequence[tuple[Node, Fraction]]) -> str:
    return "offers" if len(offers) == 1 else "offer"


def _named(offers: Sequence[tuple[Node, Fraction]]) -> str:
    return f"{counted(len(offers), 'node')} ({listed([node.name for node, _ in offers], 3)})"
