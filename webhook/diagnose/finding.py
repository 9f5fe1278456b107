"""Define what `check` and `explain` report: a Code beside its rule, a Finding for each case."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Any, Literal, TypeAlias

from webhook.core.wording import listed
from webhook.diagnose.jobs import ObservedPod

Level = Literal["ok", "warn", "fail"]
WEIGHT: dict[Level, int] = {"fail": 0, "warn": 1, "ok": 2}

About: TypeAlias = ObservedPod | Collection[str] | str
"""A pod, the names of pods, or in one text what is no pod."""


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


_TOPICS = {
    Stage.ADMISSION: "admission configuration injection namespaces reachability",
    Stage.MEMBERS: "members",
    Stage.SCHEDULING: "scheduling devices claims",
    Stage.NETWORK: "networks volumes",
    Stage.CONTAINER: "containers",
    Stage.CONTROLLER: "controller lease",
    Stage.ADDRESS: "addresses",
    Stage.WAIT: "wait",
    Stage.DRIFT: "drift",
    Stage.UNREAD: "unread",
}
_STAGES = {topic: stage for stage, topics in _TOPICS.items() for topic in topics.split()}
"""By topic; topics that are not here make a job slow."""


@dataclass(frozen=True, slots=True)
class Code:
    """Define a kind of finding, in the file of the rule that reports it.

    Shape: ``STALE = Code("lease/lease-stale", "No controller renews it.", "look at …")``.
    *path* is topic and name. Programs filter by both, so both stay. *action* is what usually helps.
    """

    path: str
    means: str
    action: str

    @property
    def topic(self) -> str:
        """Return the topic, ``lease``."""
        return self.path.partition("/")[0]

    @property
    def name(self) -> str:
        """Return the name, ``lease-stale``."""
        return self.path.partition("/")[2]

    def __str__(self) -> str:
        """Return the name, ``lease-stale``."""
        return self.name

    def found(
        self,
        level: Level,
        about: About,
        message: str,
        action: str | None = None,
        *,
        detail: str = "",
        stage: Stage | None = None,
    ) -> Finding:
        """Report what is true of *about*; *action*, *stage*: where those of the code do not fit."""
        subject = about if isinstance(about, str) else ""
        pods = (about.name,) if isinstance(about, ObservedPod) else () if subject else tuple(about)
        return Finding(level, self, subject, message, action, pods, detail, stage)

    def fail(self, about: About, message: str, action: str | None = None, **more: Any) -> Finding:
        """Report a failure, as `found` does."""
        return self.found("fail", about, message, action, **more)

    def warn(self, about: About, message: str, action: str | None = None, **more: Any) -> Finding:
        """Report a warning, as `found` does."""
        return self.found("warn", about, message, action, **more)


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold one thing that was found: *subject* names the object, *message* says what was found.

    *remedy*: what to do where that is not the code's action. Of a job's pods, *pods* in place of a
    subject: `fold` joins those that differ in *pods* and *detail* only. So neither *message* nor
    *remedy* may hold what differs from pod to pod; POD in a remedy becomes the name of one.
    *detail* follows the message after a colon; of different ones the first is given as an example.
    """

    level: Level
    code: Code
    subject: str
    message: str
    remedy: str | None = None
    pods: tuple[str, ...] = ()
    detail: str = ""
    given_stage: Stage | None = None

    @property
    def action(self) -> str:
        """Return what to do; empty where nothing is to be done."""
        return self.code.action if self.remedy is None else self.remedy

    @property
    def topic(self) -> str:
        """Return the topic, a fixed word that programs may filter by."""
        return self.code.topic

    @property
    def stage(self) -> Stage:
        """Return when in a job's life it goes wrong."""
        if self.given_stage is not None:
            return self.given_stage
        return Stage.SUMMARY if self.level == "ok" else _STAGES.get(self.topic, Stage.SPEED)

    def as_json(self) -> dict[str, str]:
        """Return it for programs, by the names of its fields."""
        fields = ("level", "code", "topic", "subject", "message", "action")
        return {key: str(getattr(self, key)) for key in fields}


def ok(topic: str, about: About, message: str, detail: str = "") -> Finding:
    """Report that all is well, for which the code is ``ok``."""
    return Code(f"{topic}/ok", "", "").found("ok", about, message, detail=detail)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order by level, failures first; within a level the order stays."""
    return sorted(findings, key=lambda finding: WEIGHT[finding.level])


def grouped(findings: Iterable[Finding]) -> Iterator[Finding]:
    """Yield findings; those equal except for the subject become one, in place of the first."""
    alike: dict[Finding, list[str]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, subject=""), []).append(finding.subject)
    for one, subjects in alike.items():
        several = f"each of {len(subjects):,} ({listed(subjects)})"
        yield replace(one, subject=several if len(subjects) > 1 else subjects[0])


def exit_status(findings: Iterable[Finding]) -> int:
    """Return a command's exit status: 1 if anything failed; a warning does not count."""
    return int(any(finding.level == "fail" for finding in findings))


def count(findings: Iterable[Finding]) -> dict[Level, int]:
    """Return how many there are of each level, the worst first."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in WEIGHT}


def as_document(findings: Iterable[Finding]) -> dict[str, object]:
    """Return what ``-o json`` prints: the findings in order, and how many are of each level."""
    every = list(findings)
    return {"findings": [finding.as_json() for finding in every], "summary": count(every)}
