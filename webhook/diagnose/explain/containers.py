"""Say which containers cannot start or have ended."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.quantity import stored_quantity
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.finding import Code, Finding, Level, Stage
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import common_form

POD_ENDED_BY_NODE = Code(
    "containers/pod-ended-by-node",
    "The pod's node refused it or gave it up.",
    "look at the node's Events",
)
WAIT_GAVE_UP = Code(
    "wait/wait-gave-up",
    "The pod's wait step gave up waiting for an address.",
    "see the other findings: why was the address not published?",
)
CONTAINER_NOT_STARTING = Code(
    "containers/container-not-starting",
    "A container of the pod does not start.",
    "look at its log",
)
CONTAINER_FAILED = Code(
    "containers/container-failed",
    "A container of the pod ended with an error.",
    "look at its log",
)

_IMAGE = "correct the image, or the pull secret"
_RUNTIME = "look at the container runtime's log on the node"
_CANNOT_START = {
    "ImagePullBackOff": _IMAGE,
    "ErrImagePull": _IMAGE,
    "ErrImageNeverPull": "put the image on the nodes, or change imagePullPolicy",
    "InvalidImageName": "correct the image's name",
    "CreateContainerConfigError": "create what the message names, or correct the reference",
    "CreateContainerError": _RUNTIME,
    "RunContainerError": _RUNTIME,
    "CrashLoopBackOff": "",
}
_NO_SHELL = re.compile(
    r'exec: "?(?:/bin/)?sh"?: .*(?:not found|no such file)', re.IGNORECASE | re.DOTALL
)
_NO_SHELL_ACTION = (
    "its image has no sh: set rendezvous.waitImage: installed in the profile, then restart the job"
)
_MEMORY_ACTION = (
    "raise the container's memory limit, or let it use less: what is written to /dev/shm counts too"
)
_POD_FAILED = {
    "UnexpectedAdmissionError": "look at the device plugin on the node: it could not give a device",
    "Evicted": "free the node of what it lacks, or raise the pod's requests",
}
_WAIT_IMAGE = "it runs the training container's image: correct that, or rendezvous.waitImage"
_WAIT_ACTION = {
    "ImagePullBackOff": _WAIT_IMAGE,
    "ErrImagePull": _WAIT_IMAGE,
    "RunContainerError": _NO_SHELL_ACTION,
    "CreateContainerError": _NO_SHELL_ACTION,
}
GAVE_UP = 75
"""The exit status of a wait step that found no address: wait.sh."""
_WORDS = "fabric-injector: "
"""How the last words of a wait step begin that gave up: wait.sh."""
_SIGBUS = 135
_SMALL = 1 << 30
"""Less /dev/shm than this is soon full of what data loaders and NCCL put there."""


def what_failed(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at containers, and at pods that a node refused; one that was followed is a warning."""
    newest: dict[str, str] = {}
    for pod in job.live:
        newest[pod.job] = max(newest.get(pod.job, ""), pod.created)
    for pod in job.pods:
        followed = not pod.is_live and newest.get(pod.job, "") > pod.created
        for one in _of_pod(pod):
            yield replace(one, level="warn") if followed and one.level == "fail" else one


def _of_pod(pod: ObservedPod) -> Iterator[Finding]:
    status = pod.pod.get("status") or {}
    if pod.phase == "Failed" and (reason := str(status.get("reason") or "")):
        detail = common_form(str(status.get("message") or ""), pod.name)
        message, action = f"was ended by its node: {reason}", _POD_FAILED.get(reason)
        more = {"detail": detail, "stage": Stage.SCHEDULING}
        yield POD_ENDED_BY_NODE.fail(pod, message, action, **more)
    for each in pod.container_statuses:
        yield from _container(pod, each)


def _ended(status: Object) -> Object:
    """Return how a container ended, now or before; an empty object for one that has not."""
    states = (status.get("state") or {}, status.get("lastState") or {})
    return next((each["terminated"] for each in states if each.get("terminated")), {})


def _container(pod: ObservedPod, status: Object) -> Iterator[Finding]:
    name, state, ended = str(status.get("name")), status.get("state") or {}, _ended(status)
    is_wait = name == names.WAIT_CONTAINER
    title = "the wait step" if is_wait else f"container {name}"
    is_own_word = str(ended.get("message") or "").startswith(_WORDS) and ended.get("exitCode")
    if is_wait and (is_own_word or ended.get("exitCode") == GAVE_UP):
        if not (pod.member and pod.member.published.wait_ends):  # else that is the cause
            again = " and waits again" if pod.is_live else ""
            detail = common_form(str(ended.get("message") or "its time was up"), pod.name)
            level: Level = "warn" if pod.is_live else "fail"
            yield WAIT_GAVE_UP.found(level, pod, f"{title} gave up{again}", detail=detail)
        return
    waiting = state.get("waiting") or {}
    reason = str(waiting.get("reason") or "")
    action = _action(pod, ended, is_wait=is_wait)
    if reason in _CANNOT_START and pod.is_live:
        detail = common_form(str(waiting.get("message") or ""), pod.name)
        if reason == "CrashLoopBackOff" and ended:
            words = _words(ended, pod.name)
            detail = f"status {ended.get('exitCode')}{_reason(ended)}{': ' if words else ''}{words}"
        known = _WAIT_ACTION.get(reason, "") if is_wait else ""
        action = action or known or _CANNOT_START[reason]
        action = action or f"look at its log: {pod.log_command(name, before=True)}"
        message = f"{title} does not start: {reason}"
        yield CONTAINER_NOT_STARTING.fail(pod, message, action, detail=detail)
    elif (state.get("terminated") or {}).get("exitCode"):
        message = f"{title} exited with {ended['exitCode']}{_reason(ended)}"
        action = action or f"look at its log: {pod.log_command(name)}"
        detail = _words(ended, pod.name)
        yield CONTAINER_FAILED.fail(pod, message, action, detail=detail)


def _action(pod: ObservedPod, ended: Object, *, is_wait: bool) -> str:
    """Return what to do where the way in which a container ended tells it; else an empty text."""
    if ended.get("reason") == "OOMKilled":
        return _MEMORY_ACTION
    if is_wait:
        return _NO_SHELL_ACTION if _NO_SHELL.search(str(ended.get("message") or "")) else ""
    volume = shared_memory(pod)
    size = ((volume or {}).get("emptyDir") or {}).get("sizeLimit")
    if ended.get("exitCode") == _SIGBUS and (volume is None or 0 < stored_quantity(size) < _SMALL):
        has = f"of {size}" if size else "of 64 MiB"
        larger = f"give it a larger {names.SHM_MOUNT_PATH} than the one {has}"
        return f"{larger}, by sharedMemory of the profile"
    return ""


def _reason(ended: Object) -> str:
    if ended.get("exitCode") == _SIGBUS:
        return " (SIGBUS)"
    reason = ended.get("reason")
    return f" ({reason})" if reason and reason != "Error" else ""


def _words(ended: Object, pod: str) -> str:
    return common_form(str(ended.get("message") or ""), pod, limit=200)


def shared_memory(pod: ObservedPod) -> Object | None:
    """Return the volume at /dev/shm of the training container; None where that is the runtime's."""
    for mount in podspec.mounts(pod.training):
        if podspec.normalized_mount_path(str(mount.get("mountPath") or "")) == names.SHM_MOUNT_PATH:
            return podspec.volume_named(pod.pod, str(mount.get("name"))) or {}
    return None
