"""Say which containers cannot start, or have ended, and what they left as their last words."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod
from webhook.core.workloads.endpoint import is_local
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part, log_command
from webhook.diagnose.finding import Level

WAITED_IN_VAIN = 75
_CANNOT_START = {
    "ImagePullBackOff": "correct the image, or the pull secret",
    "ErrImagePull": "correct the image, or the pull secret",
    "ErrImageNeverPull": "put the image on the nodes, or change imagePullPolicy",
    "InvalidImageName": "correct the image's name",
    "CreateContainerConfigError": "create what the message names, or correct the reference",
    "CreateContainerError": "look at the container runtime's log on the node",
    "RunContainerError": "look at the container runtime's log on the node",
    "CrashLoopBackOff": "",
}
_NO_SHELL = re.compile(
    r'exec: "?(?:/bin/)?sh"?: .*(?:not found|no such file)', re.IGNORECASE | re.DOTALL
)
_POINTER = re.compile(
    r" Look at ((?:the Events of its rank-0 pod ([^\s,]*)|this pod's annotation [^\s,]*), at .*)$",
    re.DOTALL,
)
"""How a wait step whose time was up ends; see wait.sh. It says what to do."""
_SHELL_ACTION = "its image has no sh: set rendezvous.waitImage of the profile to installed, then restart the job"
_MEMORY_ACTION = (
    "raise the container's memory limit, or let it use less: what is written to /dev/shm counts too"
)
_POD_FAILED = {
    "UnexpectedAdmissionError": "look at the device plugin on the node: it could not give what the scheduler had counted on",
    "Evicted": "free the node of what it lacks, or raise the pod's requests",
}
_WAIT_ACTION = {
    "ImagePullBackOff": "it runs the training container's image: correct that image, or rendezvous.waitImage of the profile",
    "ErrImagePull": "it runs the training container's image: correct that image, or rendezvous.waitImage of the profile",
    "RunContainerError": _SHELL_ACTION,
    "CreateContainerError": _SHELL_ACTION,
}


def observe(parts: Sequence[Part]) -> Iterator[Observation]:
    """Look at the containers of the pods, and at those that their node refused or gave up."""
    newest: dict[str, str] = {}
    existing = {name for part in parts for name in podspec.own_names(part.pod)}
    for part in parts:
        if part.is_live:
            newest[part.job] = max(newest.get(part.job, ""), part.created)
    for part in parts:
        followed = not part.is_live and newest.get(part.job, "") > part.created
        found = [
            *_pod(part),
            *_unresolved(part),
            *(
                each
                for status in part.container_statuses
                for each in _container(part, status, existing)
            ),
        ]
        for one in found:
            yield replace(one, level="warn") if followed and one.level == "fail" else one


def _pod(part: Part) -> Iterator[Observation]:
    status = part.pod.get("status") or {}
    if part.phase == "Failed" and status.get("reason"):
        text = common_form(str(status.get("message") or ""), part.name)
        action = _POD_FAILED.get(str(status["reason"]))
        message = f"was ended by its node: {status['reason']}"
        yield Observation(
            Stage.SCHEDULING,
            "fail",
            Code.POD_ENDED_BY_NODE,
            message,
            action,
            (part.name,),
            detail=text,
        )


def _unresolved(part: Part) -> Iterator[Observation]:
    """Tell a pod that has failed where the name of its rank 0 means nothing: hostNetwork alone takes the cluster's DNS from it.

    Source: https://kubernetes.io/docs/concepts/services-networking/dns-pod-service/#pod-s-dns-policy
    """
    spec = part.pod.get("spec") or {}
    meets = part.found.rendezvous if isinstance(part.found, TrainingPod) else None
    hosts = sorted(host for host in meets.hosts if not is_local(host)) if meets is not None else []
    if not hosts or not podspec.is_host_network(part.pod) or spec.get("dnsConfig"):
        return
    ended = [_ended(status) for status in part.container_statuses]
    has_failed = any(each.get("exitCode") and each.get("reason") != "OOMKilled" for each in ended)
    if has_failed and (spec.get("dnsPolicy") or "ClusterFirst") in ("ClusterFirst", "Default"):
        whose = "uses its node's network (hostNetwork) and its node's DNS"
        message = (
            f"{whose}, which knows no name of the cluster: {hosts[0]}, where rank 0 is, among them"
        )
        yield Observation(Stage.NETWORK, "fail", Code.NAMES_UNRESOLVED, message, pods=(part.name,))


def _ended(status: Object) -> Object:
    """Return how a container ended, now or before; an empty object for one that has not."""
    states = (status.get("state") or {}, status.get("lastState") or {})
    return next((each["terminated"] for each in states if each.get("terminated")), {})


def _container(part: Part, status: Object, existing: Collection[str]) -> Iterator[Observation]:
    name, state = str(status.get("name")), status.get("state") or {}
    waiting, pods = state.get("waiting") or {}, (part.name,)
    reason = str(waiting.get("reason") or "")
    ended = _ended(status)
    is_wait = name == names.WAIT_CONTAINER
    title = "the wait step" if is_wait else f"container {name}"
    if (
        is_wait
        and ended.get("exitCode") == WAITED_IN_VAIN
        and part.member
        and part.member.published.wait_ends
    ):
        return  # see waiting
    if is_wait and ended.get("exitCode") == WAITED_IN_VAIN:
        text = common_form(str(ended.get("message") or "its time was up"), part.name)
        again = " and waits again" if part.is_live else ""
        level: Level = "warn" if part.is_live else "fail"
        text, action = _without_pointer(part, text, existing)
        yield Observation(
            Stage.WAIT,
            level,
            Code.WAIT_GAVE_UP,
            f"{title} gave up{again}",
            action,
            pods,
            detail=text,
        )
    elif reason in _CANNOT_START and part.is_live:
        text = common_form(str(waiting.get("message") or ""), part.name)
        if reason == "CrashLoopBackOff" and ended:
            text = f"status {ended.get('exitCode')}{_reason(ended)}{_words(ended, part.name)}"
        action = (
            _WAIT_ACTION.get(reason, _CANNOT_START[reason]) if is_wait else _CANNOT_START[reason]
        )
        action = (
            _action_of(ended, is_wait=is_wait)
            or action
            or f"look at its log: {log_command(part, name, before=True)}"
        )
        message = f"{title} does not start: {reason}"
        yield Observation(
            Stage.CONTAINER, "fail", Code.CONTAINER_NOT_STARTING, message, action, pods, detail=text
        )
    elif (state.get("terminated") or {}).get("exitCode"):
        message = f"{title} exited with {ended['exitCode']}{_reason(ended)}"
        text = _words(ended, part.name).removeprefix(": ")
        action = _action_of(ended, is_wait=is_wait) or f"look at its log: {log_command(part, name)}"
        yield Observation(
            Stage.CONTAINER, "fail", Code.CONTAINER_FAILED, message, action, pods, detail=text
        )


def _without_pointer(part: Part, text: str, existing: Collection[str]) -> tuple[str, str | None]:
    """Return the wait step's last words, and what to do, None for what the code says; a rank-0 pod that is gone is not pointed at."""
    pointer = _POINTER.search(text)
    if pointer is None:
        return text, None
    if not pointer[2] or pointer[2] in existing:
        action = f"look at {pointer[1].rstrip('.')}" if pointer[2] != "" else None
        return text[: pointer.start()], action
    owner = podspec.controller(part.pod)
    title = f"{owner.get('kind')} {owner.get('name')}" if owner else "the job"
    there = f"there is no pod {pointer[2]} now: look at the Events of {title}, and at the quota and policies of its namespace"
    return text[: pointer.start()], there


def _action_of(ended: Object, *, is_wait: bool) -> str:
    """Return what to do where the way in which a container ended tells it; else an empty text."""
    if ended.get("reason") == "OOMKilled":
        return _MEMORY_ACTION
    return _SHELL_ACTION if is_wait and _NO_SHELL.search(str(ended.get("message") or "")) else ""


def _reason(ended: Object) -> str:
    reason = ended.get("reason")
    return f" ({reason})" if reason and reason != "Error" else ""


def _words(ended: Object, pod: str) -> str:
    text = common_form(str(ended.get("message") or ""), pod, limit=200)
    return f": {text}" if text else ""
