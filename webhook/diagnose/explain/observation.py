"""Say what a topic found of some pods, and fold what was found of many into findings, the cause before what follows from it."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from enum import IntEnum

from webhook.diagnose.codes import Code
from webhook.diagnose.finding import WEIGHT, Finding, Level
from webhook.diagnose.finding import Code as NewCode
from webhook.diagnose.wording import listed

_EXAMPLES = 3
_ID = re.compile(
    r"\b[0-9a-f]{32,64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]{8,16}\b"  # the last: a pointer
)


class Stage(IntEnum):
    """Say how early in a job's life something goes wrong: what comes first causes what comes later."""

    ADMISSION = 0
    MEMBERS = 1
    SCHEDULING = 2
    NETWORK = 3
    CONTAINER = 4
    CONTROLLER = 5
    ADDRESS = 6
    WAIT = 7
    SPEED = 8
    DRIFT = 9
    EVENT = 10
    UNREAD = 11
    SUMMARY = 12


@dataclass(frozen=True, slots=True)
class Observation:
    """Hold one thing found: *pods* are the names that it is true of; *subject* names what it is about where that is no pod.

    Those that are equal but for *pods* and *detail* become one finding, so neither *message* nor *action* may hold what differs from
    pod to pod; POD in an action becomes the name of one. *action* None: what the code says. *detail* follows the
    message after a colon; of different ones the first is told as an example.
    """

    stage: Stage
    level: Level
    code: Code | NewCode
    message: str
    action: str | None = None
    pods: tuple[str, ...] = ()
    subject: str = ""
    detail: str = ""


def fold(
    observations: Iterable[Observation], masters: Collection[str], focus: str = ""
) -> list[Finding]:
    """Return findings in the order in which a person should read them.

    By level; within one by stage, what concerns rank 0 before what does not, and what concerns many before what concerns few.
    *masters*: names of the pods that are rank 0. With *focus*, what concerns neither that pod nor a rank 0 is left out.
    """
    groups: dict[tuple[object, ...], tuple[Observation, dict[str, None], dict[str, None]]] = {}
    for one in observations:
        key = (one.stage, one.level, one.code, one.message, one.action, one.subject)
        _, pods, details = groups.setdefault(key, (one, {}, {}))
        pods.update(dict.fromkeys(one.pods))
        details[one.detail] = None
    kept = [
        (one, pods, details)
        for one, pods, details in groups.values()
        if not focus or not pods or focus in pods or not pods.keys().isdisjoint(masters)
    ]
    kept.sort(
        key=lambda item: (
            WEIGHT[item[0].level],
            item[0].stage,
            item[1].keys().isdisjoint(masters),
            -len(item[1]),
        )
    )
    return [
        Finding(
            one.level,
            one.code,
            _subject(one, pods, masters),
            _message(one, details),
            _action(one, pods, masters),
        )
        for one, pods, details in kept
    ]


def _message(one: Observation, details: Collection[str]) -> str:
    told = [detail for detail in details if detail]
    return (
        f"{one.message}{': ' if len(told) == 1 else ', for example: '}{told[0]}"
        if told
        else one.message
    )


def _action(one: Observation, pods: Collection[str], masters: Collection[str]) -> str | None:
    """Name in a command the first pod that is named."""
    return (
        re.sub(r"\bPOD\b", _ordered(pods, masters)[0], one.action)
        if pods and one.action
        else one.action
    )


def _ordered(pods: Collection[str], masters: Collection[str]) -> list[str]:
    return sorted(pods, key=lambda name: (name not in masters, natural(name)))


def _subject(one: Observation, pods: Collection[str], masters: Collection[str]) -> str:
    if not pods:
        return one.subject
    ordered = [f"{name} (rank 0)" if name in masters else name for name in _ordered(pods, masters)]
    return (
        f"pod {ordered[0]}"
        if len(ordered) == 1
        else f"each of {len(ordered):,} pods ({named(ordered)})"
    )


def named(pods: Iterable[str]) -> str:
    """Name the first few pods."""
    return listed(pods, _EXAMPLES)


def natural(name: str) -> tuple[object, ...]:
    """Return a key by which train-2 sorts before train-10."""
    return tuple(
        (1, int(piece), "") if piece.isdigit() else (0, 0, piece)
        for piece in re.split(r"(\d{1,18})", name)
    )


def common_form(message: str, pod: str, limit: int = 400) -> str:
    """Write a message of a component so that those of many pods are alike: one line, without pod names and ids."""
    if not message.isprintable():
        message = "".join(char if char.isprintable() else " " for char in message)
    text = " ".join(message.split())
    if pod and pod in text:
        text = re.sub(rf"(?<![\w.-]){re.escape(pod)}(?![\w-])", "POD", text)
    text = _ID.sub("ID", text)
    return text if len(text) <= limit else text[: limit - 1] + "…"
