"""Look for the networks of the profiles, in each namespace that they are to be found from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import NetworkDefinition, Reason
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile, ProfileNetwork, Profiles
from webhook.diagnose.check.demand import NOWHERE, attach, places, wanted
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import listed

Definitions = Mapping[tuple[str, str], NetworkDefinition]


class _NetworkFault(NamedTuple):
    """Say what is wrong with a network, in words that hold for every namespace."""

    code: Code
    message: str
    action: str | None = None


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
        return [Finding("ok", Code.NETWORK_UNUSED, subject, message)], []
    faults: dict[_NetworkFault, list[str]] = {}
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
        return [
            Finding("ok", Code.NETWORK_EXISTS, subject, "exists")
        ], []  # ranks do not meet on it, and it needs no device
    return [_fitting(profile, subject, attached)], attached


def _fault(denied: Denied, profiles: Profiles, definition: NetworkDefinition | None) -> _NetworkFault:
    match denied.reason:
        case Reason.NETWORK_ABSENT:
            return _NetworkFault(Code.NETWORK_MISSING, "does not exist")
        case Reason.NETWORK_ISOLATED:
            usable = listed(profiles.multus.global_namespaces) or "none"
            message = "is in another namespace than the pods, which multus.namespaceIsolation forbids"
            action = (
                f"move it to one of multus.globalNamespaces ({usable}) or to the pods' own, or correct both settings"
            )
            return _NetworkFault(Code.NETWORK_ISOLATED, message, action)
        case Reason.BAD_RESOURCE if definition is not None:
            message = f"has an {definition.problem or definition.resource_problem}"
            return _NetworkFault(Code.NETWORK_UNUSABLE, message, "correct the NetworkAttachmentDefinition")
        case _:
            return _NetworkFault(Code.NETWORK_UNUSABLE, denied.message.removeprefix("pod *: "))


def _failure(subject: str, fault: _NetworkFault, namespaces: Sequence[str]) -> Finding:
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    message = f"{fault.message} (for pods of {listed(where)})" if where else fault.message
    return Finding("fail", fault.code, subject, message, fault.action)


def _fitting(profile: Profile, subject: str, attached: Sequence[Attachment]) -> Finding:
    resources = dict.fromkeys(f"{name} x{count}" for each in attached for name, count in each.resources)
    if resources or profile.resources:
        told = f"asks for {listed(resources)}" if resources else f"the profile asks for {listed(profile.resources)}"
        return Finding("ok", Code.NETWORK_EXISTS, subject, f"exists; {told}")
    message = "exists, but neither it nor the profile names a device: pods get an interface without RDMA"
    return Finding("warn", Code.NETWORK_WITHOUT_DEVICE, subject, message)


def _addresses(profile: Profile, attached: Sequence[Attachment], *, broken: bool) -> Iterator[Finding]:
    """Warn where the ranks cannot meet on a network, for none gives addresses."""
    if not profile.rendezvous.enabled or broken or not attached:
        return
    wanted = profile.rendezvous.network
    usable = [each for each in attached if wanted is None or each.network.name == wanted.name]
    if not any(each.network.has_ipam for each in usable):
        named = f"its rendezvous network {wanted}" if wanted else "none of its networks"
        message = f"{named} {'gives no' if wanted else 'gives'} addresses (no ipam): ranks meet on the pod network"
        yield Finding("warn", Code.NETWORK_WITHOUT_ADDRESSES, f"profile {profile.name}", message)
