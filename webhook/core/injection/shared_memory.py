"""Give the training container a real /dev/shm: the runtime's own holds 64 MiB, too little for NCCL and data loaders."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from webhook.core import names
from webhook.core.draft import Draft
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import (
    containers,
    init_containers,
    limits,
    mounts,
    normalized_mount_path,
    volumes,
)
from webhook.core.profiles import SharedMemory
from webhook.core.quantity import parse_quantity

STEP: Final = "shared-memory"


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount a tmpfs at /dev/shm in the training container, unless something is mounted there."""
    settings = plan.profile.shared_memory
    if not settings.enabled:
        message = f"profile {plan.profile.name} has sharedMemory.enabled: false"
        return [Decision(STEP, Outcome.SKIPPED, Reason.DISABLED, message)]
    found = [
        mount
        for mount in mounts(containers(draft.pod)[plan.container])
        if "shm" in mount["mountPath"] and _is_shm(mount)
    ]
    if found:
        return _keep(draft, plan, found)
    if draft.get("spec", "hostIPC"):
        message = (
            "the pod has hostIPC: true and so the node's own /dev/shm, which a mount would hide"
        )
        return [Decision(STEP, Outcome.SKIPPED, Reason.HOST_IPC, message)]
    if draft.get("spec", "os", "name") == "windows":
        return [Decision(STEP, Outcome.SKIPPED, Reason.WINDOWS, "a Windows pod has no /dev/shm")]
    name = _volume(draft, settings)
    mount = {"name": name, "mountPath": names.SHM_MOUNT_PATH}
    draft.append(("spec", "containers", plan.container, "volumeMounts"), mount)
    message = f"volume {name}, a tmpfs, is mounted at {names.SHM_MOUNT_PATH} of container {plan.container_name}"
    return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, message), *_oversized(draft, plan, name)]


def _is_shm(mount: Object) -> bool:
    path: str = mount["mountPath"]
    return path == names.SHM_MOUNT_PATH or normalized_mount_path(path) == names.SHM_MOUNT_PATH


def _keep(draft: Draft, plan: Plan, found: Sequence[Object]) -> list[Decision]:
    named = ", ".join(str(mount.get("name")) for mount in found)
    kept = f"container {plan.container_name} has volume {named} at {names.SHM_MOUNT_PATH}"
    decision = Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, kept)
    if len(found) > 1:
        message = f"pod {plan.pod_name}: container {plan.container_name} mounts {names.SHM_MOUNT_PATH} {len(found)} times ({named})"
        return [
            decision,
            Decision(
                STEP, Outcome.WARNED, Reason.INVALID_POD, f"{message}; keep one of the mounts"
            ),
        ]
    name, settings = found[0]["name"], plan.profile.shared_memory
    if _limit(draft, settings, name):
        message = f"volume {name} at {names.SHM_MOUNT_PATH} had no sizeLimit and gets {settings.size_limit}"
        decision = Decision(STEP, Outcome.INJECTED, Reason.ADDED, message)
    return [decision, *_oversized(draft, plan, name)]


def _limit(draft: Draft, settings: SharedMemory, name: str) -> bool:
    """Limit an existing tmpfs that has no limit, where the profile says so; tell whether that was done."""
    if settings.limit_existing and settings.size_limit:
        for index, volume in enumerate(volumes(draft.pod)):
            if (
                volume.get("name") == name
                and _is_tmpfs(volume)
                and volume["emptyDir"].get("sizeLimit") is None
            ):
                return draft.set_key(
                    ("spec", "volumes", index, "emptyDir"), "sizeLimit", settings.size_limit
                )
    return False


def _volume(draft: Draft, settings: SharedMemory) -> str:
    """Return the name of a tmpfs volume of ours, added unless it is there; one that is mounted elsewhere too is the user's."""
    taken = {volume.get("name"): volume for volume in volumes(draft.pod)}
    name = names.SHM_VOLUME
    number = 1
    while name in taken:
        if _is_tmpfs(taken[name]) and not _is_mounted_elsewhere(draft, name):
            _limit(draft, settings, name)
            return name
        number += 1
        name = f"{names.SHM_VOLUME}-{number}"
    empty_dir = {"medium": "Memory"}
    if settings.size_limit:
        empty_dir["sizeLimit"] = settings.size_limit
    draft.append(("spec", "volumes"), {"name": name, "emptyDir": empty_dir})
    return name


def _is_mounted_elsewhere(draft: Draft, name: str) -> bool:
    found = (*containers(draft.pod), *init_containers(draft.pod))
    return any(
        mount["name"] == name and not _is_shm(mount)
        for container in found
        for mount in mounts(container)
    )


def _is_tmpfs(volume: Object) -> bool:
    return (volume.get("emptyDir") or {}).get("medium") == "Memory"


def _oversized(draft: Draft, plan: Plan, name: str) -> list[Decision]:
    """Warn where the profile's size cannot be reached, because the tmpfs counts against the memory of the container, or of the pod."""
    size_limit = plan.profile.shared_memory.size_limit
    if not size_limit or not any(
        volume.get("name") == name and (volume.get("emptyDir") or {}).get("sizeLimit") == size_limit
        for volume in volumes(draft.pod)
    ):
        return []  # none, or the user's own
    own, whole = containers(draft.pod)[plan.container], draft.pod["spec"]
    for whose, holder in (
        (f"container {plan.container_name}'s", own),
        ("the pod's own (spec.resources)", whole),
    ):
        memory = limits(holder).get("memory")
        if _exceeds(size_limit, memory):
            message = f"{names.SHM_MOUNT_PATH} of {size_limit} exceeds {whose} memory limit {memory}; raise the limit"
            return [
                Decision(STEP, Outcome.WARNED, Reason.OVERSIZED, f"pod {plan.pod_name}: {message}")
            ]
    return []


def _exceeds(size_limit: str, memory: str | float | None) -> bool:
    if memory is None or memory == size_limit:
        return False
    try:
        return parse_quantity(size_limit) > parse_quantity(memory)
    except ValueError:  # the API server refuses such a limit in its own words
        return False
