"""Look for the networks of the profiles, in each namespace that they are to be found from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.core.addresses import DEFAULT, choose_alone, source_named
from webhook.core.cluster.demand import NOWHERE, Definitions, wanted
from webhook.core.cluster.networks import NetworkFault, Obstacle, look_at_network
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile, ProfileNetwork, Profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import listed

_CODES: Mapping[Obstacle, Code] = {
    Obstacle.MISSING: Code.NETWORK_MISSING,
    Obstacle.ISOLATED: Code.NETWORK_ISOLATED,
    Obstacle.UNUSABLE: Code.NETWORK_UNUSABLE,
}


def check_networks(
    profiles: Profiles, users: Mapping[str, Sequence[str]], definitions: Definitions
) -> Iterator[Finding]:
    """Say of each network of each profile whether pods can be attached to it; *users* as `profile_users` gives them."""
    for profile in profiles.profiles.values():
        attached: list[Attachment] = []
        broken = False
        for network in dict.fromkeys(wanted(profile)):
            findings, found = _look(
                profiles, profile, network, users.get(profile.name, ()), definitions
            )
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
) -> tuple[list[Finding], Sequence[Attachment]]:
    look = look_at_network(profile, network, profiles.multus, namespaces, definitions)
    subject = f"profile {profile.name}: {look.title}"
    if look.is_unused:
        message = "is looked for in each namespace that uses the profile; none does yet"
        return [Finding("ok", Code.NETWORK_UNUSED, subject, message)], ()
    if look.faults:
        return [
            _failure(subject, fault, where) for fault, where in look.faults.items()
        ], look.attached
    if network is None:
        # ranks do not meet on it, and it needs no device
        return [Finding("ok", Code.NETWORK_EXISTS, subject, "exists")], ()
    return [_fitting(profile, subject, look.attached)], look.attached


def _failure(subject: str, fault: NetworkFault, namespaces: Sequence[str]) -> Finding:
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    message = f"{fault.message} (for pods of {listed(where)})" if where else fault.message
    return Finding("fail", _CODES[fault.obstacle], subject, message, fault.action)


def _fitting(profile: Profile, subject: str, attached: Sequence[Attachment]) -> Finding:
    resources = dict.fromkeys(
        f"{name} x{count}" for each in attached for name, count in each.resources
    )
    named = [*profile.resources, *(each.resource for each in profile.quantities)]
    if resources or named:
        told = (
            f"asks for {listed(resources)}"
            if resources
            else f"the profile asks for {listed(named)}"
        )
        return Finding("ok", Code.NETWORK_EXISTS, subject, f"exists; {told}")
    message = (
        "exists, but neither it nor the profile names a device: pods get an interface without RDMA"
    )
    return Finding("warn", Code.NETWORK_WITHOUT_DEVICE, subject, message)


def _addresses(
    profile: Profile, attached: Sequence[Attachment], *, broken: bool
) -> Iterator[Finding]:
    """Warn where the ranks cannot meet on a network, for none gives addresses."""
    if (
        not profile.rendezvous.enabled
        or profile.rendezvous.address_source != DEFAULT
        or broken
        or not attached
    ):
        return
    wanted = profile.rendezvous.network
    usable = [each for each in attached if wanted is None or each.network.name == wanted.name]
    if not any(each.network.has_ipam for each in usable):
        named = f"its rendezvous network {wanted}" if wanted else "none of its networks"
        message = f"{named} {'gives no' if wanted else 'gives'} addresses (no ipam): ranks meet on the pod network"
        yield Finding("warn", Code.NETWORK_WITHOUT_ADDRESSES, f"profile {profile.name}", message)


def check_sources(profiles: Profiles) -> Iterator[Finding]:
    """Look at the profiles that ask another source than Multus for networks: can one of these give the ranks an address?"""
    for profile in profiles.profiles.values():
        choice = choose_alone(profile)
        if choice is None:
            continue
        network, subject = choice.network, f"profile {profile.name}"
        if network is None:
            action = (
                "correct the annotation in the profile, or write rendezvous: {addressSource: none}"
            )
            message = f"{choice.problem}: ranks meet on the pod network"
            yield Finding("warn", Code.NETWORK_WITHOUT_ADDRESSES, subject, message, action)
        else:
            writer = source_named(profile.rendezvous.address_source).WORDS.writer
            message = f"its ranks meet on {network.interface} of network {network.key}, which {writer} makes"
            yield Finding("ok", Code.RANKS_MEET, subject, message)
