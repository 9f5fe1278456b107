"""Give the training container a real /dev/shm.

The runtime's own holds 64 MiB, too little for NCCL and data loaders.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row, stated
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan
from webhook.core.quantity import stored_quantity

STEP: Final = Row("shared-memory")


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Mount a tmpfs at /dev/shm in the training container, unless something is mounted there."""
    settings, path = plan.profile.shared_memory, names.SHM_MOUNT_PATH
    who = f"container {plan.container_name}"
    if not settings.enabled:
        message = f"profile {plan.profile.name} has sharedMemory.enabled: false"
        return [STEP.skipped(Reason.DISABLED, message)]
    for mount in podspec.mounts(plan.trainer(draft.pod)):
        if podspec.normalized_mount_path(mount["mountPath"]) == path:
            found = STEP.already_there(f"{who} has volume {mount['name']} at {path}")
            return [found, *_oversized(draft, plan, mount["name"])]
    if draft.get("spec", "hostIPC"):
        message = (
            f"the pod has hostIPC: true and so the node's own {path}, which a mount would hide"
        )
        return [STEP.skipped(Reason.HOST_IPC, message)]
    name = names.SHM_VOLUME
    there = podspec.volume_named(draft.pod, name)
    if there is None:
        empty_dir = stated(medium="Memory", sizeLimit=str(settings.size_limit))
        draft.append(("spec", "volumes"), {"name": name, "emptyDir": empty_dir})
    elif (there.get("emptyDir") or {}).get("medium") != "Memory":
        message = f"volume {name} has the name of the tmpfs at {path} and is another one"
        return [STEP.warned(plan, Reason.USER_VALUE, f"{message}; rename it")]
    draft.append(plan.in_trainer("volumeMounts"), {"name": name, "mountPath": path})
    added = STEP.added(f"volume {name}, a tmpfs, is mounted at {path} of {who}")
    return [added, *_oversized(draft, plan, name)]


def _oversized(draft: Draft, plan: Plan, name: str) -> Iterator[Decision]:
    """Warn where the profile's size cannot be reached.

    The tmpfs counts against the memory of the container, and of the pod. A size of the user's own
    is not judged.
    """
    size = plan.profile.shared_memory.size_limit
    volume: Object = podspec.volume_named(draft.pod, name) or {}
    if not size or (volume.get("emptyDir") or {}).get("sizeLimit") != size:
        return
    for whose, holder in (
        (f"container {plan.container_name}'s", plan.trainer(draft.pod)),
        ("the pod's own (spec.resources)", draft.pod["spec"]),
    ):
        memory: Any = podspec.limits(holder).get("memory")
        if memory is not None and 0 < stored_quantity(memory) < stored_quantity(size):
            where = f"{names.SHM_MOUNT_PATH} of {size}"
            message = f"{where} exceeds {whose} memory limit {memory}; raise the limit"
            yield STEP.warned(plan, Reason.OVERSIZED, message)
            return
