"""Give the training container a real /dev/shm.

The runtime's own holds 64 MiB, too little for NCCL and data loaders.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row, stated
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import limits, mounts, normalized_mount_path, volumes
from webhook.core.profiles import SharedMemory
from webhook.core.quantity import parse_quantity

STEP: Final = Row("shared-memory")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount a tmpfs at /dev/shm in the training container, unless something is mounted there."""
    settings = plan.profile.shared_memory
    if not settings.enabled:
        message = f"profile {plan.profile.name} has sharedMemory.enabled: false"
        return [STEP.skipped(Reason.DISABLED, message)]
    found = [mount for mount in mounts(plan.trainer(draft.pod)) if _is_shm(mount)]
    if found:
        return _keep(draft, plan, found)
    if draft.get("spec", "hostIPC"):
        message = (
            "the pod has hostIPC: true and so the node's own /dev/shm, which a mount would hide"
        )
        return [STEP.skipped(Reason.HOST_IPC, message)]
    if podspec.is_windows(draft.pod):
        return [STEP.skipped(Reason.WINDOWS, "a Windows pod has no /dev/shm")]
    name = names.SHM_VOLUME
    if not _volume(draft, settings):
        message = f"volume {name} has the name of the tmpfs at {names.SHM_MOUNT_PATH} and holds"
        return [STEP.warned(plan, Reason.USER_VALUE, f"{message} something else; rename it")]
    mount = {"name": name, "mountPath": names.SHM_MOUNT_PATH}
    draft.append(plan.in_trainer("volumeMounts"), mount)
    where = f"{names.SHM_MOUNT_PATH} of container {plan.container_name}"
    added = STEP.added(f"volume {name}, a tmpfs, is mounted at {where}")
    return [added, *_oversized(draft, plan, name)]


def _is_shm(mount: Object) -> bool:
    return normalized_mount_path(mount["mountPath"]) == names.SHM_MOUNT_PATH


def _keep(draft: Draft, plan: Plan, found: Sequence[Object]) -> list[Decision]:
    named = ", ".join(str(mount.get("name")) for mount in found)
    who, path = f"container {plan.container_name}", names.SHM_MOUNT_PATH
    decision = STEP.already_there(f"{who} has volume {named} at {path}")
    if len(found) > 1:
        message = f"{who} mounts {path} {len(found)} times ({named}); keep one of the mounts"
        return [decision, STEP.warned(plan, Reason.INVALID_POD, message)]
    name, settings = found[0]["name"], plan.profile.shared_memory
    if _limit(draft, settings, name):
        decision = STEP.added(
            f"volume {name} at {path} had no sizeLimit and gets {settings.size_limit}"
        )
    return [decision, *_oversized(draft, plan, name)]


def _limit(draft: Draft, settings: SharedMemory, name: str) -> bool:
    """Limit an existing tmpfs that has no limit, where the profile says so; tell whether it did."""
    if settings.limit_existing and settings.size_limit:
        for index, volume in enumerate(volumes(draft.pod)):
            if (
                volume.get("name") == name
                and _is_tmpfs(volume)
                and volume["emptyDir"].get("sizeLimit") is None
            ):
                path = ("spec", "volumes", index, "emptyDir")
                return draft.set_key(path, "sizeLimit", str(settings.size_limit))
    return False


def _volume(draft: Draft, settings: SharedMemory) -> bool:
    """Add a tmpfs of ours; False where the pod has another volume of its name."""
    there = podspec.volume_named(draft.pod, names.SHM_VOLUME)
    if there is None:
        empty_dir = stated(medium="Memory", sizeLimit=str(settings.size_limit))
        draft.append(("spec", "volumes"), {"name": names.SHM_VOLUME, "emptyDir": empty_dir})
    elif _is_tmpfs(there):
        _limit(draft, settings, names.SHM_VOLUME)
    else:
        return False
    return True


def _is_tmpfs(volume: Object) -> bool:
    return (volume.get("emptyDir") or {}).get("medium") == "Memory"


def _oversized(draft: Draft, plan: Plan, name: str) -> list[Decision]:
    """Warn where the profile's size cannot be reached.

    The tmpfs counts against the memory of the container, and of the pod. A size of the user's own
    is not judged.
    """
    size = plan.profile.shared_memory.size_limit
    if not size or not any(
        volume.get("name") == name and (volume.get("emptyDir") or {}).get("sizeLimit") == size
        for volume in volumes(draft.pod)
    ):
        return []
    for whose, holder in (
        (f"container {plan.container_name}'s", plan.trainer(draft.pod)),
        ("the pod's own (spec.resources)", draft.pod["spec"]),
    ):
        memory = limits(holder).get("memory")
        if _exceeds(size, memory):
            where = f"{names.SHM_MOUNT_PATH} of {size}"
            message = f"{where} exceeds {whose} memory limit {memory}; raise the limit"
            return [STEP.warned(plan, Reason.OVERSIZED, message)]
    return []


def _exceeds(size_limit: str, memory: str | float | None) -> bool:
    if memory is None:
        return False
    try:
        return parse_quantity(size_limit) > parse_quantity(memory)
    except ValueError:  # the API server refuses such a limit in its own words
        return False
