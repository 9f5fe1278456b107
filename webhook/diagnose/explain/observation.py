"""Say what a rule found of some pods, and fold what was found of many, the cause first."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import IntEnum
from functools import partial
from typing import TypeAlias

from webhook.core.model import Object
from webhook.diagnose.finding import WEIGHT, Code, Finding, Level
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.wording import listed

_EXAMPLES = 3
_ID = re.compile(
    r"\b[0-9a-f]{32,64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]{8,16}\b"
)
"""Ids of sandboxes, of objects, and pointers."""


class Stage(IntEnum):
    """Say how early in a job's life something goes wrong: what comes first causes what follows."""

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
    UNREAD = 10
    SUMMARY = 11


_STAGES: Mapping[str, Stage] = {
    **dict.fromkeys(
        ("admission", "configuration", "injection", "namespaces", "reachability"), Stage.ADMISSION
    ),
    "members": Stage.MEMBERS,
    **dict.fromkeys(("scheduling", "devices", "claims"), Stage.SCHEDULING),
    **dict.fromkeys(("networks", "volumes"), Stage.NETWORK),
    "containers": Stage.CONTAINER,
    **dict.fromkeys(("controller", "lease"), Stage.CONTROLLER),
    "addresses": Stage.ADDRESS,
    "wait": Stage.WAIT,
    "drift": Stage.DRIFT,
    "unread": Stage.UNREAD,
}
"""By topic; topics that are not here make a job slow."""

About: TypeAlias = ObservedPod | Collection[str] | str
"""A pod, the names of pods, or in one text what is no pod."""


@dataclass(frozen=True, slots=True)
class Observation:
    """Hold one thing found: *pods* are those that it is true of, *subject* what is no pod.

    Those that differ in *pods* and *detail* only become one finding. So neither *message* nor
    *action* may hold what differs from pod to pod; POD in an action becomes the name of one.
    *action* None: what the code says. *detail* follows the message after a colon; of different ones
    the first is given as an example.
    """

    stage: Stage
    level: Level
    code: Code
    message: str
    action: str | None
    pods: tuple[str, ...]
    subject: str
    detail: str = ""


def observe(
    level: Level,
    code: Code,
    about: About,
    message: str,
    action: str | None = None,
    *,
    detail: str = "",
    stage: Stage | None = None,
) -> Observation:
    """Say what was found; *stage*: where it is not that of the code's topic."""
    if stage is None:
        stage = Stage.SUMMARY if level == "ok" else _STAGES.get(code.topic, Stage.SPEED)
    subject = about if isinstance(about, str) else ""
    pods = (about.name,) if isinstance(about, ObservedPod) else () if subject else tuple(about)
    return Observation(stage, level, code, message, action, pods, subject, detail)


fail = partial(observe, "fail")
warn = partial(observe, "warn")


def ok(topic: str, about: About, message: str, detail: str = "") -> Observation:
    """Say that all is well."""
    return observe("ok", Code("ok", topic, "", ""), about, message, detail=detail)


def fold(
    observations: Iterable[Observation], masters: Collection[str], focus: str = ""
) -> list[Finding]:
    """Return findings in the order in which a person should read them.

    By level; within one by stage, what concerns rank 0 before what does not, and what concerns many
    before what concerns few. *masters*: names of the pods that are rank 0. With *focus*, what
    concerns neither that pod nor a rank 0 is left out.
    """
    groups: dict[tuple[object, ...], tuple[Observation, dict[str, None], dict[str, None]]] = {}
    for one in observations:
        key = (one.stage, one.level, one.code, one.message, one.action, one.subject)
        _, pods, details = groups.setdefault(key, (one, {}, {}))
        pods.update(dict.fromkeys(one.pods))
        details[one.detail] = None
    kept = [
        (one, pods, [detail for detail in details if detail])
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
    return [_finding(one, pods, details, masters) for one, pods, details in kept]


def _finding(
    one: Observation, pods: Iterable[str], details: list[str], masters: Collection[str]
) -> Finding:
    ordered = sorted(pods, key=lambda name: (name not in masters, natural(name)))
    shown = [f"{name} (rank 0)" if name in masters else name for name in ordered]
    subject, action, message = one.subject, one.action, one.message
    if shown:
        several = f"each of {len(shown):,} pods ({named(shown)})"
        subject = f"pod {shown[0]}" if len(shown) == 1 else several
    if ordered and action:
        action = re.sub(r"\bPOD\b", ordered[0], action)
    if details:
        message += f"{': ' if len(details) == 1 else ', for example: '}{details[0]}"
    return Finding(one.level, one.code, subject, message, action)


def named(pods: Iterable[str]) -> str:
    """Name the first few pods."""
    return listed(pods, _EXAMPLES)


def natural(name: str) -> tuple[object, ...]:
    """Return a key by which train-2 sorts before train-10."""
    return tuple(
        (1, int(piece), "") if piece.isdigit() else (0, 0, piece)
        for piece in re.split(r"(\d{1,18})", name)
    )


def common_form(message: str, pod: str = "", limit: int = 400) -> str:
    """Write a component's message so that those of many pods are alike: one line, without ids."""
    if not message.isprintable():
        message = "".join(char if char.isprintable() else " " for char in message)
    text = " ".join(message.split())
    if pod and pod in text:
        text = re.sub(rf"(?<![\w.-]){re.escape(pod)}(?![\w-])", "POD", text)
    text = _ID.sub("ID", text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def seconds_since(text: object, now: datetime) -> float | None:
    """Return how long ago a time of the API was; None where it is missing or no time."""
    try:
        return (now - datetime.fromisoformat(str(text))).total_seconds()
    except (ValueError, TypeError):
        return None


def event_time(event: Object) -> str:
    """Return when the Event happened last, as the API writes times; they sort as text."""
    series, metadata = event.get("series") or {}, event.get("metadata") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), metadata.get("creationTimestamp")) or "")
