"""Look for the networks of the profiles, in each namespace that they are to be found from."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.core.addresses import DEFAULT, choose_alone, source_named
from webhook.core.cluster.demand import NOWHERE, wanted
from webhook.core.cluster.networks import NetworkFault, NetworkLook, Obstacle, look_at_network
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile
from webhook.diagnose.check.needs import definitions, known_profiles, knows_networks, users
from webhook.diagnose.common import NETWORK_MISSING
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import listed

NETWORK_ISOLATED = Code(
    "network-isolated",
    "networks",
    "The network is in another namespace than the pods, and Multus isolates namespaces.",
    "move it to one of multus.globalNamespaces or to the pods' own namespace",
)
NETWORK_UNUSABLE = Code(
    "network-unusable",
    "networks",
    "Pods of the profile cannot be attached to the network.",
    "correct the profile, or the network",
)
NETWORK_WITHOUT_DEVICE = Code(
    "network-without-device",
    "networks",
    "Neither the network nor the profile names a device: pods get an interface without RDMA.",
    "write resource: beside the network in the profile, unless the network is only for IP",
)
NETWORK_WITHOUT_ADDRESSES = Code(
    "network-without-addresses",
    "networks",
    "The network gives no addresses, so the ranks meet on the pod network.",
    "give the network's configuration an ipam, or write rendezvous: {enabled: false}",
)
_CODES: Mapping[Obstacle, Code] = {
    Obstacle.MISSING: NETWORK_MISSING,
    Obstacle.ISOLATED: NETWORK_ISOLATED,
    Obstacle.UNUSABLE: NETWORK_UNUSABLE,
}


def check_networks(snapshot: Snapshot) -> Iterator[Finding]:
    """Say of each network of each profile whether pods can be attached to it."""
    profiles = known_profiles(snapshot)
    if not profiles.profiles or not knows_networks(snapshot):
        return
    networks, spaces = definitions(snapshot), users(snapshot)
    for profile in profiles.profiles.values():
        attached: list[Attachment] = []
        is_broken = False
        for network in dict.fromkeys(wanted(profile)):
            where = spaces.get(profile.name, ())
            look = look_at_network(profile, network, profiles.multus, where, networks)
            yield from _of_look(profile, look)
            is_broken = is_broken or bool(look.faults)
            attached += look.attached
        if attached and not is_broken:
            yield from _addresses(profile, attached)


def _of_look(profile: Profile, look: NetworkLook) -> Iterator[Finding]:
    subject = f"profile {profile.name}: {look.title}"
    for fault, namespaces in look.faults.items():
        yield _failure(subject, fault, namespaces)
    if look.faults:
        return
    if look.is_unused:
        message = "is looked for in each namespace that uses the profile; none does yet"
        yield ok("networks", subject, message)
    elif look.network is None or _asks_for_device(profile, look.attached):
        yield ok("networks", subject, "exists")
    else:
        message = "exists, and neither it nor the profile names a device: no pod gets RDMA by it"
        yield NETWORK_WITHOUT_DEVICE.warn(subject, message)


def _failure(subject: str, fault: NetworkFault, namespaces: Sequence[str]) -> Finding:
    where = [namespace for namespace in namespaces if namespace != NOWHERE]
    message = f"{fault.message} (for pods of {listed(where)})" if where else fault.message
    return _CODES[fault.obstacle].fail(subject, message, fault.action)


def _asks_for_device(profile: Profile, attached: Sequence[Attachment]) -> bool:
    by_network = any(each.resources for each in attached)
    return by_network or bool(profile.resources or profile.quantities)


def _addresses(profile: Profile, attached: Sequence[Attachment]) -> Iterator[Finding]:
    """Warn where the ranks cannot meet on a network, since none gives addresses."""
    meets = profile.rendezvous
    if not meets.enabled or meets.address_source != DEFAULT:
        return
    named = meets.network
    usable = [each for each in attached if named is None or each.network.name == named.name]
    if not any(each.network.has_ipam for each in usable):
        which = f"network {named} gives no" if named else "no network gives"
        message = f"{which} addresses (no ipam): ranks meet on the pod network"
        yield NETWORK_WITHOUT_ADDRESSES.warn(f"profile {profile.name}", message)


def check_sources(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether another source of addresses than Multus can give the ranks one."""
    for profile in known_profiles(snapshot).profiles.values():
        choice = choose_alone(profile)
        if choice is None:
            continue
        network, subject = choice.network, f"profile {profile.name}"
        if network is None:
            action = "correct the profile's annotation, or write rendezvous: {addressSource: none}"
            message = f"{choice.problem}: ranks meet on the pod network"
            yield NETWORK_WITHOUT_ADDRESSES.warn(subject, message, action)
        else:
            writer = source_named(profile.rendezvous.address_source).words.writer
            where = f"{network.interface} of network {network.key}, which {writer} makes"
            yield ok("networks", subject, f"its ranks meet on {where}")
