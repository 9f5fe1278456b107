"""Add the wait container: an init container that waits until the published addresses are there, in a downward-API volume."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.model import Object
from webhook.core.plan import Plan
from webhook.core.workloads.training_pod import Rendezvous

FILES = {
    path: f"metadata.annotations['{annotation}']"
    for path, annotation in (
        ("master-addr", names.MASTER_ADDR),
        ("master-host", names.MASTER_HOST),
        ("local-addr", names.LOCAL_ADDR),
    )
}
"""The files that the wait step can wait for, each with the annotation that it shows."""
_INHERITED = ("runAsUser", "runAsGroup", "runAsNonRoot", "seLinuxOptions", "seccompProfile", "appArmorProfile")
_DEFAULT_MODE = 420
_NEEDS_AT = 4
"""Place of the first need in the command: ``sh -c SCRIPT NAME NEED…``."""


@cache
def script() -> str:
    """Return the shell script of the wait step, without its comments."""
    text = files("webhook.core.injection").joinpath("wait.sh").read_text(encoding="ascii")
    return "".join(line for line in text.splitlines(keepends=True) if not line.lstrip().startswith("#"))


def ensure(draft: Draft, plan: Plan, rendezvous: Rendezvous, needs: tuple[str, ...]) -> None:
    """Make the pod wait for the files in *needs*, ``("master-addr", "local-addr:own")``; a container that is there is not moved."""
    _ensure_volume(draft)
    training = draft.pod["spec"]["containers"][plan.container]
    wanted = _container(training, plan, rendezvous, needs)
    for index, container in enumerate(podspec.init_containers(draft.pod)):
        if container.get("name") == names.WAIT_CONTAINER:
            path = ("spec", "initContainers", index)
            for key in ("image", "command", "env"):
                draft.set_key(path, key, wanted[key])
            if not any(mount.get("name") == names.WAIT_VOLUME for mount in podspec.mounts(container)):
                draft.append((*path, "volumeMounts"), wanted["volumeMounts"][0])
            for key in ("args", "restartPolicy"):  # with either, one of the user's own would not wait
                draft.remove_key(path, key)
            return
    draft.append(("spec", "initContainers"), wanted)


def needs(pod: Object) -> list[str]:
    """Return what the wait container was told to wait for, ``["master-addr", "local-addr:own"]``; empty where there is none."""
    for container in podspec.init_containers(pod):
        if container.get("name") == names.WAIT_CONTAINER:
            return (container.get("command") or [])[_NEEDS_AT:]
    return []


def _ensure_volume(draft: Draft) -> None:
    items = [{"path": path, "fieldRef": {"apiVersion": "v1", "fieldPath": field}} for path, field in FILES.items()]
    volume = {"name": names.WAIT_VOLUME, "downwardAPI": {"items": items, "defaultMode": _DEFAULT_MODE}}
    for index, existing in enumerate(podspec.volumes(draft.pod)):
        if existing.get("name") == names.WAIT_VOLUME:
            draft.replace(("spec", "volumes"), index, volume)
            return
    draft.append(("spec", "volumes"), volume)


def _container(training: Object, plan: Plan, rendezvous: Rendezvous, needs: tuple[str, ...]) -> Object:
    settings = plan.profile.rendezvous
    container: Object = {
        "name": names.WAIT_CONTAINER,
        "image": settings.wait_image or training.get("image"),
        "command": ["sh", "-c", script(), names.WAIT_CONTAINER, *needs],
        "env": [
            {"name": "FABRIC_INJECTOR_JOB", "value": rendezvous.job},
            {"name": "FABRIC_INJECTOR_RANK_ZERO", "value": rendezvous.rank_zero},
            {"name": "FABRIC_INJECTOR_TIMEOUT", "value": str(settings.timeout_seconds)},
            {"name": "NVIDIA_VISIBLE_DEVICES", "value": "void"},
        ],
        "resources": _resources(training),
        "securityContext": _security_context(training),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": names.WAIT_VOLUME, "mountPath": names.WAIT_MOUNT_PATH, "readOnly": True}],
    }
    if (policy := training.get("imagePullPolicy")) and not settings.wait_image:
        container["imagePullPolicy"] = policy
    return container


def _resources(training: Object) -> Object:
    """Copy memory and cpu: the pod's QoS class stays, and what refuses or takes the training container does so with this one.

    Whole cpus of a Guaranteed pod are pinned once: the kubelet's static policy gives an init container's cpus to the containers that
    follow. Source: kubernetes pkg/kubelet/cm/cpumanager/policy_static.go, cpusToReuse; run with kubelet 1.36 on one free cpu.
    """
    resources: Object = {}
    for kind, source in (("limits", podspec.limits(training)), ("requests", podspec.requests(training))):
        copied = {name: source[name] for name in ("cpu", "memory") if name in source}
        if copied:
            resources[kind] = copied
    return resources


def _security_context(training: Object) -> Object:
    """Take the training container's user and confinement without its privileges: PodSecurity refuses nothing more for it."""
    theirs = training.get("securityContext") or {}
    context: Object = {
        "privileged": False,
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    for key in _INHERITED:
        if theirs.get(key) is not None:
            value = theirs[key]
            context[key] = dict(value) if isinstance(value, dict) else value
    return context
