"""Join the networks of a profile to those that a pod asks for itself, and name every interface."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count

from webhook.core.errors import Denied
from webhook.core.model import Reason
from webhook.core.networks.annotation import NetworkElement
from webhook.core.profiles import NetworkName, Profile


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
    wanted = [entry.network for entry in profile.networks]
    merged = Merged([*own], interfaces, _match(own, interfaces, wanted, namespace))
    missing = {
        number: network for number, network in enumerate(wanted) if number not in merged.places
    }
    taken = {"lo", *reserved, *interfaces}
    for network in filter(lambda each: each.interface, missing.values()):
        if network.interface in taken:
            message = (
                f"pod {pod_name}: profile {profile.name} attaches network "
                f"{network.namespace or namespace}/{network.name} as interface "
                f"{network.interface}, but another network of the pod has that name; name another "
                "interface in one of the two"
            )
            raise Denied("networks", Reason.INTERFACE_CONFLICT, message)
        taken.add(network.interface or "")
    automatic = range(first + len(own), first + len(own) + len(missing))
    for position, (number, network) in zip(automatic, missing.items(), strict=True):
        request = network.interface
        if request is None and f"net{position}" in taken:
            free = (each for each in count(1) if each not in automatic)
            request = next(f"net{each}" for each in free if f"net{each}" not in taken)
            taken.add(request)
        merged.places[number] = len(merged.elements)
        element = NetworkElement(network.namespace or namespace, network.name, request)
        merged.elements.append(element)
        merged.interfaces.append(request or f"net{position}")
    return merged


def _match(
    own: Sequence[NetworkElement],
    interfaces: Sequence[str],
    wanted: Sequence[NetworkName],
    namespace: str,
) -> dict[int, int]:
    """Give each of the profile's networks an element of the pod; those that name one choose first.

    Returns the index of the element by the index of the network.
    """
    places: dict[int, int] = {}
    free = list(range(len(own)))
    for number, network in sorted(enumerate(wanted), key=lambda item: item[1].interface is None):
        key = (network.namespace or namespace, network.name)
        for index in free:
            is_same = (own[index].namespace, own[index].name) == key
            if is_same and network.interface in (None, interfaces[index]):
                places[number] = index
                free.remove(index)
                break
    return places
