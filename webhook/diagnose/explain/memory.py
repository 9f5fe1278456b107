"""Say whether the training container may lock memory, and whether its /dev/shm fits into its memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from webhook.core import names, podspec
from webhook.core.injection.ipc_lock import CAPABILITY, is_not_root, may_lock
from webhook.core.injection.pod_security import REFUSING_LEVELS
from webhook.core.model import Object, Reason
from webhook.core.quantity import stored_quantity
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at every pod that was injected and is not finished."""
    for part in parts:
        if part.is_live and part.is_injected and not podspec.is_windows(part.pod):
            yield from _memlock(reading, part)
            yield from _shared_memory(part)


def _memlock(reading: Reading, part: Part) -> Iterator[Observation]:
    container, pods = part.training, (part.name,)
    name, context, spec = (
        container.get("name"),
        container.get("securityContext") or {},
        part.pod.get("spec") or {},
    )
    if not may_lock(context):
        if part.verdict and any(
            each.step == "ipc-lock" and each.reason is Reason.DISABLED
            for each in part.verdict.decisions
        ):
            return
        level = (reading.labels or {}).get(names.POD_SECURITY_ENFORCE)
        why, action = "", None
        if level in REFUSING_LEVELS:
            why = f": label {names.POD_SECURITY_ENFORCE}: {level} of namespace {reading.namespace} refuses it"
            action = "label the namespace privileged, or raise the nodes' memlock limit"
        message = f"container {name} has no {CAPABILITY}{why}; RDMA can then register little memory, or none"
        yield Observation(Stage.SPEED, "warn", Code.IPC_LOCK_MISSING, message, action, pods)
        return
    if is_not_root(context, spec.get("securityContext") or {}):
        message = f"container {name} runs as non-root, where {CAPABILITY} is inert"
        action = "run as root, or raise the nodes' memlock limit"
        yield Observation(Stage.SPEED, "warn", Code.IPC_LOCK_INERT, message, action, pods)
    if spec.get("hostUsers") is False:
        message = f"the pod has hostUsers: false, where {CAPABILITY} is inert"
        action = "remove it, or raise the nodes' memlock limit"
        yield Observation(Stage.SPEED, "warn", Code.IPC_LOCK_INERT, message, action, pods)


def _shared_memory(part: Part) -> Iterator[Observation]:
    container, pods = part.training, (part.name,)
    volume = _volume(part.pod, container)
    if volume is None:
        if not (part.pod.get("spec") or {}).get("hostIPC"):
            message = f"container {container.get('name')} has the runtime's own {names.SHM_MOUNT_PATH} of 64 MiB"
            yield Observation(Stage.SPEED, "warn", Code.SHARED_MEMORY_SMALL, message, pods=pods)
        return
    empty_dir = volume.get("emptyDir")
    if empty_dir is None:
        return
    if empty_dir.get("medium") != "Memory":
        message = f"{names.SHM_MOUNT_PATH} is volume {volume.get('name')} on the node's disk, not in memory"
        yield Observation(Stage.SPEED, "warn", Code.SHARED_MEMORY_ON_DISK, message, pods=pods)
        return
    size, memory = empty_dir.get("sizeLimit"), podspec.limits(container).get("memory")
    if 0 < stored_quantity(memory) < stored_quantity(size):
        message = (
            f"{names.SHM_MOUNT_PATH} may hold {size}, and counts against container {container.get('name')}'s memory limit of {memory}: "
            "it is killed before it is full"
        )
        yield Observation(Stage.SPEED, "warn", Code.SHARED_MEMORY_BEYOND_LIMIT, message, pods=pods)


def _volume(pod: Object, container: Object) -> Object | None:
    for mount in podspec.mounts(container):
        if podspec.normalized_mount_path(str(mount.get("mountPath") or "")) == names.SHM_MOUNT_PATH:
            return podspec.volume_named(pod, str(mount.get("name"))) or {}
    return None
