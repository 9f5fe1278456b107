"""Describe what is known of profiles and cluster: the document that ``GET /state`` answers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec
import yaml

from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.profiles import Profile, ProfileNetwork, Profiles
from webhook.core.profiles.grammar import Seconds


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
    """Describe a profile; *spec* is what it says beside its networks, as YAML."""
    spec = msgspec.to_builtins(profile, enc_hook=_written, order="deterministic")
    for key in ("name", "networks", "revision", "generation"):
        spec.pop(key, None)
    return {
        "name": profile.name,
        "networks": [_wanted(network) for network in profile.networks],
        "spec": yaml.safe_dump(spec, sort_keys=False) if spec else "",
    }


def _written(value: object) -> str:
    return f"{value}s" if isinstance(value, Seconds) else str(value)


def _wanted(network: ProfileNetwork) -> Object:
    return {"network": str(network), "resources": list(network.resources), "count": network.count}
