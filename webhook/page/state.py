"""Describe what is known of profiles and cluster: the document that ``GET /state`` answers."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec
import yaml

from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.profiles import Profile, ProfileNetwork, Profiles
from webhook.core.profiles.grammar import Seconds
from webhook.world.held import Master, Snapshot


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
        "jobs": [_job(key, master) for key, master in sorted(snapshot.masters.items())],
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


def _job(pod: tuple[str, str], master: Master) -> Object:
    """Describe a job by its live rank 0, whose address is empty until the controller has published it."""
    return {
        "namespace": master.namespace,
        "job": master.job,
        "pod": pod[1],
        "created": master.created,
        "address": master.address.addr if master.address else "",
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
