"""Decide the status of a FabricProfile: from its content, the networks, and what nodes offer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from enum import StrEnum
from fractions import Fraction
from typing import Any, NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.claim_templates import CLAIMS_UNSERVED, template_name
from webhook.core.cluster.demand import NOWHERE, Definitions, find_demands, wanted
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
_MOST_MESSAGE = 1024
_MOST_TOLD = 3


class ConditionReason(StrEnum):
    """Name what a condition rests on, beside Obstacle and Shortage; programs read it."""

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
_Verdict: TypeAlias = tuple[str, _Reason, str]
"""Status, reason and message of a condition."""


class Condition(NamedTuple):
    """Hold a condition as the API has it; *status* is ``True``, ``False`` or ``Unknown``."""

    type: str
    status: str
    reason: _Reason
    message: str


class Wish(NamedTuple):
    """Hold what one pod asks one node for, and the labels that the node must have.

    *is_least*: it may ask for more.
    """

    resource: str
    amount: Fraction
    labels: frozenset[tuple[str, str]]
    is_least: bool = False

    def search(self) -> Search:
        """Begin to look for a node."""
        return Search(self.resource, self.amount, self.labels)

    def __str__(self) -> str:
        least = "at least " if self.is_least else ""
        return f"{least}{format_quantity(self.amount)} {self.resource}"


class NetworksSeen(NamedTuple):
    """Hold the networks of the cluster, None where they cannot be read, with the *problem*."""

    definitions: Definitions | None
    problem: str = ""
    is_installed: bool = True


class ClaimsSeen(NamedTuple):
    """Hold the names of the DeviceClasses, and what the API server says of refused templates.

    *refused*: by the template's name. *is_served*: the cluster has claims (DRA). *problem*: why
    that is not known.
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
    """Hold what a profile needs of the cluster: its networks, and what its pods wish of a node.

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
        return found  # its condition says that it cannot be used
    return found | {each.name for each in default.elements}


def examine_profile(
    profile: Profile, settings: ClusterSettings, namespaces: Sequence[str], definitions: Definitions
) -> Examined:
    """Look for the networks from the *namespaces* that use the profile, and sum up its devices."""
    looks = [
        look_at_network(profile, network, settings.multus, namespaces, definitions)
        for network in dict.fromkeys(wanted(profile))
    ]
    alone = Profiles(multus=settings.multus, profiles={profile.name: profile})
    wishes: list[Wish] = []
    for demand in find_demands(alone, {profile.name: namespaces or (NOWHERE,)}, definitions):
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
    """Return all conditions of a profile, Ready first; *examined* is of its content."""
    verdicts: dict[str, _Verdict] = {}
    if content.profile is None:
        reason = ConditionReason.CONTENT_REFUSED
        faults = printable(content.problem, _MOST_MESSAGE - 100)  # the advice needs room
        advice = "correct it: until then a webhook keeps the last one that it could use"
        unknown = "Unknown", reason, "not looked for, since the profile's content is not known"
        ready: _Verdict = "False", reason, f"{faults}; {advice}"
        verdicts = {NETWORKS_FOUND: unknown, DEVICES_OFFERED: unknown}
    else:
        verdicts[NETWORKS_FOUND] = _networks_found(examined, networks)
        if content.profile.claims:
            verdicts[CLAIMS_USABLE] = _claims_usable(content.profile, claims)
        verdicts[DEVICES_OFFERED] = _devices_offered(examined, networks, nodes)
        wrong = [verdict for verdict in verdicts.values() if verdict[0] == "False"]
        usable = "True", ConditionReason.USABLE, "its content can be used"
        ready = _labels_taken(examined.same_labels) or (wrong[0] if wrong else usable)
    return [
        Condition(kind, status, reason, printable(message, _MOST_MESSAGE))
        for kind, (status, reason, message) in {READY: ready, **verdicts}.items()
    ]


def _labels_taken(owner: str) -> _Verdict | None:
    advice = "has the same, and pods that carry them take that one; change one of the two"
    message = f"spec.podLabels: {owner} {advice}"
    return ("False", ConditionReason.POD_LABELS_TAKEN, message) if owner else None


def _networks_found(examined: Examined, networks: NetworksSeen) -> _Verdict:
    kind = "NetworkAttachmentDefinitions"
    if not examined.looks:
        return "True", ConditionReason.NONE_NAMED, "the profile names no network"
    if networks.definitions is None:
        return "Unknown", ConditionReason.NOT_READ, f"{kind} cannot be read: {networks.problem}"
    if not networks.is_installed:
        none = "so that none of the profile's networks exists; install Multus"
        return "False", ConditionReason.MULTUS_MISSING, f"{kind} are not installed, {none}"
    faults = [(look, *fault) for look in examined.looks for fault in look.faults.items()]
    if faults:
        met = {fault.obstacle for _, fault, _ in faults}
        first = next(one for one in Obstacle if one in met)
        advice = "; create it, or correct the profile" if first is Obstacle.MISSING else ""
        return "False", first, listed((_fault(*each) for each in faults), _MOST_TOLD, "; ") + advice
    if unused := [look.title for look in examined.looks if look.is_unused]:
        nowhere = "looked for in each namespace that names the profile, and none does"
        return "Unknown", ConditionReason.NO_NAMESPACE, f"{listed(unused, _MOST_TOLD)}: {nowhere}"
    shown = listed((look.title for look in examined.looks), _MOST_TOLD)
    return "True", ConditionReason.ALL_FOUND, f"found: {shown}"


def _fault(look: NetworkLook, fault: NetworkFault, namespaces: Sequence[str]) -> str:
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    text = f"{look.title} {fault.message}"
    if where:
        text += f" (for pods of {listed(where, _MOST_TOLD)})"
    return f"{text}; {fault.action}" if fault.action else text


def _claims_usable(profile: Profile, claims: ClaimsSeen) -> _Verdict:
    classes = {each.device_class_name for claim in profile.claims for each in claim.requests}
    if claims.problem:
        message = f"DeviceClasses cannot be read: {claims.problem}"
        return "Unknown", ConditionReason.NOT_READ, message
    if not claims.is_served:
        return "False", ConditionReason.CLAIMS_UNSERVED, CLAIMS_UNSERVED
    if missing := sorted(classes - claims.classes):
        verb = "does" if len(missing) == 1 else "do"
        advice = f"{verb} not exist; install the driver, or correct the profile"
        message = f"DeviceClass {listed(missing, _MOST_TOLD)} {advice}"
        return "False", ConditionReason.DEVICE_CLASS_MISSING, message
    refused = [
        f"claim {claim.name} is refused by the API server: {claims.refused[name]}"
        for claim in profile.claims
        if (name := template_name(claim)) in claims.refused
    ]
    if refused:
        return "False", ConditionReason.CLAIM_REFUSED, listed(refused, _MOST_TOLD, "; ")
    shown = listed(sorted(classes), _MOST_TOLD)
    return "True", ConditionReason.ALL_FOUND, f"DeviceClass {shown}"


def _devices_offered(examined: Examined, networks: NetworksSeen, nodes: NodesSeen) -> _Verdict:
    wrong: list[tuple[_Reason, str]] = []
    unknown: list[tuple[_Reason, str]] = []
    for wish in examined.wishes:
        supply = nodes.supplies.get(wish)
        if supply is None:
            unknown.append((ConditionReason.NOT_READ, f"nodes cannot be read: {nodes.problem}"))
        elif supply.uncounted:
            by = f"{supply.given or 'a DeviceClass'} may give it by claim (DRA)"
            message = f"no node offers {wish}, but {by}: {supply.uncounted}"
            unknown.append((ConditionReason.DEVICE_CLASS_OFFERS, message))
        elif supply.shortage is not None:
            wrong.append((supply.shortage, _shortage(wish, supply)))
    unknown += _unknown_devices(examined, networks)
    for status, told in (("False", wrong), ("Unknown", unknown)):
        if told:
            messages = listed(dict.fromkeys(message for _, message in told), _MOST_TOLD, "; ")
            return status, told[0][0], messages
    if not examined.wishes:
        message = "neither the profile nor its networks name a resource; check looks at claims"
        return "True", ConditionReason.NONE_NAMED, message
    shown = listed(map(str, examined.wishes), _MOST_TOLD)
    return "True", ConditionReason.ALL_OFFERED, f"a node offers what a pod takes: {shown}"


def _shortage(wish: Wish, supply: Supply) -> str:
    """Say it without the number of nodes, which changes while nothing else does."""
    if supply.shortage is Shortage.TOO_SMALL:
        return f"a pod takes {wish}, and {supply.message}"
    if supply.shortage is Shortage.UNLABELLED:
        labels = ",".join(f"{key}={value}" for key, value in sorted(wish.labels))
        advice = "label the nodes, or correct the node selector"
        return f"a pod takes {wish}, and no node that offers it has {labels}: {advice}"
    advice = "look at its device plugin, or correct the name"
    return f"a pod takes {wish}, and no node offers {wish.resource}: {advice}"


def _unknown_devices(
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


def next_status(
    before: Any,
    conditions: Sequence[Condition],
    content: Content,
    generation: int,
    namespaces: int,
    now: str,
) -> Object | None:
    """Return the status that is to replace *before*, None where that says the same.

    ``lastTransitionTime`` stays where the status of a condition does. ``networks`` has the first
    few, for the table that ``kubectl get`` prints.
    """
    old: Object = before if isinstance(before, dict) else {}
    former = old.get("conditions")
    known = [each for each in former if isinstance(each, dict)] if isinstance(former, list) else []
    since = {
        (str(each.get("type")), str(each.get("status"))): each.get("lastTransitionTime")
        for each in known
    }
    made = [
        {
            "type": condition.type,
            "status": condition.status,
            "observedGeneration": generation,
            "lastTransitionTime": since.get((condition.type, condition.status)) or now,
            "reason": str(condition.reason),
            "message": condition.message,
        }
        for condition in conditions
    ]
    named = content.profile.networks if content.profile is not None else ()
    status: Object = {
        "observedGeneration": generation,
        "namespaces": namespaces,
        "networks": listed(map(str, named), _MOST_TOLD),
        "conditions": made,
    }
    return None if all(old.get(key) == value for key, value in status.items()) else status
