"""Find a pod's secondary address in the network-status that Multus or another CNI wrote."""

from collections.abc import Iterator
from functools import lru_cache
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, Literal, NamedTuple, TypeAlias

import orjson

from webhook.core.model import Object

Family: TypeAlias = Literal["any", "IPv4", "IPv6"]
IPAddress: TypeAlias = IPv4Address | IPv6Address

MAX_LENGTH = 65_536
"""Longer values count as unusable: Multus writes some 300 bytes for each network."""
MAX_ADDRESSES = 32
"""How many addresses of one entry are looked at, and how many of its faults are kept."""
MAX_ENTRIES = 32
"""How many entries of the wanted network are looked at, those on the promised interface first:
a forged value may hold hundreds."""
MAX_NAME = 400
"""Longest ``namespace/name@interface/family``, and longest name of an interface: what is longer is
none of Kubernetes' or of Linux'."""
MAX_PROBLEM = 500
_VERSIONS: dict[Family, tuple[int, ...]] = {"any": (4, 6), "IPv4": (4,), "IPv6": (6,)}


class Wanted(NamedTuple):
    """Say whose address counts: the network, the interface that it was promised, and the family.

    *namespace*: empty for a network that is in none, as GKE's are. *interface*: empty where any
    will do.
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

    *address*: as Python writes it, empty if there is none. *interface*: the one it is on, where
    that is not the promised one. *problem*: why there is no address, and will be none until
    somebody changes something; else empty.
    """

    address: str = ""
    interface: str = ""
    problem: str = ""


@lru_cache(1024)
def parse_wanted(text: str) -> Wanted | None:
    """Read ``namespace/name@interface/family``; None for anything else.

    A network in no namespace is ``name@interface/family``, whose interface may be empty.
    """
    if len(text) > MAX_NAME:
        return None
    key, _, rest = text.rpartition("@")
    namespace, _, name = key.rpartition("/")
    interface, slash, family = rest.rpartition("/")
    found = [known for known in _VERSIONS if slash and known == family]
    return Wanted(namespace, name, interface, found[0]) if found and name else None


def secondary_address(status: str, wanted: Wanted) -> Secondary:
    """Return the address of the wanted network in network-status; ``Secondary()`` if none is yet.

    Entries of the cluster network never count. Of several entries the one on the promised interface
    does, else the first with an address that fits. One that names no interface is taken to be on
    the promised one. Source: network-attachment-definition-client pkg/apis types.go NetworkStatus,
    pkg/utils CreateNetworkStatuses; multus-cni.
    """
    try:
        entries = _read_entries(status)
    except ValueError as error:
        return Secondary(problem=f"is not a list of networks ({error})")
    full_name = f"{wanted.namespace}/{wanted.name}"
    named = [entry for entry in entries if entry.get("name") == full_name] or [
        entry for entry in entries if entry.get("name") == wanted.name
    ]  # Multus before 3.6

    def distance(entry: Object) -> int:
        interface = entry.get("interface")
        return 0 if interface == wanted.interface else 2 if interface else 1

    problems: list[str] = []
    for entry in sorted(named, key=distance)[:MAX_ENTRIES]:
        listed = entry.get("ips") or []
        if not isinstance(listed, list):
            problems.append("ips is not a list")
            continue
        found = choose_address(listed, wanted.family, problems)
        if found is not None:
            interface = entry.get("interface")
            if not isinstance(interface, str) or interface == wanted.interface:
                interface = ""
            return Secondary(str(found), interface[:MAX_NAME])
    return Secondary(problem=told_once(problems))


def secondary_networks(status: str) -> list[Object] | None:
    """Return the entries but those of the cluster network; None where it is no list of objects."""
    try:
        return _read_entries(status)
    except ValueError:
        return None


def _read_entries(status: str) -> list[Object]:
    return [
        entry
        for entry in parse_objects(status)
        if entry.get("default") is not True and entry.get("interface") != "eth0"
    ]


def parse_objects(text: str) -> list[Object]:
    """Read a list of JSON objects. Raises ValueError for what is none."""
    if len(text) > MAX_LENGTH:
        raise ValueError(f"{len(text)} characters")
    value = orjson.loads(text)
    if not isinstance(value, list):
        raise ValueError("the JSON text is not a list")
    if not all(isinstance(entry, dict) for entry in value):
        raise ValueError("an element is not an object")
    return value


def told_once(problems: list[str]) -> str:
    """Join problems into one text, each once; empty where there is none."""
    return "; ".join(dict.fromkeys(problems))[:MAX_PROBLEM]


def choose_address(listed: list[Any], family: Family, problems: list[str]) -> IPAddress | None:
    """Take the first address of the family, IPv4 before IPv6 where any will do.

    Only what another pod can reach counts; what is wrong with others goes to *problems*. *listed*
    is what somebody wrote: texts, or anything else.
    """
    found = list(_addresses(listed[:MAX_ADDRESSES], problems))
    for version in _VERSIONS[family]:
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
