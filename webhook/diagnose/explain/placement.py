"""Say what a pod asks of a node: devices, and which nodes it may take at all. Node affinity is left to the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import add

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.quantity import stored_quantity

_REPELS = ("NoSchedule", "NoExecute")


@dataclass(frozen=True, slots=True)
class Place:
    """Hold what a pod says of its node: ``spec.nodeSelector``, and tolerations as (key, operator, value, effect)."""

    selector: frozenset[tuple[str, str]]
    tolerations: frozenset[tuple[str, str, str, str]]

    def admits(self, node: Object) -> bool:
        """Tell whether labels, taints and cordon of the node let the pod in."""
        spec = node.get("spec") or {}
        return (
            self.selector <= podspec.labels(node).items()
            and not spec.get("unschedulable")
            and all(self._tolerates(taint) for taint in spec.get("taints") or () if taint.get("effect") in _REPELS)
        )

    def _tolerates(self, taint: Mapping[str, str]) -> bool:
        """Source: kubernetes.io/docs/concepts/scheduling-eviction/taint-and-toleration."""
        for key, operator, value, effect in self.tolerations:
            if effect not in ("", taint.get("effect")) or (key not in ("", taint.get("key"))):
                continue
            if operator == "Exists" or (key and value == (taint.get("value") or "")):
                return True
        return False


def place_of(pod: Object) -> Place:
    """Read where a pod may go."""
    spec = pod.get("spec") or {}
    tolerations = spec.get("tolerations") or ()
    keys = ("key", "operator", "value", "effect")
    return Place(
        frozenset((spec.get("nodeSelector") or {}).items()),
        frozenset(tuple(str(each.get(key) or "") for key in keys) for each in tolerations),  # type: ignore[misc]
    )


def devices(pod: Object) -> dict[str, Fraction]:
    """Return what the scheduler counts of extended resources for the pod: ``{"rdma/hca": 1}``.

    Containers and sidecars together, or the largest init container with the sidecars before it. Source: kubernetes
    component-helpers/resource PodRequests.
    """
    running: dict[str, Fraction] = {}
    largest: dict[str, Fraction] = {}
    for container in podspec.init_containers(pod):
        beside = _combined(add, running, _asked(container))
        if podspec.is_sidecar(container):
            running = beside
        else:
            largest = _combined(max, largest, beside)
    for container in podspec.containers(pod):
        running = _combined(add, running, _asked(container))
    return {resource: amount for resource, amount in _combined(max, largest, running).items() if amount}


def offered(node: Object, resource: str) -> Fraction:
    """Return how much of the resource the node can allocate in all."""
    return stored_quantity(((node.get("status") or {}).get("allocatable") or {}).get(resource))


def _asked(container: Object) -> dict[str, Fraction]:
    asked = {**podspec.limits(container), **podspec.requests(container)}
    return {resource: stored_quantity(quantity) for resource, quantity in asked.items() if "/" in resource}


def _combined(
    how: Callable[[Fraction, Fraction], Fraction], one: Mapping[str, Fraction], other: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    return {name: how(one.get(name, Fraction(0)), other.get(name, Fraction(0))) for name in {**one, **other}}
