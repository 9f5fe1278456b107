"""Look for the networks of the profiles, in each namespace that they are to be found from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.finding import Finding
from webhook.core.model import NetworkDefinition, Reason
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile, ProfileNetwork, Profiles
from webhook.diagnose.check.demand import NOWHERE, attach, places, wanted
from webhook.diagnose.wording import listed

TOPIC = "networks"

Definitions = Mapping[tuple[str, str], NetworkDefinition]


def check_networks(
    profiles: Profiles, users: Mapping[str, Sequence[str]], definitions: Definitions
) -> Iterator[Finding]:
    """Say of each network of each profile whether pods can be attached to it; *users* as `profile_users` gives them."""
    for profile in profiles.profiles.values():
        attached: list[Attachment] = []
        broken = False
        for network in dict.fromkeys(wanted(profile)):
            findings, found = _look(profiles, profile, network, users.get(profile.name, ()), definitions)
            broken = broken or any(finding.level == "fail" for finding in findings)
            attached += found
            yield from findings
        yield from _addresses(profile, attached, broken=broken)


def _look(
    profiles: Profiles,
    profile: Profile,
    network: ProfileNetwork | None,
    namespaces: Sequence[str],
    definitions: Definitions,
) -> tuple[list[Finding], list[Attachment]]:
    subject = f"profile {profile.name}: network {network}"
    if network is None:
        subject = f"profile {profile.name}: default network {profile.annotations[names.DEFAULT_NETWORK]}"
    elif network.namespace is None and not namespaces:
        message = "is looked for in each namespace that uses the profile; none does yet"
        return [Finding("ok", TOPIC, subject, message)], []
    faults: dict[tuple[str, str], list[str]] = {}
    attached: list[Attachment] = []
    for namespace in places(network, profiles.multus, namespaces):
        try:
            found = attach(
                profile, network, profiles.multus, namespace, lambda space, name: definitions.get((space, name))
            )
        except Denied as denied:
            key = None if network is None else (network.namespace or namespace, network.name)
            definition = definitions.get(key) if key else None
            faults.setdefault(_fault(denied, profiles, definition), []).append(namespace)
        else:
            attached += found
    if faults:
        is_same_for_all = network is None or (network.namespace is not None and not profiles.multus.namespace_isolation)
        told = {fault: () if is_same_for_all else tuple(where) for fault, where in faults.items()}
        return [_failure(subject, fault, where) for fault, where in told.items()], attached
    if network is None:
        return [Finding("ok", TOPIC, subject, "exists")], []  # ranks do not meet on it, and it needs no device
    return [_fitting(profile, subject, attached)], attached


def _fault(denied: Denied, profiles: Profiles, definition: NetworkDefinition | None) -> tuple[str, str]:
    """Say what is wrong, and what to do, in words that hold for every namespace."""
    match denied.reason:
        case Reason.NETWORK_ABSENT:
            return "does not exist", "create the NetworkAttachmentDefinition, or correct the name"
        case Reason.NETWORK_ISOLATED:
            usable = listed(profiles.multus.global_namespaces) or "none"
            return (
                "is in another namespace than the pods, which multus.namespaceIsolation forbids",
                f"move it to one of multus.globalNamespaces ({usable}) or to the pods' own, or correct both settings",
            )
        case Reason.BAD_RESOURCE if definition is not None:
            return (
                f"has an {definition.problem or definition.resource_problem}",
                "correct the NetworkAttachmentDefinition",
            )
        case _:
            return denied.message.removeprefix("pod *: "), "correct the profile, or the network"


def _failure(subject: str, fault: tuple[str, str], namespaces: Sequence[str]) -> Finding:
    message, action = fault
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    return Finding("fail", TOPIC, subject, f"{message} (for pods of {listed(where)})" if where else message, action)


def _fitting(profile: Profile, subject: str, attached: Sequence[Attachment]) -> Finding:
    resources = dict.fromkeys(f"{name} x{count}" for each in attached for name, count in each.resources)
    if resources or profile.resources:
        told = f"asks for {listed(resources)}" if resources else f"the profile asks for {listed(profile.resources)}"
        return Finding("ok", TOPIC, subject, f"exists; {told}")
    message = "exists, but neither it nor the profile names a device: pods get an interface without RDMA"
    action = "write resource: beside the network in the profile, unless the network is for IP alone"
    return Finding("warn", TOPIC, subject, message, action)


def _addresses(profile: Profile, attached: Sequence[Attachment], *, broken: bool) -> Iterator[Finding]:
    """Warn where the ranks cannot meet on a network, for none gives addresses."""
    if not profile.rendezvous.enabled or broken or not attached:
        return
    wanted = profile.rendezvous.network
    usable = [each for each in attached if wanted is None or each.network.name == wanted.name]
    if not any(each.network.has_ipam for each in usable):
        named = f"its rendezvous network {wanted}" if wanted else "none of its networks"
        message = f"{named} {'gives no' if wanted else 'gives'} addresses (no ipam): ranks meet on the pod network"
        action = "give the network's configuration an ipam, or write rendezvous: {enabled: false} in the profile"
        yield Finding("warn", TOPIC, f"profile {profile.name}", message, action)
