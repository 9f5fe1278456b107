"""Make the pod that a profile makes of one that says nothing itself, for an API server to judge."""

from typing import Any

from webhook.core import names
from webhook.core.injection.ipc_lock import CAPABILITY
from webhook.core.model import Object
from webhook.core.profiles import Profile


def sample_pod(profile: Profile) -> Object:
    """Return the pod; our webhook leaves it alone, and volumes that a job would bring are empty."""
    metadata, fields = profile.pod.get("metadata") or {}, profile.pod.get("spec") or {}
    labels = {**(metadata.get("labels") or {}), names.PROFILE: names.PROFILE_NONE}
    training = {
        "name": "training",
        "image": "registry.example.com/training",
        **profile.container,
        "resources": {"limits": {"cpu": "1", "memory": "1Gi", **profile.resources}},
        "securityContext": _security(profile),
    }
    containers = (training, *(fields.get("initContainers") or ()))
    mounted = [mount["name"] for each in containers for mount in each.get("volumeMounts") or ()]
    brought = [name for name in dict.fromkeys(mounted) if name not in profile.volumes]
    volumes = [*profile.volumes.values(), *({"name": name, "emptyDir": {}} for name in brought)]
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**metadata, "generateName": f"{profile.name}-", "labels": labels},
        "spec": {**fields, "volumes": volumes, "containers": [training]},
    }


def _security(profile: Profile) -> dict[str, Any]:
    given = profile.container.get("securityContext") or {}
    capabilities = given.get("capabilities") or {}
    added = [*(capabilities.get("add") or ()), *([CAPABILITY] if profile.ipc_lock else [])]
    return {**given, "capabilities": {**capabilities, "add": added}}
