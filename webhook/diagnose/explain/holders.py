"""Name the pods that hold a scarce device on nodes that would otherwise have enough of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from fractions import Fraction

from webhook.core.cluster.nodes import NodeOffer, Place, devices, place_of
from webhook.core.model import Object
from webhook.core.quantity import format_quantity
from webhook.diagnose.explain.observation import natural
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.wording import listed

MOST_NODES = 8
"""How many nodes' pods are read: enough for an example, few enough for a large cluster."""
_TOLD = 3


def nodes_to_read(pods: Iterable[Object], nodes: Iterable[NodeOffer]) -> list[str]:
    """Name the nodes whose pods may hold what a pod on no node asks for, MOST_NODES at most."""
    wanted = {
        (resource, amount, place_of(pod))
        for pod in pods
        if not (pod.get("spec") or {}).get("nodeName")
        and (pod.get("status") or {}).get("phase") == "Pending"
        for resource, amount in devices(pod).items()
    }
    found = [
        node.name
        for node in nodes
        if any(
            node.offered(resource) >= amount and place.admits(node)
            for resource, amount, place in wanted
        )
    ]
    return sorted(found, key=natural)[:MOST_NODES]


class Holders:
    """Know what pods hold on the nodes whose pods were read."""

    def __init__(self, reading: Reading) -> None:
        nodes = {node.name: node for node in reading.nodes or ()}
        neighbours = reading.neighbours or {}
        self._nodes = {name: nodes[name] for name in neighbours}
        self._held = {
            name: {_name(pod): devices(pod) for pod in there} for name, there in neighbours.items()
        }
        self._own = {_name(pod) for pod in reading.pods}
        self._told: dict[tuple[str, Fraction, Place], str] = {}

    def of(self, pod: Object, resource: str) -> str:
        """Return who holds it where too little is left for a pod: ``node-1: 8 of 8 held by ml/serve-0``; empty: unknown."""
        key = resource, devices(pod).get(resource, Fraction(0)), place_of(pod)
        if key not in self._told:
            self._told[key] = listed(self._full(*key), _TOLD, "; ")
        return self._told[key]

    def _full(self, resource: str, amount: Fraction, place: Place) -> Iterator[str]:
        for name, held in self._held.items():
            if not place.admits(self._nodes[name]):
                continue
            amounts = {pod: found[resource] for pod, found in held.items() if resource in found}
            taken, there = sum(amounts.values(), Fraction(0)), self._nodes[name].offered(resource)
            if amount <= there < taken + amount:
                most = sorted(amounts, key=lambda pod: (-amounts[pod], natural(pod)))
                own = ", all of this job" if self._own.issuperset(most) else ""
                yield f"{name}: {format_quantity(taken)} of {format_quantity(there)} held by {listed(most, _TOLD)}{own}"


def _name(pod: Object) -> str:
    return f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
