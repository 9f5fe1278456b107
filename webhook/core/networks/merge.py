"""Join the networks of a profile to those that a pod asks for itself, and name every interface."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from webhook.core import names
from webhook.core.errors import Denied
from webhook.core.model import Reason
from webhook.core.networks.selection import NetworkElement
from webhook.core.profiles import Profile, ProfileNetwork

_LOOPBACK: Final = "lo"


@dataclass(slots=True)
class Merged:
    """Hold the resulting annotation: *interfaces* are the names that its *elements* get; the first *kept* are the pod's own.

    *entries*: the profile's network that each element serves, None for one that the profile does not ask for. *places*: the
    index in *elements* of each network of the profile.
    """

    elements: Sequence[NetworkElement]
    interfaces: Sequence[str]
    entries: Sequence[ProfileNetwork | None]
    places: Sequence[int]
    kept: int


def merge_networks(
    own: Sequence[NetworkElement],
    profile: Profile,
    namespace: str,
    reserved: Sequence[str],
    pod_name: str,
) -> Merged:
    """Append to the pod's *own* elements what the profile asks for and they do not hold; a multiset.

    *reserved*: interfaces that are not in the annotation: the cluster network's, and those of Multus' default networks.
    Raises Denied where an interface that the profile names is taken.
    """
    first = len(reserved)
    interfaces = [element.interface or f"net{number}" for number, element in enumerate(own, first)]
    entries: list[ProfileNetwork | None] = [None] * len(own)
    places = [-1] * len(profile.networks)
    if own:
        _match(own, interfaces, profile.networks, namespace, entries, places)
    elements = list(own)
    if -1 in places:
        missing = [entry for place, entry in enumerate(profile.networks) if places[place] < 0]
        taken = {_LOOPBACK, *reserved, *interfaces}
        for position, entry in enumerate(missing):
            if entry.interface in taken:
                owner = _owner(entry.interface, own, interfaces, missing[:position])
                raise _conflict(entry, profile, namespace, owner, pod_name)
            if entry.interface:
                taken.add(entry.interface)
        for place, entry in enumerate(profile.networks):
            if places[place] < 0:
                places[place] = number = len(elements)
                automatic = f"net{first + number}"
                request = entry.interface
                if request is None and automatic in taken:
                    request = _free_name(taken, first + len(own), first + len(own) + len(missing))
                elements.append(NetworkElement(entry.namespace or namespace, entry.name, request))
                interfaces.append(request or automatic)
                entries.append(entry)
    return Merged(elements, interfaces, entries, places, len(own))


def _free_name(taken: set[str], start: int, end: int) -> str:
    """Take a name that nothing has, nor gets by its position from *start* to *end*."""
    number = 1
    while f"net{number}" in taken or start <= number < end:
        number += 1
    name = f"net{number}"
    taken.add(name)
    return name


def _match(
    own: Sequence[NetworkElement],
    interfaces: Sequence[str],
    wanted: Sequence[ProfileNetwork],
    namespace: str,
    entries: list[ProfileNetwork | None],
    places: list[int],
) -> None:
    """Give each of the profile's networks an element of the pod; those that name an interface choose first."""
    for place, entry in sorted(enumerate(wanted), key=lambda item: item[1].interface is None):
        of = entry.namespace or namespace
        for index, element in enumerate(own):
            if (
                entries[index] is None
                and element.name == entry.name
                and element.namespace == of
                and entry.interface in (None, interfaces[index])
            ):
                entries[index], places[place] = entry, index
                break


def _owner(
    interface: str | None,
    own: Sequence[NetworkElement],
    interfaces: Sequence[str],
    others: Sequence[ProfileNetwork],
) -> str:
    if interface in interfaces:
        index = list(interfaces).index(interface or "")
        named = f"{own[index].namespace}/{own[index].name}"
        return f"element {index + 1} ({named}) of annotation {names.NETWORKS}"
    for other in others:
        if other.interface == interface:
            return f"its network {other.name}"
    return "another network that Multus attaches by itself"


def _conflict(
    entry: ProfileNetwork, profile: Profile, namespace: str, owner: str, pod_name: str
) -> Denied:
    return Denied(
        "networks",
        Reason.INTERFACE_CONFLICT,
        f"pod {pod_name}: profile {profile.name} attaches network {entry.namespace or namespace}/{entry.name} as interface "
        f"{entry.interface}, but {owner} has that name; name another interface in one of the two",
    )
