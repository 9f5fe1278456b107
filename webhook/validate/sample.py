"""Make the pod that a profile makes of one that says nothing itself, for an API server to judge."""

from __future__ import annotations

from typing import Any

from webhook.core import names
from webhook.core.model import Object

_LIMITS = {"cpu": "1", "memory": "1Gi"}
"""Huge pages need one of them beside."""


def sample_pod(name: str, spec: Object) -> Object:
    """Return the pod of a valid profile; our webhook leaves it alone.

    Volumes that a job would bring are empty ones.
    """
    container, pod = spec.get("container") or {}, spec.get("pod") or {}
    metadata, fields = pod.get("metadata") or {}, pod.get("spec") or {}
    limits = (container.get("resources") or {}).get("limits") or {}
    labels = {**(metadata.get("labels") or {}), names.PROFILE: names.PROFILE_NONE}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "generateName": f"{name}-", "labels": labels},
        "spec": {
            **fields,
            "volumes": _volumes(container, fields),
            "containers": [
                {
                    "name": "training",
                    "image": "registry.example.com/training",
                    **container,
                    "resources": {"limits": {**_LIMITS, **limits}},
                    "securityContext": _security(container, spec),
                }
            ],
        },
    }


def _volumes(container: Object, fields: Object) -> list[Any]:
    given = fields.get("volumes") or []
    known = {volume["name"] for volume in given}
    containers = (container, *(fields.get("initContainers") or ()))
    mounted = [mount["name"] for each in containers for mount in each.get("volumeMounts") or ()]
    brought = [name for name in dict.fromkeys(mounted) if name not in known]
    return [*given, *({"name": name, "emptyDir": {}} for name in brought)]


def _security(container: Object, spec: Object) -> Object:
    given = container.get("securityContext") or {}
    capabilities = given.get("capabilities") or {}
    added = [*(capabilities.get("add") or ()), *(["IPC_LOCK"] if spec.get("ipcLock", True) else [])]
    return {**given, "capabilities": {**capabilities, "add": added}}
