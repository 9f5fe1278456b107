"""GKE's multi-network pods: they ask for interfaces by annotation, and GKE writes the addresses into ``networking.gke.io/pod-ips``.

GKE writes it once, while it makes the pod's sandbox: for each interface that is not of the default network, in the order asked for, one
entry for each address; ``null`` where there is none, and an empty address for a device that has none, as for DPDK. No entry names the
interface. Without a default-interface that is one of the interfaces, GKE makes none and the sandbox fails.
Source: GoogleCloudPlatform/gke-networking-api apis/network/v1/annotations.go (InterfaceRef, PodIP) and IsDefaultNetwork beside it; the
agent of GKE Dataplane V2: createMultiNICEndpoints, fetchMultiNICAnnotation, buildPodAnnotation.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, NamedTuple

from webhook.core import names, podspec
from webhook.core.addresses.source import Choice, Words
from webhook.core.model import NetworkDefinition, Object, Reason
from webhook.core.networks import Attachment, ResolvedNetworks
from webhook.core.networks.status import (
    MAX_ADDRESSES,
    MAX_LENGTH,
    MAX_PROBLEM,
    Secondary,
    Wanted,
    choose_address,
)
from webhook.core.networks.status import parse_wanted as parse_namespaced
from webhook.core.profiles import Profile

WORDS = Words(
    asked=names.GKE_INTERFACES,
    told=names.GKE_POD_IPS,
    writer="GKE",
    attaches_nothing="where GKE makes no interface",
    look="look at the Network and its GKENetworkParamSet, and at the log of anetd on the pod's node",
    look_on_node="at anetd on {node} (namespace kube-system), and at the Network and its GKENetworkParamSet",
    unwritten="look at the pod's Events, and at anetd on its node: kubectl -n kube-system get pods -o wide",
    no_interface=(
        Reason.NO_ADDRESS,
        f"annotation {names.GKE_INTERFACES} asks for no interface whose address GKE tells",
    ),
)
MAX_INTERFACES = 64
_REMEMBERED_LENGTH = 8_192
_DEFAULT_NETWORKS = ("default", "pod-network")
"""The cluster network, by its present and its former name."""
_TAKEN = frozenset({"eth0", "lo"})
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,14}")
_NETWORK = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")


class InterfaceRef(NamedTuple):
    """Hold one interface that is asked for: its *name* in the pod and the *network*, empty where it names a NetworkInterface."""

    name: str
    network: str


def choose(pod: Object, profile: Profile, _networks: ResolvedNetworks) -> Choice:
    """Choose the interface of the network that the profile names, else the first that is not of the default network."""
    if podspec.is_host_network(pod):
        return Choice(
            None, Reason.HOST_NETWORK, f"the pod uses the node's network, {WORDS.attaches_nothing}"
        )
    texts = {**profile.annotations, **podspec.annotations(pod)}
    text, default = texts.get(names.GKE_INTERFACES) or "", texts.get(names.GKE_DEFAULT_INTERFACE)
    if not text:
        return Choice(
            problem=f"neither the pod nor profile {profile.name} has annotation {names.GKE_INTERFACES}, by which GKE makes interfaces",
        )
    try:
        listed = (
            _remembered_interfaces(text)
            if len(text) <= _REMEMBERED_LENGTH
            else read_interfaces(text)
        )
    except (ValueError, RecursionError) as error:
        return Choice(
            problem=f"annotation {names.GKE_INTERFACES} is not a list of interfaces ({error})"
        )
    if all(each.name != default for each in listed):
        return Choice(
            problem=f"annotation {names.GKE_DEFAULT_INTERFACE} names none of the interfaces, so that GKE makes none of them",
        )
    return _choose(profile, listed)


def _choose(profile: Profile, listed: tuple[InterfaceRef, ...]) -> Choice:
    named = profile.rendezvous.network
    second = [each for each in listed if each.network not in _DEFAULT_NETWORKS]
    interfaces = tuple(
        [
            each.name
            for each in second
            if each.name not in _TAKEN and _INTERFACE.fullmatch(each.name)
        ]
    )
    candidates = second
    if named is not None:
        candidates = [
            each
            for each in second
            if each.network == named.name and named.interface in (None, each.name)
        ]
        if named.namespace or not candidates:
            problem = f"profile {profile.name} meets on network {named}, which annotation {names.GKE_INTERFACES} does not ask for"
            return Choice(problem=problem, interfaces=interfaces)
    if not candidates:
        return Choice(
            problem=f"annotation {names.GKE_INTERFACES} asks for no network but the default one"
        )
    numbers = Counter([each.network for each in second])
    taken = Counter([each.name for each in listed])
    problems: dict[str, None] = {}
    for each in candidates:
        problem = _why_unfit(each, numbers, taken)
        if not problem:
            network = NetworkDefinition("", each.network, has_ipam=True)
            return Choice(Attachment(network, each.name), interfaces=interfaces)
        problems[problem] = None
    return Choice(problem="; ".join(problems)[:MAX_PROBLEM], interfaces=interfaces)


def _why_unfit(
    interface: InterfaceRef, numbers: Mapping[str, int], taken: Mapping[str, int]
) -> str:
    if not interface.network:
        return f"interface {interface.name[:40]!r} names a NetworkInterface, whose network is not told in the pod"
    if not _NETWORK.fullmatch(interface.network):
        return f"{interface.network[:40]!r} is not the name of a network"
    if interface.name in _TAKEN or taken[interface.name] > 1:
        return f"network {interface.network} asks for interface {interface.name[:40]!r}, which the pod has already"
    if not _INTERFACE.fullmatch(interface.name):
        return f"network {interface.network} asks for interface {interface.name[:40]!r}, which no node can make"
    if numbers[interface.network] > 1:
        times = numbers[interface.network]
        return f"network {interface.network} is asked for {times} times, and {names.GKE_POD_IPS} does not tell which is which"
    return ""


def read_interfaces(text: str) -> tuple[InterfaceRef, ...]:
    """Read the annotation by which a pod asks for interfaces. Raises ValueError, RecursionError for what GKE cannot read."""
    found = []
    entries = _parse(text)
    if len(entries) > MAX_INTERFACES:
        raise ValueError(f"{len(entries)} interfaces, and at most {MAX_INTERFACES} are read")
    for entry in entries:
        name, network, interface = (
            entry.get(key) for key in ("interfaceName", "network", "interface")
        )
        if not isinstance(name, str) or not name:
            raise ValueError("an interfaceName is missing")
        if not isinstance(network or interface, str) or (network and interface):
            raise ValueError(f"interface {name[:40]!r} names not one network")
        found.append(InterfaceRef(name, network or ""))
    return tuple(found)


_remembered_interfaces = lru_cache(256)(read_interfaces)


def parse_wanted(text: str) -> Wanted | None:
    """Read ``name@interface/family``: GKE's networks are in no namespace."""
    return parse_namespaced(text, is_namespaced=False)


def told(annotations: Mapping[str, str]) -> str:
    """Return pod-ips."""
    return annotations.get(names.GKE_POD_IPS) or ""


def secondary(told: str, wanted: Wanted) -> Secondary:
    """Find the address of the wanted network; never one that is also listed for the default network."""
    return (
        _remembered_addresses(told, wanted)
        if len(told) <= _REMEMBERED_LENGTH
        else _read_address(told, wanted)
    )


def _read_address(told: str, wanted: Wanted) -> Secondary:
    try:
        entries = _parse(told)
    except (ValueError, RecursionError) as error:
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
    return Secondary(problem="; ".join(dict.fromkeys(problems))[:MAX_PROBLEM])


_remembered_addresses = lru_cache(1024)(_read_address)


def _parse(text: str) -> list[dict[str, Any]]:
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{len(text)} characters")
    value = json.loads(text)
    if value is None:  # as Go writes a list without elements
        return []
    if not isinstance(value, list):
        raise ValueError("the JSON text is not a list")
    if not all(isinstance(entry, dict) for entry in value):
        raise ValueError("an element is not an object")
    return value
