"""Decide what stands in the status of a FabricProfile: its conditions, from its content, the networks and what nodes offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.claim_templates import CLAIMS_UNSERVED, template_name
from webhook.core.cluster.demand import NOWHERE, Definitions, find_demands, wanted
from webhook.core.cluster.device_classes import Given
from webhook.core.cluster.networks import NetworkFault, NetworkLook, Obstacle, look_at_network
from webhook.core.cluster.nodes import Search, Shortage, Supply
from webhook.core.model import Object
from webhook.core.networks import parse_networks
from webhook.core.printable import printable
from webhook.core.profiles import ClusterSettings, Content, Profile, Profiles
from webhook.core.quantity import format_quantity
from webhook.core.wording import listed

CONDITIONS = READY, NETWORKS_FOUND, CLAIMS_USABLE, DEVICES_OFFERED = (
    "Ready",
    "NetworksFound",
    "ClaimsUsable",
    "DevicesOffered",
)
MOST_CONDITIONS = 8
_MOST_MESSAGE = 1024
_MOST_TOLD = 3


class ConditionReason(StrEnum):
    """Name what a condition of a FabricProfile rests on, beside Obstacle and Shortage; programs read it, so the set is closed."""

    USABLE = "Usable"
    ALL_FOUND = "AllFound"
    ALL_OFFERED = "AllOffered"
    NONE_NAMED = "NoneNamed"
    NO_NAMESPACE = "NoNamespace"
    CONTENT_REFUSED = "ContentRefused"
    NOT_READ = "NotRead"
    POD_LABELS_TAKEN = "PodLabelsTaken"
    MULTUS_MISSING = "MultusMissing"
    NETWORKS_NOT_FOUND = "NetworksNotFound"
    CLAIMS_UNSERVED = "ClaimsUnserved"
    DEVICE_CLASS_MISSING = "DeviceClassMissing"
    CLAIM_REFUSED = "ClaimRefused"
    DEVICE_CLASS_OFFERS = "DeviceClassOffers"


_Reason: TypeAlias = ConditionReason | Obstacle | Shortage


class Condition(NamedTuple):
    """Hold a condition as the API has it; *status* is ``True``, ``False`` or ``Unknown``."""

    type: str
    status: str
    reason: _Reason
    message: str


class Wish(NamedTuple):
    """Hold what one pod asks one node for, and the labels that the node must have; *is_least*: it may ask for more."""

    resource: str
    amount: Fraction
    labels: frozenset[tuple[str, str]]
    is_least: bool = False

    def search(self, given: Given | None = None) -> Search:
        """Begin to look for a node; *given*: what claims give of the resource."""
        return Search(self.resource, self.amount, self.labels, given)

    def __str__(self) -> str:
        least = "at least " if self.is_least else ""
        return f"{least}{format_quantity(self.amount)} {self.resource}"


class NetworksSeen(NamedTuple):
    """Hold the networks of the cluster, None where they could not be read, with the *problem*."""

    definitions: Definitions | None
    problem: str = ""
    is_installed: bool = True


class ClaimsSeen(NamedTuple):
    """Hold the names of the DeviceClasses, and which claims' templates the API server refuses: its words, by the template's name.

    *is_served*: the cluster has claims (DRA). *problem*: why that is not known.
    """

    classes: frozenset[str] = frozenset()
    refused: Mapping[str, str] = {}
    is_served: bool = True
    problem: str = ""


class NodesSeen(NamedTuple):
    """Hold how each wish is met; *problem*: why the others are not known."""

    supplies: Mapping[Wish, Supply]
    problem: str = ""


class Examined(NamedTuple):
    """Hold what a profile needs of the cluster: how each of its networks is found, and what its pods wish for of a node.

    *same_labels*: the profile whose podLabels are the same, and count.
    """

    looks: Sequence[NetworkLook]
    wishes: Sequence[Wish]
    same_labels: str = ""


def network_names(profile: Profile) -> set[str]:
    """Return the names, without their namespaces, of the networks that must be looked for."""
    found = {network.name for network in profile.networks}
    try:
        default = parse_networks(profile.annotations.get(names.DEFAULT_NETWORK, ""), "x")
    except ValueError:
        return found  # it is told as unusable
    return found | {each.name for each in default.elements}


def examine_profile(
    profile: Profile, settings: ClusterSettings, namespaces: Sequence[str], definitions: Definitions
) -> Examined:
    """Look for the networks from the *namespaces* that use the profile, and add up what its pods ask for."""
    looks = [
        look_at_network(profile, network, settings.multus, namespaces, definitions)
        for network in dict.fromkeys(wanted(profile))
    ]
    alone = Profiles(multus=settings.multus, profiles={profile.name: profile})
    demands = find_demands(alone, {profile.name: namespaces or (NOWHERE,)}, definitions)
    wishes: list[Wish] = []
    for demand in demands:
        labels = frozenset(demand.node_selector.items())
        for resource, amount in demand.resources.items():
            wishes.append(Wish(resource, Fraction(amount), labels, resource in demand.at_least))
    labels = frozenset(profile.node_selector.items())
    for network in [look.network for look in looks if look.network and not look.attached]:
        # what the profile says of it is known all the same
        amount = Fraction(network.count)
        wishes += [Wish(resource, amount, labels) for resource in network.resources]
    return Examined(looks, tuple(dict.fromkeys(wishes)))


def conditions_of(
    content: Content,
    examined: Examined,
    networks: NetworksSeen,
    nodes: NodesSeen,
    claims: ClaimsSeen = ClaimsSeen(),  # noqa: B008  # it cannot be changed
) -> list[Condition]:
    """Return all conditions of a profile; *examined* is of its content, and empty where that cannot be used."""
    if content.profile is None:
        return _without_content(content)
    others = [_networks_found(examined, networks), _devices_offered(examined, networks, nodes)]
    if content.profile.claims:
        others.insert(1, _claims_usable(content.profile, claims))
    wrong = next((each for each in others if each.status == "False"), None)
    if examined.same_labels:
        told = f"spec.podLabels: {examined.same_labels} has the same, and pods that carry them take that one; change one of the two"
        ready = Condition(READY, "False", ConditionReason.POD_LABELS_TAKEN, told)
    elif wrong is not None:
        ready = Condition(READY, "False", wrong.reason, wrong.message)
    else:
        ready = Condition(READY, "True", ConditionReason.USABLE, "its content can be used")
    told_all = (ready, *others)
    return [one._replace(message=printable(one.message, _MOST_MESSAGE)) for one in told_all]


def _without_content(content: Content) -> list[Condition]:
    reason = ConditionReason.CONTENT_REFUSED
    faults = printable(content.problem, _MOST_MESSAGE - 100)  # the advice needs room
    message = f"{faults}; correct it: until then a webhook keeps the last one that it could use"
    not_judged = "not looked for, since the content of the profile is not known"
    return [
        Condition(READY, "False", reason, printable(message, _MOST_MESSAGE)),
        Condition(NETWORKS_FOUND, "Unknown", reason, not_judged),
        Condition(DEVICES_OFFERED, "Unknown", reason, not_judged),
    ]


def _networks_found(examined: Examined, networks: NetworksSeen) -> Condition:
    if not examined.looks:
        message = "the profile names no network"
        return Condition(NETWORKS_FOUND, "True", ConditionReason.NONE_NAMED, message)
    if networks.definitions is None:
        message = f"NetworkAttachmentDefinitions cannot be read: {networks.problem}"
        return Condition(NETWORKS_FOUND, "Unknown", ConditionReason.NOT_READ, message)
    if not networks.is_installed:
        message = "NetworkAttachmentDefinitions are not installed, so that none of the profile's networks exists; install Multus"
        return Condition(NETWORKS_FOUND, "False", ConditionReason.MULTUS_MISSING, message)
    faults = [(look, *fault) for look in examined.looks for fault in look.faults.items()]
    if faults:
        met = {fault.obstacle for _, fault, _ in faults}
        first = next(one for one in Obstacle if one in met)
        advice = "; create it, or correct the profile" if first is Obstacle.MISSING else ""
        told = listed((_fault_text(*each) for each in faults), _MOST_TOLD, "; ")
        return Condition(NETWORKS_FOUND, "False", first, told + advice)
    if unused := [look.title for look in examined.looks if look.is_unused]:
        message = f"{listed(unused, _MOST_TOLD)}: looked for in each namespace that names the profile, and none does"
        return Condition(NETWORKS_FOUND, "Unknown", ConditionReason.NO_NAMESPACE, message)
    shown = listed((look.title for look in examined.looks), _MOST_TOLD)
    return Condition(NETWORKS_FOUND, "True", ConditionReason.ALL_FOUND, f"found: {shown}")


def _claims_usable(profile: Profile, claims: ClaimsSeen) -> Condition:
    classes = {each.device_class_name for claim in profile.claims for each in claim.requests}
    missing = sorted(classes - claims.classes)
    refused = [
        f"claim {claim.name} is refused by the API server: {claims.refused[name]}"
        for claim in profile.claims
        if (name := template_name(claim)) in claims.refused
    ]
    if claims.problem:
        message = f"DeviceClasses cannot be read: {claims.problem}"
        return Condition(CLAIMS_USABLE, "Unknown", ConditionReason.NOT_READ, message)
    if not claims.is_served:
        return Condition(CLAIMS_USABLE, "False", ConditionReason.CLAIMS_UNSERVED, CLAIMS_UNSERVED)
    if missing:
        verb = "does" if len(missing) == 1 else "do"
        message = f"DeviceClass {listed(missing, _MOST_TOLD)} {verb} not exist; install the driver, or correct the profile"
        return Condition(CLAIMS_USABLE, "False", ConditionReason.DEVICE_CLASS_MISSING, message)
    if refused:
        message = listed(refused, _MOST_TOLD, "; ")
        return Condition(CLAIMS_USABLE, "False", ConditionReason.CLAIM_REFUSED, message)
    shown = listed(sorted(classes), _MOST_TOLD)
    return Condition(CLAIMS_USABLE, "True", ConditionReason.ALL_FOUND, f"DeviceClass {shown}")


def _fault_text(look: NetworkLook, fault: NetworkFault, namespaces: Sequence[str]) -> str:
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    text = f"{look.title} {fault.message}"
    if where:
        text += f" (for pods of {listed(where, _MOST_TOLD)})"
    return f"{text}; {fault.action}" if fault.action else text


def _devices_offered(examined: Examined, networks: NetworksSeen, nodes: NodesSeen) -> Condition:
    wrong: list[tuple[_Reason, str]] = []
    unknown: list[tuple[_Reason, str]] = []
    for wish in examined.wishes:
        supply = nodes.supplies.get(wish)
        if supply is None:
            unknown.append((ConditionReason.NOT_READ, f"nodes cannot be read: {nodes.problem}"))
        elif supply.uncounted:
            by = supply.given or "a DeviceClass"
            message = f"no node offers {wish}, but {by} may give it by claim (DRA), not counted: {supply.uncounted}"
            unknown.append((ConditionReason.DEVICE_CLASS_OFFERS, message))
        elif supply.shortage is not None:
            wrong.append((supply.shortage, _short_of(wish, supply)))
    unknown += _not_known_of(examined, networks)
    for status, told in (("False", wrong), ("Unknown", unknown)):
        if told:
            messages = listed(dict.fromkeys(message for _, message in told), _MOST_TOLD, "; ")
            return Condition(DEVICES_OFFERED, status, told[0][0], messages)
    if not examined.wishes:
        message = "neither the profile nor its networks name a resource; check looks at claims"
        return Condition(DEVICES_OFFERED, "True", ConditionReason.NONE_NAMED, message)
    message = f"a node offers what a pod takes: {listed(map(str, examined.wishes), _MOST_TOLD)}"
    return Condition(DEVICES_OFFERED, "True", ConditionReason.ALL_OFFERED, message)


def _short_of(wish: Wish, supply: Supply) -> str:
    """Say it without the number of nodes, which changes while nothing else does."""
    match supply.shortage:
        case Shortage.TOO_SMALL:
            return f"a pod takes {wish}, and {supply.message}"
        case Shortage.UNLABELLED:
            labels = ",".join(f"{key}={value}" for key, value in sorted(wish.labels))
            return f"a pod takes {wish}, and no node that offers it has {labels}: label the nodes, or correct the node selector"
        case _:
            return f"a pod takes {wish}, and no node offers {wish.resource}: look at its device plugin, or correct the name"


def _not_known_of(
    examined: Examined, networks: NetworksSeen
) -> Iterator[tuple[ConditionReason, str]]:
    """Tell of each network that was not found and alone could say which devices it needs."""
    for look in examined.looks:
        if look.network is None or look.network.resources or look.attached:
            continue
        only = f"the devices of {look.title} are known from its NetworkAttachmentDefinition alone"
        if networks.definitions is None:
            yield ConditionReason.NOT_READ, f"{only}, which cannot be read"
        elif look.is_unused:
            nowhere = f"{only}, and no namespace to look for it in names the profile"
            yield ConditionReason.NO_NAMESPACE, nowhere
        else:
            yield ConditionReason.NETWORKS_NOT_FOUND, f"{only}, which was not found"


def networks_in_short(content: Content) -> str:
    """Name the first few networks of the profile, for the table that ``kubectl get`` prints."""
    named = content.profile.networks if content.profile is not None else ()
    return listed(map(str, named), _MOST_TOLD)


def next_status(
    before: Any,
    conditions: Sequence[Condition],
    *,
    generation: int,
    namespaces: int,
    networks: str,
    now: str,
) -> Object | None:
    """Return the status that is to replace *before*, None where that says the same.

    ``lastTransitionTime`` stays where the status of a condition does. Conditions of others are kept, as far as there is room.
    """
    old: Object = before if isinstance(before, dict) else {}
    conditions_before = old.get("conditions")
    former = conditions_before if isinstance(conditions_before, list) else []
    known = [each for each in former if isinstance(each, dict)]
    by_type = {str(each.get("type")): each for each in known}
    made: list[Object] = []
    for condition in conditions:
        last = by_type.get(condition.type, {})
        since = last.get("lastTransitionTime") if last.get("status") == condition.status else None
        made.append(
            {
                "type": condition.type,
                "status": condition.status,
                "observedGeneration": generation,
                "lastTransitionTime": since or now,
                "reason": str(condition.reason),
                "message": condition.message,
            }
        )
    others = [each for each in known if str(each.get("type")) not in CONDITIONS]
    made += others[: MOST_CONDITIONS - len(made)]
    status: Object = {
        "observedGeneration": generation,
        "namespaces": namespaces,
        "networks": networks,
        "conditions": made,
    }
    return None if all(old.get(key) == value for key, value in status.items()) else status
