"""Look for Multus, and for the networks of the profiles where they are to be found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from webhook.core.addresses import DEFAULT, choose_alone, source_named
from webhook.core.cluster.demand import NOWHERE, wanted
from webhook.core.cluster.networks import NetworkLook, Obstacle, look_at_network
from webhook.core.model import Object
from webhook.core.networks import Attachment
from webhook.core.profiles import Profile, Profiles
from webhook.core.wording import counted, listed
from webhook.diagnose.check.needs import definitions, known_profiles, knows_networks, users
from webhook.diagnose.common import NETWORK_MISSING
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import DAEMON_SETS

MULTUS_MISSING = Code(
    "multus/multus-missing",
    "Multus is not installed, so pods get no second network.",
    "install Multus, and see that it runs on every node with a fabric",
)
MULTUS_NOT_READY = Code(
    "multus/multus-not-ready",
    "Pods of Multus are not ready, so pods on their nodes get no second network.",
    "look at the pods of its DaemonSet",
)
NETWORK_ISOLATED = Code(
    "networks/network-isolated",
    "The network is in another namespace than the pods, and Multus isolates namespaces.",
    "move it to one of multus.globalNamespaces or to the pods' own namespace",
)
NETWORK_UNUSABLE = Code(
    "networks/network-unusable",
    "Pods of the profile cannot be attached to the network.",
    "correct the profile, or the network",
)
NETWORK_WITHOUT_DEVICE = Code(
    "networks/network-without-device",
    "Neither the network nor the profile names a device: pods get an interface without RDMA.",
    "write resource: beside the network in the profile, unless the network is only for IP",
)
NETWORK_WITHOUT_ADDRESSES = Code(
    "networks/network-without-addresses",
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
        where = [namespace for namespace in namespaces if namespace != NOWHERE]
        message = f"{fault.message} (for pods of {listed(where)})" if where else fault.message
        yield _CODES[fault.obstacle].fail(subject, message, fault.action)
    if look.faults:
        return
    by_network = any(each.resources for each in look.attached)
    has_device = by_network or profile.resources or profile.quantities
    if look.is_unused:
        message = "is looked for in each namespace that uses the profile; none does yet"
        yield ok("networks", subject, message)
    elif look.network is None or has_device:
        yield ok("networks", subject, "exists")
    else:
        message = "exists, and neither it nor the profile names a device: no pod gets RDMA by it"
        yield NETWORK_WITHOUT_DEVICE.warn(subject, message)


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


# Multus


def read_multus(obj: Object) -> tuple[str, int, int] | None:
    """Return title, pods wanted and pods ready of a DaemonSet; None for one that is not Multus."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    pod = ((obj.get("spec") or {}).get("template") or {}).get("spec") or {}
    if not any(map(_is_multus, pod.get("containers") or ())):
        return None
    title = f"DaemonSet {metadata.get('namespace') or ''}/{metadata['name']}"
    wanted, ready = (status.get(key) or 0 for key in ("desiredNumberScheduled", "numberReady"))
    return title, wanted, ready


def _is_multus(container: Object) -> bool:
    """Tell by the container's name, which OpenShift has too, or by its image."""
    image = str(container.get("image") or "").rpartition("/")[2].partition("@")[0].partition(":")[0]
    is_named = container.get("name") == "kube-multus"
    return is_named or image == "multus" or image.endswith("multus-cni")


def check_multus(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether Multus runs where a profile needs it, by a DaemonSet."""
    profiles = known_profiles(snapshot)
    asking = [each.name for each in profiles.profiles.values() if each.networks]
    if not knows_networks(snapshot):
        message = "is not installed: it has no NetworkAttachmentDefinitions"
        if asking:
            whose = f"{counted(len(asking), 'profile')} ({listed(asking)})"
            yield MULTUS_MISSING.fail("Multus", f"{message}, which {whose} need")
        elif not is_unused(profiles):
            yield MULTUS_MISSING.warn("Multus", message)
        return
    found = snapshot.list_all(DAEMON_SETS, read_multus, partly=True)
    if not found and not is_unused(profiles):
        yield MULTUS_MISSING.warn("Multus", "no DaemonSet of it was found")
    for title, number, ready in found:
        message = f"is Multus, ready on {ready} of {counted(number, 'node')}"
        is_ready = ready >= number > 0
        yield ok("multus", title, message) if is_ready else MULTUS_NOT_READY.warn(title, message)


def is_unused(profiles: Profiles) -> bool:
    """Tell whether there are profiles, and Multus attaches a network for none of them."""
    known = profiles.profiles.values()
    return bool(known) and not any(
        each.networks or (each.rendezvous.enabled and each.rendezvous.address_source == DEFAULT)
        for each in known
    )
