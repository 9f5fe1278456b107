"""Join the networks of a profile to those that a pod asks for itself, and name every interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import Reason
from webhook.core.networks.selection import NetworkElement
from webhook.core.profiles import Profile, ProfileNetwork


@dataclass(slots=True)
class Merged:
    """Hold the resulting annotation: *interfaces* are the names that its *elements* get.

    *places*: index in *elements* of each of the profile's networks, by the index of that network.
    """

    elements: list[NetworkElement]
    interfaces: list[str]
    places: dict[int, int]


def merge_networks(
    own: Sequence[NetworkElement],
    profile: Profile,
    namespace: str,
    reserved: Sequence[str],
    pod_name: str,
) -> Merged:
    """Append to the pod's *own* elements what they lack of the profile's networks; a multiset.

    *reserved*: interfaces that are not in the annotation: the cluster network's, and those of
    Multus' default networks. Raises Denied where an interface that the profile names is taken.
    """
    first = len(reserved)
    interfaces = [element.interface or f"net{number}" for number, element in enumerate(own, first)]
    merged = Merged([*own], interfaces, _match(own, interfaces, profile.networks, namespace))
    missing = {
        number: entry
        for number, entry in enumerate(profile.networks)
        if number not in merged.places
    }
    owners = dict.fromkeys(("lo", *reserved), "another network that Multus attaches by itself")
    for number, (element, interface) in enumerate(zip(own, interfaces, strict=True), 1):
        named = f"{element.namespace}/{element.name}"
        owners[interface] = f"element {number} ({named}) of annotation {names.NETWORKS}"
    for entry in missing.values():
        if entry.interface in owners:
            network = f"{entry.namespace or namespace}/{entry.name}"
            raise Denied(
                "networks",
                Reason.INTERFACE_CONFLICT,
                f"pod {pod_name}: profile {profile.name} attaches network {network} as interface "
                f"{entry.interface}, but {owners[entry.interface]} has that name; "
                "name another interface in one of the two",
            )
        if entry.interface:
            owners[entry.interface] = f"its network {entry.name}"
    automatic = range(first + len(own), first + len(own) + len(missing))
    for position, (number, entry) in zip(automatic, missing.items(), strict=True):
        request = entry.interface
        if request is None and f"net{position}" in owners:
            request = _free_name(owners, automatic)
            owners[request] = f"its network {entry.name}"
        merged.places[number] = len(merged.elements)
        merged.elements.append(NetworkElement(entry.namespace or namespace, entry.name, request))
        merged.interfaces.append(request or f"net{position}")
    return merged


def _free_name(taken: Mapping[str, str], automatic: range) -> str:
    """Find a name that nothing has, nor gets by its position."""
    number = 1
    while f"net{number}" in taken or number in automatic:
        number += 1
    return f"net{number}"


def _match(
    own: Sequence[NetworkElement],
    interfaces: Sequence[str],
    wanted: Sequence[ProfileNetwork],
    namespace: str,
) -> dict[int, int]:
    """Give each of the profile's networks an element of the pod; those that name one choose first.

    Returns the index of the element by the index of the network.
    """
    places: dict[int, int] = {}
    free = list(range(len(own)))
    for number, entry in sorted(enumerate(wanted), key=lambda item: item[1].interface is None):
        key = (entry.namespace or namespace, entry.name)
        for index in free:
            if (own[index].namespace, own[index].name) == key and entry.interface in (
                None,
                interfaces[index],
            ):
                places[number] = index
                free.remove(index)
                break
    return places
