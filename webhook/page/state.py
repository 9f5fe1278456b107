"""Describe what is known of profiles and cluster: the document that ``GET /state`` answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NamedTuple

from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.profiles import (
    Profile,
    ProfileNetwork,
    Profiles,
    RendezvousSettings,
    SharedMemory,
)


class RankZero(NamedTuple):
    """Hold a live pod of rank 0; *address* is empty until the controller has published it."""

    job: str
    created: str
    address: str


class Snapshot(NamedTuple):
    """Hold what is read of a cluster, by namespace and name."""

    namespaces: dict[tuple[str, str], Namespace]
    networks: dict[tuple[str, str], NetworkDefinition]
    ranks_zero: dict[tuple[str, str], RankZero]


def read_rank_zero(pod: Object) -> RankZero | None:
    """Keep what is shown of a pod of rank 0; None for one that is being deleted."""
    metadata = pod["metadata"]
    labels, annotations = metadata.get("labels") or {}, metadata.get("annotations") or {}
    if metadata.get("deletionTimestamp") or not labels.get(names.JOB):
        return None
    created = metadata.get("creationTimestamp") or ""
    return RankZero(labels[names.JOB], created, annotations.get(names.MASTER_ADDR) or "")


def state_document(profiles: Profiles, snapshot: Snapshot, problems: Iterable[str]) -> Object:
    """Return all that is known, by name. *problems*: what could not be read, and why.

    Shape: ``{"version", "problems": [text], "namespaces": [], "profiles": [], "networks": [], "jobs": []}``.
    """
    return {
        "version": __version__,
        "problems": list(problems),
        "namespaces": [_namespace(space) for _, space in sorted(snapshot.namespaces.items())],
        "profiles": [_profile(profile) for _, profile in sorted(profiles.profiles.items())],
        "networks": [_network(network) for _, network in sorted(snapshot.networks.items())],
        "jobs": [_job(key, pod) for key, pod in sorted(snapshot.ranks_zero.items())],
    }


def _namespace(namespace: Namespace) -> Object:
    labels = namespace.labels
    return {
        "name": namespace.name,
        "profile": labels.get(names.PROFILE, ""),
        "observed": labels.get(names.MODE) == names.MODE_OBSERVE,
        "podSecurity": labels.get(names.POD_SECURITY_ENFORCE, ""),
    }


def _network(network: NetworkDefinition) -> Object:
    return {
        "namespace": network.namespace,
        "name": network.name,
        "resources": list(network.resources),
        "nodeSelector": dict(network.node_selector),
        "givesAddresses": network.has_ipam,
        "problem": "; ".join(filter(None, (network.problem, network.resource_problem))),
    }


def _job(key: tuple[str, str], pod: RankZero) -> Object:
    return {
        "namespace": key[0],
        "job": pod.job,
        "pod": key[1],
        "created": pod.created,
        "address": pod.address,
    }


def _profile(profile: Profile) -> Object:
    """Describe a profile with the keys of its file; *settings* holds what differs from the default."""
    settings = dict(_settings(profile, Profile(profile.name)))
    for key in ("networks", "revision", "generation"):
        settings.pop(key, None)
    return {
        "name": profile.name,
        "networks": [_wanted(network) for network in profile.networks],
        "settings": settings,
    }


def _wanted(network: ProfileNetwork) -> Object:
    return {"network": str(network), "resources": list(network.resources), "count": network.count}


def _settings(given: Any, default: Any, above: str = "") -> Iterator[tuple[str, Any]]:
    """Yield key and value of each field that differs from *default*, ``("rendezvous.timeout", "600s")``."""
    for field in fields(given):
        value, usual = getattr(given, field.name), getattr(default, field.name)
        key = f"{above}{_in_file(field.name)}"
        if value == usual:
            continue
        if isinstance(value, SharedMemory | RendezvousSettings):
            yield from _settings(value, usual, f"{key}.")
        elif key.endswith("Seconds"):
            yield key.removesuffix("Seconds"), f"{value}s"
        else:
            yield key, _plain(value)


def _in_file(name: str) -> str:
    """Return a field's name as the profiles file has it."""
    first, *others = name.split("_")
    return first + "".join(map(str.capitalize, others))


def _plain(value: Any) -> Any:
    match value:
        case Mapping():
            return dict(value)
        case frozenset():
            return sorted(value)
        case ProfileNetwork():
            return str(value)
        case tuple():
            return [_plain(item) for item in value]
    if is_dataclass(value):
        given = {_in_file(field.name): getattr(value, field.name) for field in fields(value)}
        return {
            key: _plain(item)
            for key, item in given.items()
            if item or (isinstance(item, int) and item is not False)
        }
    return value
