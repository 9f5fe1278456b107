"""Say which pods hold a device of which too little is left: on nodes that offer enough of it, had nobody else taken it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from webhook import podspec
from webhook.explain.observation import natural
from webhook.explain.reading import Reading
from webhook.model import Object
from webhook.quantity import format_quantity, stored_quantity

MOST_NODES = 8
"""How many nodes' pods are read: enough for an example, few enough for a large cluster."""
_TOLD = 3


def devices(pod: Object) -> dict[str, Fraction]:
    """Return what the pod's containers ask for together of extended resources: ``{"rdma/hca": 1}``."""
    found: dict[str, Fraction] = {}
    for container in podspec.running_containers(pod):
        for resource, quantity in {**podspec.limits(container), **podspec.requests(container)}.items():
            if "/" in resource:
                found[resource] = found.get(resource, Fraction(0)) + stored_quantity(quantity)
    return {resource: amount for resource, amount in found.items() if amount}


def offered(node: Object, resource: str) -> Fraction:
    """Return how much of the resource the node can allocate in all."""
    return stored_quantity(((node.get("status") or {}).get("allocatable") or {}).get(resource))


def selector(pod: Object) -> Mapping[str, str]:
    """Return ``spec.nodeSelector``."""
    return (pod.get("spec") or {}).get("nodeSelector") or {}


def nodes_to_read(pods: Iterable[Object], nodes: Iterable[Object]) -> list[str]:
    """Name the nodes whose pods may hold what a pod on no node asks for, MOST_NODES at most."""
    wanted = {
        (resource, amount, frozenset(selector(pod).items()))
        for pod in pods
        if not (pod.get("spec") or {}).get("nodeName") and (pod.get("status") or {}).get("phase") == "Pending"
        for resource, amount in devices(pod).items()
    }
    found = [
        str(node["metadata"]["name"])
        for node in nodes
        if not (node.get("spec") or {}).get("unschedulable")
        and any(
            offered(node, resource) >= amount and chosen <= podspec.labels(node).items()
            for resource, amount, chosen in wanted
        )
    ]
    return sorted(found, key=natural)[:MOST_NODES]


class Holders:
    """Know what pods hold on the nodes whose pods were read."""

    def __init__(self, reading: Reading) -> None:
        nodes = {str(node["metadata"]["name"]): node for node in reading.nodes or ()}
        self._nodes = {name: nodes[name] for name in reading.neighbours}
        self._held = {
            name: {f"{pod['metadata']['namespace']}/{pod['metadata']['name']}": devices(pod) for pod in neighbours}
            for name, neighbours in reading.neighbours.items()
        }
        self._told: dict[tuple[str, Fraction, frozenset[tuple[str, str]]], str] = {}

    def of(self, pod: Object, resource: str) -> str:
        """Return who holds it where too little is left for a pod: ``node-1: 8 of 8 held by ml/serve-0``; empty: unknown."""
        key = resource, devices(pod).get(resource, Fraction(0)), frozenset(selector(pod).items())
        if key not in self._told:
            found = list(self._full(*key))
            self._told[key] = "; ".join(found[:_TOLD]) + ("; …" if len(found) > _TOLD else "")
        return self._told[key]

    def _full(self, resource: str, amount: Fraction, chosen: frozenset[tuple[str, str]]) -> Iterator[str]:
        for name, held in self._held.items():
            if not chosen <= podspec.labels(self._nodes[name]).items():
                continue
            amounts = {pod: found[resource] for pod, found in held.items() if resource in found}
            taken, there = sum(amounts.values(), Fraction(0)), offered(self._nodes[name], resource)
            if amount <= there < taken + amount:
                most = sorted(amounts, key=lambda pod: (-amounts[pod], natural(pod)))
                listed = ", ".join(most[:_TOLD]) + (f" and {len(most) - _TOLD} more" if len(most) > _TOLD else "")
                yield f"{name}: {format_quantity(taken)} of {format_quantity(there)} held by {listed}"
