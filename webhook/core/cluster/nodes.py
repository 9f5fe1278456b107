"""Decide which nodes a pod may take, and whether any offers enough of a resource.

Node affinity is left to the scheduler.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from fractions import Fraction
from typing import NamedTuple

from webhook.core import podspec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.model import Object
from webhook.core.profiles.grammar import HUGE_PAGES
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.core.wording import counted, listed

_MEBI = 1 << 20
_NOTHING = DeviceOffers()


@dataclass(frozen=True, slots=True)
class NodeOffer:
    """Hold what is kept of a Node; *not_ready*: why it is not Ready, empty for one that is."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    allocatable: Mapping[str, str] = field(default_factory=dict)
    cordoned: bool = False
    not_ready: str = ""

    @property
    def usable(self) -> bool:
        """Tell whether it is Ready and takes new pods."""
        return not self.not_ready and not self.cordoned

    def offered(self, resource: str) -> Fraction:
        """Return how much of the resource it can allocate in all."""
        return stored_quantity(self.allocatable.get(resource))


def read_node(node: Object) -> NodeOffer:
    """Keep what matters of a Node: it lists its images too."""
    metadata, spec, status = (node.get(key) or {} for key in ("metadata", "spec", "status"))
    conditions = status.get("conditions") or ()
    ready: Object = next((each for each in conditions if each.get("type") == "Ready"), {})
    why = ready.get("message") or ready.get("reason") or "no reason told"
    return NodeOffer(
        metadata.get("name") or "",
        metadata.get("labels") or {},
        status.get("allocatable") or {},
        bool(spec.get("unschedulable")),
        "" if ready.get("status") == "True" else str(why),
    )


class Shortage(StrEnum):
    """Say why no node will do: none offers the resource, enough of it, or has the labels."""

    NOWHERE = "NoNodeOffers"
    TOO_SMALL = "NodesTooSmall"
    UNLABELLED = "NodeLabelsMissing"


class Supply(NamedTuple):
    """Hold how a resource is offered: a *shortage* with a clause, else the nodes that will do.

    *total*: what these nodes offer together. *uncounted*: who may give by claims (DRA) what is
    short, empty where it is short for certain.
    """

    shortage: Shortage | None
    message: str
    nodes: Sequence[NodeOffer] = ()
    total: Fraction = Fraction(0)
    uncounted: str = ""


def judge_supply(
    nodes: Sequence[NodeOffer],
    resource: str,
    amount: Fraction,
    labels: Iterable[tuple[str, str]],
    by_claim: DeviceOffers = _NOTHING,
) -> Supply:
    """Judge whether a node with these *labels* offers what one pod requests, whoever has it now."""
    supply = _judge(nodes, resource, amount, dict(labels))
    if supply.shortage is None:
        return supply
    if found := by_claim.giving(resource):
        return supply._replace(uncounted=f"DeviceClass {listed(found, 3)}")
    # classes that cannot be read explain only why no node offers it
    if by_claim.classes is None and supply.shortage is Shortage.NOWHERE:
        return supply._replace(uncounted="a DeviceClass that cannot be read")
    return supply


def _judge(
    nodes: Sequence[NodeOffer], resource: str, amount: Fraction, labels: Mapping[str, str]
) -> Supply:
    most = max((node.offered(resource) for node in nodes), default=Fraction(0))
    if not most:
        return Supply(Shortage.NOWHERE, f"none of {counted(len(nodes), 'node')} offers it")
    if most < amount:
        message = f"no node offers more than {shown_amount(resource, most)}"
        return Supply(Shortage.TOO_SMALL, message)
    enough = [node for node in nodes if node.offered(resource) >= amount]
    fitting = [node for node in enough if labels.items() <= node.labels.items()]
    if not fitting:
        text = ",".join(f"{key}={value}" for key, value in sorted(labels.items()))
        message = f"of {counted(len(enough), 'node')} with enough of it none has {text}"
        return Supply(Shortage.UNLABELLED, message)
    return Supply(None, "", fitting, sum((node.offered(resource) for node in fitting), Fraction(0)))


def devices(pod: Object) -> dict[str, Fraction]:
    """Return what the scheduler counts of extended resources for the pod: ``{"rdma/hca": 1}``.

    Containers and sidecars together, or the largest init container with the sidecars before it.
    Source: kubernetes component-helpers/resource PodRequests.
    """
    running: Counter[str] = Counter()
    largest: Counter[str] = Counter()
    for container in podspec.init_containers(pod):
        beside = running + _devices_of(container)
        if podspec.is_sidecar(container):
            running = beside
        else:
            largest |= beside
    for container in podspec.containers(pod):
        running += _devices_of(container)
    return {resource: Fraction(amount) for resource, amount in (largest | running).items()}


def _devices_of(container: Object) -> Counter[str]:
    asked = {**podspec.limits(container), **podspec.requests(container)}
    return Counter({key: stored_quantity(amount) for key, amount in asked.items() if "/" in key})


def shown_amount(resource: str, amount: Fraction) -> str:
    """Write an amount as people write that of the resource: huge pages in Mi."""
    if resource.startswith(HUGE_PAGES) and amount % _MEBI == 0:
        return f"{amount // _MEBI}Mi"
    return format_quantity(amount)
