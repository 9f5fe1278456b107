"""Judge whether the image of a test's pods can be pulled, and can run the ranks: what is wrong is known before any timeout."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.injection.wait import runs_own_program
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.containers import WAITED_IN_VAIN
from webhook.diagnose.fabric_test.job import CONTAINER
from webhook.diagnose.finding import Finding

_NOT_PULLED = ("ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull")
"""ErrImagePull is what the first attempt leaves: the next one may succeed."""
_NO_FAULT = (None, 0, WAITED_IN_VAIN, 137, 143)
"""A rank ends with 0, whatever it found; the last two are from outside."""
_MOST_TEXT = 300
_EXEC, _NO_SHELL = "exec: ", 'exec: "sh"'
"""Begins, in a long message of the container runtime, what it could not do."""
_PULL = "correct --image, or name the Secret that pulls it by --image-pull-secret; without it, it is the installed webhook's"
_PROGRAM = "name an image that holds Python and fabric-injector of this version by --image; without it, it is the installed webhook's"
_NO_USER = (
    "name an image whose USER is a number other than 0 by --image, for the pods of a test run as non-root; "
    "without it, it is the installed webhook's"
)
_SHELL = (
    "the wait step needs sh: name an image that holds it by --image, or by rendezvous.waitImage where the profile sets that; "
    "with waitImage: installed none is needed"
)


class _Unfit(NamedTuple):
    """Tell one container that cannot run: its image, the problem, and what to do."""

    image: str
    problem: str
    action: str


def is_image_unfit(pods: Sequence[Object]) -> bool:
    """Tell whether a container's image cannot be pulled, or has ended because it cannot run a rank."""
    return any(_unfit(pod) for pod in pods)


def judge_image(pods: Sequence[Object]) -> list[Finding]:
    """Return a finding for each image that cannot be used, which names it and the pods that asked for it."""
    found: dict[_Unfit, list[str]] = {}
    for pod in pods:
        if unfit := _unfit(pod):
            found.setdefault(unfit, []).append(str(pod["metadata"]["name"]))
    return [
        Finding(
            "fail", Code.TEST_IMAGE_UNFIT, f"image {each.image}", f"{each.problem} (pod {', '.join(pods)})", each.action
        )
        for each, pods in found.items()
    ]


def _unfit(pod: Object) -> _Unfit | None:
    status = pod.get("status") or {}
    listed = [*(status.get("initContainerStatuses") or ()), *(status.get("containerStatuses") or ())]
    for each in listed:
        name, state = each.get("name"), each.get("state") or {}
        if name not in (CONTAINER, names.WAIT_CONTAINER):
            continue
        container, waiting = _container(pod, name), state.get("waiting") or {}
        image = str(container.get("image") or "")
        if waiting.get("reason") in _NOT_PULLED:
            text = _cut(waiting.get("message"))
            return _Unfit(image, f"cannot be pulled: {text or waiting['reason']}", _PULL)
        if "runAsNonRoot" in str(waiting.get("message") or ""):
            return _Unfit(image, _cut(waiting["message"].partition(" (pod:")[0]), _NO_USER)
        ended = state.get("terminated") or {}
        text = _cut(ended.get("message")) or f"status {ended.get('exitCode')}"
        if ended.get("reason") in ("StartError", "ContainerCannotRun"):
            text = text[max(text.find(_EXEC), 0) :]
            if text.startswith(_NO_SHELL):
                return _Unfit(image, f"has no shell: {text}", _SHELL)
            return _Unfit(image, f"cannot run fabric-injector: {text}", _PROGRAM)
        is_ours = name == CONTAINER or runs_own_program(container)
        if is_ours and ended.get("reason") == "Error" and ended.get("exitCode") not in _NO_FAULT:
            program = "test-rank" if name == CONTAINER else "wait"
            return _Unfit(
                image, f"fabric-injector {program} ended with status {ended.get('exitCode')}: {text}", _PROGRAM
            )
    return None


def _container(pod: Object, name: str) -> Object:
    listed = (*podspec.init_containers(pod), *podspec.containers(pod))
    return next((each for each in listed if each.get("name") == name), {})


def _cut(text: object) -> str:
    """Return the end of a text on one line: a traceback says last what is wrong."""
    line = " ".join(str(text or "").split())
    return line if len(line) <= _MOST_TEXT else f"…{line[-_MOST_TEXT:]}"
