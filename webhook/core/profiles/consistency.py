"""Find what is wrong between fields that are right by themselves.

Reads plain values, not yet known to be valid: whatever is wrong by itself is left to the schema, so that both report at once.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from webhook.core import names
from webhook.core.accelerators import is_accelerator
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.field_types import (
    COMPUTE,
    check_amount,
    check_quantity,
    check_resource_name,
)
from webhook.core.profiles.grammar import parse_network, refused
from webhook.core.profiles.profile import ProfileNetwork
from webhook.core.profiles.slips import did_you_mean
from webhook.core.quantity import parse_quantity
from webhook.core.yaml_reader import Location

_Contradiction: TypeAlias = tuple[Location, str]
SOURCES = ("hostPath", "emptyDir", "configMap")
NOT_ONE_SOURCE = f"write one of {', '.join(SOURCES)}"
NO_KEY = "without key, write operator: Exists, which tolerates every taint"
HAS_VALUE = "with operator: Exists, leave value out"
HAS_SECONDS = "with tolerationSeconds, write effect: NoExecute"
IS_ACCELERATOR = "{} is an accelerator, by which pods are known to train and other devices are counted; leave it out"
HAS_COUNT = "with allocationMode: All, leave count out"
NO_QUANTITY = "write perAccelerator, byNodeType, or both"


def find_contradictions(value: Any) -> Iterator[_Contradiction]:
    """Yield where and why values of the file contradict each other."""
    choosers: dict[str, str] = {}
    for name, profile in _items(_get(value, "profiles")):
        at = ("profiles", name)
        networks = [_network(_get(entry, "network")) for entry in _list(_get(profile, "networks"))]
        yield from _shared_interfaces(networks, (*at, "networks"))
        yield from _unknown_rendezvous(
            _get(profile, "rendezvous"), networks, (*at, "rendezvous", "network")
        )
        resources = _get(profile, "resources")
        yield from _wrong_amounts(resources, (*at, "resources"))
        yield from _wrong_volumes(_get(profile, "volumes"), (*at, "volumes"))
        yield from _shared_paths(_get(profile, "mounts"), (*at, "mounts"))
        yield from _wrong_sidecars(_get(profile, "sidecars"), (*at, "sidecars"))
        yield from _wrong_tolerations(_get(profile, "tolerations"), (*at, "tolerations"))
        yield from _wrong_quantities(_get(profile, "quantities"), resources, (*at, "quantities"))
        yield from _unreadable_interfaces(_get(profile, "annotations"), (*at, "annotations"))
        yield from _wrong_claims(_get(profile, "claims"), (*at, "claims"))
        yield from _shared_pod_labels(name, _get(profile, "podLabels"), choosers)


def _unreadable_interfaces(annotations: Any, at: Location) -> Iterator[_Contradiction]:
    """Find a value of GKE's annotation of interfaces that GKE cannot read; all pods of the profile would stay without a sandbox."""
    text = _get(annotations, names.GKE_INTERFACES)
    if not isinstance(text, str):
        return
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError) as error:
        why = f"is no JSON ({error})"
    else:
        if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
            why = "is no JSON list of objects"
        elif all(
            isinstance(each.get("interfaceName"), str) and each["interfaceName"] for each in listed
        ):
            return
        else:
            why = "has an interface without interfaceName"
    example = (
        '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"vpc1"}]'
    )
    yield (
        (*at, names.GKE_INTERFACES),
        f"{why}, and GKE would make no pod of the profile; write a list such as {example}",
    )


