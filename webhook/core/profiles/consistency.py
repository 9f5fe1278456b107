"""Find what is wrong between fields that are right by themselves.

Reads plain values, not yet known to be valid: whatever is wrong by itself is left to the schema, so that both report at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias

from webhook.core.profiles.field_types import check_amount, check_quantity, check_resource_name
from webhook.core.profiles.grammar import parse_network, refused
from webhook.core.profiles.profile import ProfileNetwork
from webhook.core.profiles.slips import did_you_mean
from webhook.core.yaml_reader import Location

_Contradiction: TypeAlias = tuple[Location, str]


def find_contradictions(value: Any) -> Iterator[_Contradiction]:
    """Yield where and why values of the file contradict each other."""
    choosers: dict[str, str] = {}
    for name, profile in _items(_get(value, "profiles")):
        at = ("profiles", name)
        networks = [_network(_get(entry, "network")) for entry in _list(_get(profile, "networks"))]
        yield from _shared_interfaces(networks, (*at, "networks"))
        yield from _unknown_rendezvous(_get(profile, "rendezvous"), networks, (*at, "rendezvous", "network"))
        yield from _wrong_amounts(_get(profile, "resources"), (*at, "resources"))
        yield from _shared_pod_labels(name, _get(profile, "podLabels"), choosers)


def _shared_interfaces(networks: list[ProfileNetwork | None], at: Location) -> Iterator[_Contradiction]:
    owners: dict[str, int] = {}
    for index, network in enumerate(networks):
        if network and network.interface:
            owner = owners.setdefault(network.interface, index)
            if owner != index:
                message = f"interface {network.interface} is that of networks[{owner}] already; write another"
                yield (*at, index, "network"), message


def _unknown_rendezvous(
    rendezvous: Any, networks: list[ProfileNetwork | None], at: Location
) -> Iterator[_Contradiction]:
    """Find a rendezvous network that is none of the profile's, where all of these can be read; GKE's are none of them."""
    text = _get(rendezvous, "network")
    wanted = _network(text)
    if _get(rendezvous, "addressSource") == "gke":
        if wanted is not None and wanted.namespace:
            yield (
                at,
                str(refused(text, "write the name alone: GKE's networks, addressSource: gke, are in no namespace")),
            )
        return
    if wanted is None or not networks or None in networks:
        return
    known = dict.fromkeys(str(network) for network in networks)
    bare = dict.fromkeys(name.partition("@")[0] for name in known)
    if str(wanted) not in known and str(wanted) not in bare:
        meant = did_you_mean(text, bare)
        allowed = f"write one of this profile's networks, {', '.join(bare)}"
        yield at, str(refused(text, f"{allowed}; did you mean {meant}?" if meant else allowed))


def _wrong_amounts(resources: Any, at: Location) -> Iterator[_Contradiction]:
    """Find amounts that the API server would refuse for their resource."""
    for resource, amount in _items(resources):
        try:
            check_resource_name(resource)
            text = check_quantity(amount)
        except ValueError:
            continue
        try:
            check_amount(resource, text)
        except ValueError as error:
            yield (*at, resource), str(error)


def _shared_pod_labels(name: str, labels: Any, choosers: dict[str, str]) -> Iterator[_Contradiction]:
    """Find two profiles that the same pods would choose."""
    if not isinstance(labels, dict) or not labels:
        return
    owner = choosers.setdefault(repr(sorted(labels.items(), key=repr)), name)
    if owner != name:
        yield ("profiles", name, "podLabels"), f"profile {owner} has the same; no pod could choose one of the two"


def _network(value: Any) -> ProfileNetwork | None:
    try:
        return ProfileNetwork(*parse_network(value)) if isinstance(value, str) else None
    except ValueError:
        return None


def _get(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, dict) else None


def _items(value: Any) -> list[tuple[str, Any]]:
    return list(value.items()) if isinstance(value, dict) else []


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
