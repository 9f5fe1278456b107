"""Find a pod's secondary address in the network-status annotation that Multus or another CNI wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal, NamedTuple, TypeAlias

Family: TypeAlias = Literal["any", "IPv4", "IPv6"]
IPAddress: TypeAlias = IPv4Address | IPv6Address

MAX_LENGTH = 65_536
"""Longer values count as unusable: Multus writes some 300 bytes for each network."""
MAX_ADDRESSES = 32
"""How many addresses of one entry are looked at, and how many of its faults are told."""
MAX_ENTRIES = 32
"""How many entries of the wanted network are looked at, those on the promised interface first: a forged value may hold hundreds."""
MAX_NAME = 400
"""Longest ``namespace/name@interface/family``, and longest name of an interface: what is longer is none of Kubernetes' or of Linux'."""
MAX_PROBLEM = 500
_REMEMBERED_LENGTH = 8_192
"""Longer values are read each time: a thousand of the longest would fill the memory."""
_CLUSTER_INTERFACE = "eth0"
FAMILIES: tuple[Family, ...] = ("any", "IPv4", "IPv6")


class Wanted(NamedTuple):
    """Say whose address counts: the network, the interface that it was promised, and the family.

    *namespace*: empty for a network that is in none, as GKE's are. *interface*: empty where any will do.
    """

    namespace: str
    name: str
    interface: str
    family: Family

    def __str__(self) -> str:
        where = f"{self.name}@{self.interface}" if self.interface else self.name
        return f"{self.namespace}/{where}" if self.namespace else where


class Secondary(NamedTuple):
    """Hold what the annotation says of the wanted network.

    *address*: as Python writes it, empty if there is none. *interface*: the one it is on, where that is not the promised one.
    *problem*: why there is no address, and will be none until somebody changes something; else empty.
    """

    address: str = ""
    interface: str = ""
    problem: str = ""


@lru_cache(1024)
def parse_wanted(text: str, *, is_namespaced: bool = True) -> Wanted | None:
    """Read ``namespace/name@interface/family``, or ``name@interface/family``; None for anything else."""
    if len(text) > MAX_NAME:
        return None
    key, _, rest = text.rpartition("@")
    namespace, _, name = key.partition("/") if is_namespaced else ("", "", key)
    interface, _, family = rest.rpartition("/")
    for known in FAMILIES:
        if family == known and bool(namespace) is is_namespaced and name and interface:
            return Wanted(namespace, name, interface, known)
    return None


def secondary_address(status: str, wanted: Wanted) -> Secondary:
    """Return the address of the wanted network in a network-status value; ``Secondary()`` where none is told yet.

    Entries of the cluster network never count. Of several entries the one on the promised interface does, else the first with
    an address that fits. An entry that names no interface is taken to be on the promised one.
    Source: network-attachment-definition-client pkg/apis types.go NetworkStatus, pkg/utils CreateNetworkStatuses; multus-cni.
    """
    return (
        _remembered(status, wanted) if len(status) <= _REMEMBERED_LENGTH else _read(status, wanted)
    )


def _read(status: str, wanted: Wanted) -> Secondary:
    try:
        entries = _parse(status)
    except (ValueError, RecursionError) as error:
        return Secondary(problem=f"is not a list of networks ({error})")
    secondary = [entry for entry in entries if not _is_cluster_network(entry)]
    named = [
        entry for entry in secondary if entry.get("name") == f"{wanted.namespace}/{wanted.name}"
    ]
    named = named or [
        entry for entry in secondary if entry.get("name") == wanted.name
    ]  # Multus before 3.6
    promised = [entry for entry in named if entry.get("interface") == wanted.interface]
    unnamed = [entry for entry in named if not entry.get("interface")]
    others = [
        entry for entry in named if entry.get("interface") not in (wanted.interface, None, "")
    ]
    problems: list[str] = []
    for entry in (*promised, *unnamed, *others)[:MAX_ENTRIES]:
        found = _choose(entry, wanted.family, problems)
        if found is not None:
            interface = entry.get("interface")
            elsewhere = (
                isinstance(interface, str) and bool(interface) and interface != wanted.interface
            )
            return Secondary(str(found), str(interface)[:MAX_NAME] if elsewhere else "")
    if problems:
        return Secondary(problem="; ".join(dict.fromkeys(problems))[:MAX_PROBLEM])
    return Secondary()


_remembered = lru_cache(1024)(_read)


def _parse(status: str) -> list[dict[str, Any]]:
    if len(status) > MAX_LENGTH:
        raise ValueError(f"{len(status)} characters")
    value = json.loads(status)
    if not isinstance(value, list):
        raise ValueError("the JSON text is not a list")
    if not all(isinstance(entry, dict) for entry in value):
        raise ValueError("an element is not an object")
    return value


def _is_cluster_network(entry: dict[str, Any]) -> bool:
    return entry.get("default") is True or entry.get("interface") == _CLUSTER_INTERFACE


def _choose(entry: dict[str, Any], family: Family, problems: list[str]) -> IPAddress | None:
    listed = entry.get("ips")
    if listed is None:
        return None
    if not isinstance(listed, list):
        problems.append("ips is not a list")
        return None
    return choose_address(listed, family, problems)


def choose_address(listed: list[Any], family: Family, problems: list[str]) -> IPAddress | None:
    """Take the first address of the family, IPv4 before IPv6 where any will do; what is wrong with others goes to *problems*.

    Only what another pod can reach counts. *listed* is what somebody wrote: texts, or anything else.
    """
    found = list(_addresses(listed[:MAX_ADDRESSES], problems))
    for version in {"any": (4, 6), "IPv4": (4,), "IPv6": (6,)}[family]:
        for address in found:
            if address.version == version:
                return address
    if found:
        problems.append(f"has no {family} address")
    return None


def _addresses(listed: list[Any], problems: list[str]) -> Iterator[IPAddress]:
    for text in listed:
        try:
            address = ip_address(text.partition("/")[0] if isinstance(text, str) else repr(text))
        except ValueError:
            problems.append(f"holds {str(text)[:64]!r}, which is not an IP address")
            continue
        if isinstance(address, IPv6Address) and address.ipv4_mapped:
            address = address.ipv4_mapped
        scoped = isinstance(address, IPv6Address) and bool(address.scope_id)
        if (
            scoped
            or address.is_loopback
            or address.is_unspecified
            or address.is_multicast
            or address.is_link_local
        ):
            problems.append(f"holds {address!s}, at which no other pod can reach this one")
            continue
        yield address


def secondary_networks(status: str) -> list[dict[str, Any]] | None:
    """Return the entries of a network-status value but those of the cluster network; None where it is not a list of objects."""
    try:
        return [entry for entry in _parse(status) if not _is_cluster_network(entry)]
    except (ValueError, RecursionError):
        return None