def _shared_interfaces(
    networks: list[ProfileNetwork | None], at: Location
) -> Iterator[_Contradiction]:
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
    """Find a rendezvous network that is none of the profile's, where all of these can be read; GKE's and claims are none of them."""
    text = _get(rendezvous, "network")
    wanted = _network(text)
    source = _get(rendezvous, "addressSource")
    if source in ("gke", "claim"):
        if wanted is not None and wanted.namespace:
            what = "GKE's networks" if source == "gke" else "claims"
            yield (
                at,
                str(
                    refused(
                        text,
                        f"write the name alone: {what}, addressSource: {source}, are in no namespace",
                    )
                ),
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
            text = check_quantity(amount)
            if resource in COMPUTE:  # of a sidecar; in the profile itself it is refused by its name
                if parse_quantity(text) < 0:
                    yield (
                        (*at, resource),
                        str(refused(text, f"write an amount of {resource} of 0 or more")),
                    )
                continue
            check_resource_name(resource)
        except ValueError:
            continue
        try:
            check_amount(resource, text)
        except ValueError as error:
            yield (*at, resource), str(error)


def _wrong_volumes(volumes: Any, at: Location) -> Iterator[_Contradiction]:
    yield from _shared(volumes, "name", at)
    for index, volume in enumerate(_list(volumes)):
        given = [source for source in SOURCES if _get(volume, source) is not None]
        if isinstance(volume, dict) and len(given) != 1:
            yield (
                (*at, index),
                f"found {' and '.join(given) or 'none of the sources'}; {NOT_ONE_SOURCE}",
            )


def _shared_paths(mounts: Any, at: Location) -> Iterator[_Contradiction]:
    """Find two mounts of a container at one path, however it is written."""
    yield from _shared(mounts, "mountPath", at, normalized_mount_path)


def _wrong_sidecars(sidecars: Any, at: Location) -> Iterator[_Contradiction]:
    yield from _shared(sidecars, "name", at)
    for index, sidecar in enumerate(_list(sidecars)):
        yield from _shared_paths(_get(sidecar, "mounts"), (*at, index, "mounts"))
        yield from _wrong_amounts(_get(sidecar, "resources"), (*at, index, "resources"))


def _wrong_tolerations(tolerations: Any, at: Location) -> Iterator[_Contradiction]:
    """Find what the API server would refuse in a pod. Source: kubernetes pkg/apis/core/validation ValidateTolerations."""
    for index, toleration in enumerate(_list(tolerations)):
        exists = _get(toleration, "operator") == "Exists"
        if isinstance(toleration, dict) and _get(toleration, "key") is None and not exists:
            yield (*at, index), NO_KEY
        if exists and _get(toleration, "value"):
            yield (*at, index, "value"), HAS_VALUE
        if (
            _get(toleration, "tolerationSeconds") is not None
            and _get(toleration, "effect") != "NoExecute"
        ):
            yield (*at, index, "tolerationSeconds"), HAS_SECONDS


def _wrong_quantities(quantities: Any, resources: Any, at: Location) -> Iterator[_Contradiction]:
    yield from _shared(quantities, "resource", at)
    for index, quantity in enumerate(_list(quantities)):
        if (
            isinstance(quantity, dict)
            and _get(quantity, "perAccelerator") is None
            and not _get(quantity, "byNodeType")
        ):
            yield (*at, index), NO_QUANTITY
        resource = _get(quantity, "resource")
        if isinstance(resource, str) and _get(resources, resource) is not None:
            yield (
                (*at, index, "resource"),
                f"{resource} stands under resources already; remove one of the two",
            )
        if isinstance(resource, str) and is_accelerator(resource):
            yield (*at, index, "resource"), IS_ACCELERATOR.format(resource)


def _wrong_claims(claims: Any, at: Location) -> Iterator[_Contradiction]:
    yield from _shared(claims, "name", at)
    for index, claim in enumerate(_list(claims)):
        here = (*at, index)
        requests = _get(claim, "requests")
        yield from _shared(requests, "name", (*here, "requests"))
        if requests == []:
            yield (*here, "requests"), "found no request; write at least one"
        for number, request in enumerate(_list(requests)):
            if _get(request, "allocationMode") == "All" and _get(request, "count") is not None:
                yield (*here, "requests", number, "count"), HAS_COUNT
        known = dict.fromkeys(
            name for each in _list(requests) if isinstance(name := _get(each, "name"), str)
        )
        for field in ("constraints", "config"):
            for number, part in enumerate(_list(_get(claim, field))):
                for place, name in enumerate(_list(_get(part, "requests"))):
                    if isinstance(name, str) and name not in known:
                        advice = f"write one of this claim's requests, {', '.join(known) or 'of which there are none'}"
                        yield (*here, field, number, "requests", place), str(refused(name, advice))


def _shared(
    items: Any, key: str, at: Location, normalize: Callable[[str], str] = lambda text: text
) -> Iterator[_Contradiction]:
    """Find items of a list of which the second has what the first one has."""
    owners: dict[str, int] = {}
    for index, item in enumerate(_list(items)):
        value = _get(item, key)
        if isinstance(value, str):
            owner = owners.setdefault(normalize(value), index)
            if owner != index:
                yield (
                    (*at, index, key),
                    f"{value} is that of {at[-1]}[{owner}] already; write another",
                )


def _shared_pod_labels(
    name: str, labels: Any, choosers: dict[str, str]
) -> Iterator[_Contradiction]:
    """Find two profiles that the same pods would choose."""
    if not isinstance(labels, dict) or not labels:
        return
    owner = choosers.setdefault(repr(sorted(labels.items(), key=repr)), name)
    if owner != name:
        yield (
            ("profiles", name, "podLabels"),
            f"profile {owner} has the same; no pod could choose one of the two",
        )


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
