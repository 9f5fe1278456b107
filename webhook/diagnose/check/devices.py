"""Look for nodes that offer what the profiles request, and quotas that leave room for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from webhook.core.cluster.demand import Demand
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer, judge_supply
from webhook.core.profiles import ProfileQuantity
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.core.wording import counted, listed
from webhook.diagnose.check.needs import demands, known_profiles
from webhook.diagnose.common import DRIVER_SILENT, SHORTAGES
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import RESOURCE_QUOTAS
from webhook.kube.reader import whole
from webhook.kube.resource import object_key

NODES_UNUSABLE = Code(
    "devices/nodes-unusable",
    "The nodes that offer the resource are not ready, or are cordoned.",
    "look at kubectl get nodes; pods stay Pending until one is ready and schedulable",
)
NODES_SMALLER = Code(
    "devices/nodes-smaller",
    "Nodes offer fewer devices than the profile gives to pods there: those stay Pending.",
    "correct byNodeType or otherwise in the profile, or give these nodes the devices they lack",
)


def check_devices(snapshot: Snapshot) -> Iterator[Finding]:
    """Say for each resource of each profile how many nodes offer it, and what no driver gives."""
    asked = demands(snapshot)
    if not any(demand.resources for demand in asked):
        return
    nodes, offers = snapshot.nodes(), snapshot.device_offers()
    for demand in asked:
        for resource, amount in demand.resources.items():
            yield _judge(demand, resource, Fraction(amount), nodes, offers)
    resources = {resource for demand in asked for resource in demand.resources}
    for each in offers.classes or ():
        silent = offers.silent_drivers(each) if any(map(each.gives, resources)) else ()
        if silent:
            message = f"no ResourceSlice of {listed(silent, 3)} is published"
            yield DRIVER_SILENT.fail(f"DeviceClass {each.name}", message)


def _judge(
    demand: Demand,
    resource: str,
    amount: Fraction,
    nodes: Sequence[NodeOffer],
    offers: DeviceOffers,
) -> Finding:
    """Say whether a node can hold a pod that takes *amount* of the resource."""
    least = "at least " if resource in demand.at_least else ""
    subject = f"profile {demand.profile}: {resource}"
    takes = f"a pod takes {least}{format_quantity(amount)}"
    supply = judge_supply(nodes, resource, amount, demand.node_selector.items(), offers)
    if supply.uncounted:
        return ok("devices", subject, f"{supply.uncounted} may give it by claim (DRA); {takes}")
    if supply.shortage:
        return SHORTAGES[supply.shortage].fail(subject, f"{takes}, and {supply.message}")
    fitting = supply.nodes
    where = f"{counted(len(fitting), 'node')} ({listed([node.name for node in fitting], 3)})"
    message = f"{format_quantity(supply.total)} on {where}; {takes}"
    unusable = sum(not node.usable for node in fitting)
    if unusable == len(fitting):
        return NODES_UNUSABLE.warn(subject, f"{message}; no node is ready and schedulable")
    away = f"; {unusable} of them not ready or cordoned" if unusable else ""
    return ok("devices", subject, f"{message}{away}")


def check_node_types(snapshot: Snapshot) -> Iterator[Finding]:
    """Name nodes that offer fewer devices than a profile gives to pods of such nodes."""
    for profile in known_profiles(snapshot).profiles.values():
        for quantity in profile.quantities:
            if snapshot.device_offers().giving(quantity.resource):
                continue
            small: dict[str, list[str]] = {}
            for node in snapshot.nodes():
                if why := _lacks(node, quantity):
                    small.setdefault(why, []).append(node.name)
            for why, nodes in small.items():
                subject = f"profile {profile.name}: {quantity.resource}"
                where = f"{counted(len(nodes), 'node')} ({listed(nodes, 3)})"
                yield NODES_SMALLER.warn(subject, f"{where} {why}")


def _lacks(node: NodeOffer, quantity: ProfileQuantity) -> str:
    """Say how many devices the node lacks for its type, or for a pod that names none."""
    node_type = node.labels.get(quantity.node_label, "")
    offered = node.offered(quantity.resource)
    has = f"of type {node_type or 'unknown'}, with {format_quantity(offered)} of it"
    listed_as = quantity.by_node_type.get(node_type)
    if listed_as and offered < listed_as[0]:
        return f"{has}: byNodeType gives {listed_as[0]} for {node_type}"
    if quantity.otherwise and 0 < offered < quantity.otherwise[0]:
        return f"{has}: otherwise gives {quantity.otherwise[0]} to pods that name no type"
    return ""


QUOTA_TOO_SMALL = Code(
    "quotas/quota-too-small",
    "The ResourceQuota leaves no room for the devices that a training pod gets.",
    "raise the ResourceQuota, or end other pods that it counts",
)


def check_quotas(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the quotas of labelled namespaces that refuse every pod of a profile, or the next."""
    asked = demands(snapshot)
    for quota in snapshot.list_all(RESOURCE_QUOTAS, whole, snapshot.namespace, partly=True):
        namespace, name = object_key(quota)
        status = quota.get("status") or {}
        given = status.get("hard") or (quota.get("spec") or {}).get("hard") or {}
        taken = [demand.resources for demand in asked if namespace in demand.namespaces]
        for resource, number in (item for each in taken for item in each.items()):
            amount = Fraction(number)
            key = f"requests.{resource}"
            if "/" not in resource or key not in given:
                continue
            hard, used = (
                stored_quantity(each.get(key)) for each in (given, status.get("used") or {})
            )
            limit = f"{key} is {given[key]}, {format_quantity(used)} of it used"
            message = f"{limit}, and a pod takes {format_quantity(amount)}"
            subject = f"ResourceQuota {namespace}/{name}"
            if hard < amount:
                message = f"{message}: every training pod is refused"
                yield QUOTA_TOO_SMALL.fail(subject, message, f"raise {key}")
            elif hard - used < amount:
                yield QUOTA_TOO_SMALL.warn(subject, f"{message}: the next pod is refused")
