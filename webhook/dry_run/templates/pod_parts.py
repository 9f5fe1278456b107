"""Make the parts of a pod that controllers and API server add to its template.

What cannot be known yet is a placeholder: the zero uid, a generateName without the random end.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from webhook.core.model import Object

UID = "00000000-0000-0000-0000-000000000000"
"""Placeholder for the uid that the API server will give."""
UNKNOWN_SUFFIX = "xxxxx"
"""Placeholder for the random end of a generated name."""


def copied(value: Any) -> Any:
    """Copy a JSON value; parts that YAML aliases share become separate."""
    if isinstance(value, dict):
        return {key: copied(item) for key, item in value.items()}
    if isinstance(value, list):
        return [copied(item) for item in value]
    return value


def fill_amounts(pod: Any, *, is_custom: bool) -> None:
    """Read a null amount as the API server does: as 0; of a custom resource as one that is not there.

    Source: kubernetes apimachinery api/resource Quantity.UnmarshalJSON; apiextensions-apiserver schema/defaulting
    PruneNonNullableNullsWithoutDefaults.
    """
    if isinstance(pod, list):
        for item in pod:
            fill_amounts(item, is_custom=is_custom)
    elif isinstance(pod, dict):
        for key, value in pod.items():
            if key in ("limits", "requests") and isinstance(value, dict):
                there = (
                    (name, amount)
                    for name, amount in value.items()
                    if amount is not None or not is_custom
                )
                pod[key] = {name: "0" if amount is None else amount for name, amount in there}
            else:
                fill_amounts(value, is_custom=is_custom)


def owner_reference(api_version: str, kind: str, name: str) -> Object:
    """Return the ownerReference of a controller."""
    return {"apiVersion": api_version, "kind": kind, "name": name, "uid": UID, "controller": True}


def all_containers(pod: Object) -> list[Object]:
    """Return init containers and containers."""
    return [*(pod["spec"].get("initContainers") or ()), *pod["spec"]["containers"]]


def append_env(containers: Iterable[Object], entries: Sequence[Object]) -> None:
    """Append variables without looking for those already there, as most operators do."""
    for container in containers:
        container["env"] = [*(container.get("env") or ()), *entries]


def variable(name: str, value: str) -> Object:
    """Return an entry of ``env``."""
    return {"name": name, "value": value}


def field_variable(name: str, path: str) -> Object:
    """Return an entry of ``env`` that reads a field of the pod."""
    return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}


def append_to(holder: Object, key: str, item: Object | str) -> None:
    """Append to the list at *key*, making it where it is missing or null."""
    holder[key] = [*(holder.get(key) or ()), item]


def default_requests(pod: Object) -> None:
    """Copy each limit without a request into the requests.

    Source: kubernetes pkg/apis/core/v1/defaults.go SetDefaults_Pod.
    """
    for container in all_containers(pod):
        resources = container.get("resources") or {}
        limits, asked = resources.get("limits"), resources.get("requests") or {}
        if limits:
            resources["requests"] = {**asked, **{k: v for k, v in limits.items() if k not in asked}}
