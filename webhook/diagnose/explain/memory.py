"""Say whether the training container may lock memory, and whether its /dev/shm fits its memory."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core import names, podspec
from webhook.core.injection.ipc_lock import CAPABILITY, is_not_root, may_lock
from webhook.core.injection.pod_security import REFUSING_LEVELS
from webhook.core.model import Object, Reason
from webhook.core.quantity import stored_quantity
from webhook.diagnose.explain.observation import Observation, warn
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code
from webhook.diagnose.jobs import ObservedPod

IPC_LOCK_MISSING = Code(
    "ipc-lock-missing",
    "memlock",
    "The training container may not lock memory, so RDMA can register little or none.",
    "restart the job, or add capability IPC_LOCK in the job's template",
)
IPC_LOCK_INERT = Code(
    "ipc-lock-inert",
    "memlock",
    "The training container has capability IPC_LOCK, and runs where it has no effect.",
    "run as root in the node's user namespace, or raise the nodes' memlock limit",
)
SHARED_MEMORY_SMALL = Code(
    "shared-memory-small",
    "shared-memory",
    "The training container has the runtime's /dev/shm of 64 MiB.",
    "set sharedMemory.enabled in the profile, or mount an emptyDir of medium Memory there",
)
SHARED_MEMORY_ON_DISK = Code(
    "shared-memory-on-disk",
    "shared-memory",
    "The training container's /dev/shm is on the node's disk.",
    "give its emptyDir medium: Memory",
)
SHARED_MEMORY_BEYOND_LIMIT = Code(
    "shared-memory-beyond-limit",
    "shared-memory",
    "The training container's /dev/shm is larger than its memory limit.",
    "raise the memory limit, or lower sharedMemory.sizeLimit",
)

_SHM = names.SHM_MOUNT_PATH


def what_memory_allows(_snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Look at every pod that was injected and is not finished."""
    for pod in job.live:
        if pod.is_injected and not podspec.is_windows(pod.pod):
            yield from _memlock(job, pod)
            yield from _shared_memory(pod)


def _memlock(job: ObservedJob, pod: ObservedPod) -> Iterator[Observation]:
    context = pod.training.get("securityContext") or {}
    spec = pod.pod.get("spec") or {}
    title = f"container {pod.training.get('name')}"
    if not may_lock(context):
        decisions = pod.verdict.decisions if pod.verdict else ()
        if any(one.step == "ipc-lock" and one.reason is Reason.DISABLED for one in decisions):
            return
        level = (job.labels or {}).get(names.POD_SECURITY_ENFORCE)
        why, action = "", None
        if level in REFUSING_LEVELS:
            why = f": label {names.POD_SECURITY_ENFORCE}: {level} of namespace {job.namespace} refuses it"
            action = "label the namespace privileged, or raise the nodes' memlock limit"
        message = f"{title} has no {CAPABILITY}{why}; RDMA can then register little memory, or none"
        yield warn(IPC_LOCK_MISSING, pod, message, action)
        return
    if is_not_root(context, spec.get("securityContext") or {}):
        message = f"{title} runs as non-root, where {CAPABILITY} is inert"
        action = "run as root, or raise the nodes' memlock limit"
        yield warn(IPC_LOCK_INERT, pod, message, action)
    if spec.get("hostUsers") is False:
        message = f"the pod has hostUsers: false, where {CAPABILITY} is inert"
        yield warn(IPC_LOCK_INERT, pod, message, "remove it, or raise the nodes' memlock limit")


def _shared_memory(pod: ObservedPod) -> Iterator[Observation]:
    title, volume = f"container {pod.training.get('name')}", shared_memory(pod)
    if volume is None:
        if not (pod.pod.get("spec") or {}).get("hostIPC"):
            message = f"{title} has the runtime's own {_SHM} of 64 MiB"
            yield warn(SHARED_MEMORY_SMALL, pod, message)
        return
    empty_dir = volume.get("emptyDir")
    if empty_dir is None:
        return
    if empty_dir.get("medium") != "Memory":
        message = f"{_SHM} is volume {volume.get('name')} on the node's disk, not in memory"
        yield warn(SHARED_MEMORY_ON_DISK, pod, message)
        return
    size, memory = empty_dir.get("sizeLimit"), podspec.limits(pod.training).get("memory")
    if 0 < stored_quantity(memory) < stored_quantity(size):
        message = (
            f"{_SHM} may hold {size}, and counts against {title}'s memory limit of {memory}: "
            "it is killed before it is full"
        )
        yield warn(SHARED_MEMORY_BEYOND_LIMIT, pod, message)


def shared_memory(pod: ObservedPod) -> Object | None:
    """Return the volume at /dev/shm of the training container; None where that is the runtime's."""
    for mount in podspec.mounts(pod.training):
        if podspec.normalized_mount_path(str(mount.get("mountPath") or "")) == _SHM:
            return podspec.volume_named(pod.pod, str(mount.get("name"))) or {}
    return None
