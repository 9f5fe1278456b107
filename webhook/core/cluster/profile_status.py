"""Decide the status of a FabricProfile: from its content, its networks and its claims."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.claim_templates import CLAIMS_UNSERVED, template_name
from webhook.core.cluster.demand import NOWHERE, Definitions, wanted
from webhook.core.cluster.networks import NetworkFault, NetworkLook, Obstacle, look_at_network
from webhook.core.model import Object
from webhook.core.networks import parse_networks
from webhook.core.printable import printable
from webhook.core.profiles import ClusterSettings, Content, Profile, ProfileObject
from webhook.core.wording import listed

READY, NETWORKS_FOUND, CLAIMS_USABLE = "Ready", "NetworksFound", "ClaimsUsable"
_MOST_MESSAGE = 1024
_MOST_TOLD = 3


class ConditionReason(StrEnum):
    """Name what a condition rests on, beside Obstacle; programs read it."""

    USABLE = "Usable"
    ALL_FOUND = "AllFound"
    NONE_NAMED = "NoneNamed"
    NO_NAMESPACE = "NoNamespace"
    CONTENT_REFUSED = "ContentRefused"
    NOT_READ = "NotRead"
    POD_LABELS_TAKEN = "PodLabelsTaken"
    MULTUS_MISSING = "MultusMissing"
    CLAIMS_UNSERVED = "ClaimsUnserved"
    DEVICE_CLASS_MISSING = "DeviceClassMissing"
    CLAIM_REFUSED = "ClaimRefused"


_Reason: TypeAlias = ConditionReason | Obstacle
_Verdict: TypeAlias = tuple[str, _Reason, str]
"""Status, reason and message of a condition."""


class Condition(NamedTuple):
    """Hold a condition as the API has it; *status* is ``True``, ``False`` or ``Unknown``."""

    type: str
    status: str
    reason: _Reason
    message: str


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


def network_names(profile: Profile) -> set[str]:
    """Return the names, without their namespaces, of the networks that must be looked for."""
    found = {network.network.name for network in profile.networks}
    try:
        default = parse_networks(profile.annotations.get(names.DEFAULT_NETWORK, ""), "x")
    except ValueError:
        return found  # its condition says that it cannot be used
    return found | {each.name for each in default.elements}


def look_at_networks(
    profile: Profile, settings: ClusterSettings, namespaces: Sequence[str], definitions: Definitions
) -> list[NetworkLook]:
    """Look for the profile's networks from the *namespaces* that use it."""
    return [
        look_at_network(profile, network, settings.multus, namespaces, definitions)
        for network in dict.fromkeys(wanted(profile))
    ]


def conditions_of(
    content: Content,
    looks: Sequence[NetworkLook],
    networks: NetworksSeen,
    claims: ClaimsSeen,
    same_labels: str = "",
) -> list[Condition]:
    """Return all conditions of a profile, Ready first.

    *looks*: at the networks of its content. *same_labels*: the profile whose podLabels are the
    same, and count.
    """
    verdicts: dict[str, _Verdict] = {}
    if content.profile is None:
        reason = ConditionReason.CONTENT_REFUSED
        faults = printable(content.problem, _MOST_MESSAGE - 100)  # the advice needs room
        advice = "correct it: until then a webhook keeps the last one that it could use"
        unknown = "not looked for, since the profile's content is not known"
        ready: _Verdict = "False", reason, f"{faults}; {advice}"
        verdicts[NETWORKS_FOUND] = "Unknown", reason, unknown
    else:
        verdicts[NETWORKS_FOUND] = _networks_found(looks, networks)
        if content.profile.claims:
            verdicts[CLAIMS_USABLE] = _claims_usable(content.profile, claims)
        wrong = [verdict for verdict in verdicts.values() if verdict[0] == "False"]
        usable = "True", ConditionReason.USABLE, "its content can be used"
        ready = wrong[0] if wrong else usable
        if same_labels:
            advice = "has the same, and pods that carry them take that one; change one of the two"
            message = f"spec.podLabels: {same_labels} {advice}"
            ready = "False", ConditionReason.POD_LABELS_TAKEN, message
    return [
        Condition(kind, status, reason, printable(message, _MOST_MESSAGE))
        for kind, (status, reason, message) in {READY: ready, **verdicts}.items()
    ]


def _networks_found(looks: Sequence[NetworkLook], networks: NetworksSeen) -> _Verdict:
    kind = "NetworkAttachmentDefinitions"
    if not looks:
        return "True", ConditionReason.NONE_NAMED, "the profile names no network"
    if networks.definitions is None:
        return "Unknown", ConditionReason.NOT_READ, f"{kind} cannot be read: {networks.problem}"
    if not networks.is_installed:
        none = "so that none of the profile's networks exists; install Multus"
        return "False", ConditionReason.MULTUS_MISSING, f"{kind} are not installed, {none}"
    faults = [(look, *fault) for look in looks for fault in look.faults.items()]
    if faults:
        met = {fault.obstacle for _, fault, _ in faults}
        first = next(one for one in Obstacle if one in met)
        advice = "; create it, or correct the profile" if first is Obstacle.MISSING else ""
        return "False", first, listed((_fault(*each) for each in faults), _MOST_TOLD, "; ") + advice
    if unused := [look.title for look in looks if look.is_unused]:
        nowhere = "looked for in each namespace that names the profile, and none does"
        return "Unknown", ConditionReason.NO_NAMESPACE, f"{listed(unused, _MOST_TOLD)}: {nowhere}"
    shown = listed((look.title for look in looks), _MOST_TOLD)
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
    if not classes:
        message = "no claim names a DeviceClass; check looks for the templates that they name"
        return "True", ConditionReason.NONE_NAMED, message
    shown = listed(sorted(classes), _MOST_TOLD)
    return "True", ConditionReason.ALL_FOUND, f"DeviceClass {shown}"


def next_status(
    obj: ProfileObject, conditions: Sequence[Condition], namespaces: int, now: str
) -> Object | None:
    """Return the status that is to replace the object's, None where that says the same.

    ``lastTransitionTime`` stays where the status of a condition does. ``networks`` has the first
    few, for the table that ``kubectl get`` prints.
    """
    since = {
        (each["type"], each.get("status")): each.get("lastTransitionTime")
        for each in obj.conditions
    }
    made = [
        {
            **condition._asdict(),
            "observedGeneration": obj.generation,
            "lastTransitionTime": since.get((condition.type, condition.status)) or now,
        }
        for condition in conditions
    ]
    profile = obj.content.profile
    status: Object = {
        "observedGeneration": obj.generation,
        "namespaces": namespaces,
        "networks": listed(map(str, profile.networks if profile is not None else ()), _MOST_TOLD),
        "conditions": made,
    }
    return None if status.items() <= obj.status.items() else status
