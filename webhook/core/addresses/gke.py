"""GKE's multi-network pods: they ask for interfaces by annotation, and GKE writes the addresses.

GKE writes ``networking.gke.io/pod-ips`` once, while it makes the pod's sandbox. It has an entry for
each address of each interface outside the default network, in the order asked for. It is ``null``
where there is none; a device without an address, as for DPDK, has an empty one. No entry names the
interface. Without a default-interface that is one of the interfaces, GKE makes none and the sandbox
fails. Source: GoogleCloudPlatform/gke-networking-api apis/network/v1/annotations.go (InterfaceRef,
PodIP) and IsDefaultNetwork beside it; the agent of GKE Dataplane V2: createMultiNICEndpoints,
fetchMultiNICAnnotation, buildPodAnnotation.
"""

from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.addresses.source import Choice, Source, Words
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks
from webhook.core.networks.status import (
    MAX_ADDRESSES,
    Secondary,
    Wanted,
    choose_address,
    parse_objects,
    told_once,
)
from webhook.core.profiles import Profile

WORDS = Words(
    asked=names.GKE_INTERFACES,
    told=names.GKE_POD_IPS,
    writer="GKE",
    look="look at the Network and its GKENetworkParamSet, "
    "and at the log of anetd on the pod's node",
    no_interface=(
        Reason.NO_ADDRESS,
        f"annotation {names.GKE_INTERFACES} asks for no interface whose address GKE tells",
    ),
)
MAX_INTERFACES = 64
_DEFAULT_NETWORKS = ("default", "pod-network")
"""The cluster network, by its present and its former name."""


class InterfaceRef(NamedTuple):
    """Hold one interface that is asked for: its *name* in the pod, and the *network*.

    *network*: empty where it names a NetworkInterface.
    """

    name: str
    network: str

    def is_told(self, listed: list["InterfaceRef"]) -> bool:
        """Tell whether its address can be found beside those of all that are *listed*.

        pod-ips names networks, and neither interfaces nor NetworkInterfaces.
        """
        return (
            self.network != ""
            and self.name not in names.INTERFACES_OF_EVERY_POD
            and [each.name for each in listed].count(self.name) == 1
            and [each.network for each in listed].count(self.network) == 1
        )


def choose(pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
    """Choose the interface of the profile's network, else the first not of the default network."""
    texts = {**profile.annotations, **podspec.annotations(pod)}
    asked = f"annotation {names.GKE_INTERFACES}"
    text = texts.get(names.GKE_INTERFACES) or ""
    if not text:
        problem = f"has {asked}, by which GKE makes interfaces"
        return Choice(problem=f"neither the pod nor profile {profile.name} {problem}")
    try:
        listed = _read_interfaces(text)
    except ValueError as error:
        return Choice(problem=f"{asked} is not a list of interfaces ({error})")
    if texts.get(names.GKE_DEFAULT_INTERFACE) not in [each.name for each in listed]:
        problem = "names none of the interfaces, so that GKE makes none of them"
        return Choice(problem=f"annotation {names.GKE_DEFAULT_INTERFACE} {problem}")
    second = [each for each in listed if each.network not in _DEFAULT_NETWORKS]
    there = [each.name for each in second]
    interfaces = tuple([name for name in there if name not in names.INTERFACES_OF_EVERY_POD])
    named = profile.rendezvous.network
    if named is None:
        candidates, problem = second, f"{asked} asks for no network but the default one"
    else:
        problem = f"profile {profile.name} meets on network {named}, which {asked} does not ask for"
        candidates = [
            each
            for each in second
            if (None, each.network) == (named.namespace, named.name)
            and named.interface in (None, each.name)
        ]
    chosen = next((each for each in candidates if each.is_told(listed)), None)
    if chosen is not None:
        network = Attachment(NetworkDefinition("", chosen.network), chosen.name)
        return Choice(network, interfaces=interfaces)
    if candidates:
        problem = f"{asked} must ask for a network once, by an interface of its own"
    return Choice(problem=problem, interfaces=interfaces)


def _read_interfaces(text: str) -> list[InterfaceRef]:
    """Read the annotation by which a pod asks for interfaces.

    Raises ValueError for what GKE cannot read.
    """
    found = []
    entries = _parse(text)
    if len(entries) > MAX_INTERFACES:
        raise ValueError(f"{len(entries)} interfaces, and at most {MAX_INTERFACES} are read")
    for entry in entries:
        name, network, interface = map(entry.get, ("interfaceName", "network", "interface"))
        if not isinstance(name, str) or not name:
            raise ValueError("an interfaceName is missing")
        if not isinstance(network or interface, str) or (network and interface):
            raise ValueError(f"interface {name[:40]!r} names not one network")
        found.append(InterfaceRef(name, network or ""))
    return found


def secondary(told: str, wanted: Wanted) -> Secondary:
    """Find the address of the wanted network; never one that is also of the default network."""
    try:
        entries = _parse(told)
    except ValueError as error:
        return Secondary(problem=f"is not a list of addresses ({error})")
    if wanted.name in _DEFAULT_NETWORKS:
        return Secondary(problem=f"{wanted.name} is the cluster network, which is no secondary one")
    of_cluster = [
        entry.get("ip") for entry in entries if entry.get("networkName") in _DEFAULT_NETWORKS
    ]
    named = [entry.get("ip") for entry in entries if entry.get("networkName") == wanted.name]
    listed = [ip for ip in named[:MAX_ADDRESSES] if ip not in ("", None) and ip not in of_cluster]
    problems: list[str] = []
    found = choose_address(listed, wanted.family, problems)
    if found is not None:
        return Secondary(str(found))
    if named and not listed:
        problems.append(
            "holds no address of its own: a device that GKE hands over without one has none"
        )
    return Secondary(problem=told_once(problems))


SOURCE = Source(WORDS, choose, secondary)


def _parse(text: str) -> list[Object]:
    """Read a list, which Go writes as null where it has no elements."""
    return [] if text.strip() == "null" else parse_objects(text)
