"""Define what `check` and `explain` report: a Code stands beside its rule, a Finding is one case of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from webhook.diagnose.wording import listed

Level = Literal["ok", "warn", "fail"]
WEIGHT: dict[Level, int] = {"fail": 0, "warn": 1, "ok": 2}


@dataclass(frozen=True, slots=True)
class Code:
    """Define a kind of finding, in the file of the rule that reports it.

    Shape: ``STALE = Code("lease-stale", "lease", "No controller renews the Lease.", "look at …")``.
    Programs filter by *name* and *topic*, so both stay. *action* is what usually helps.
    """

    name: str
    topic: str
    means: str
    action: str

    def __str__(self) -> str:
        """Return the name, ``lease-stale``."""
        return self.name

    def fail(self, subject: str, message: str, action: str | None = None) -> Finding:
        """Report a failure of *subject*; *action* where the code's own does not fit."""
        return Finding("fail", self, subject, message, action)

    def warn(self, subject: str, message: str, action: str | None = None) -> Finding:
        """Report a warning, as `fail` does."""
        return Finding("warn", self, subject, message, action)


@dataclass(frozen=True, slots=True)
class Finding:
    """Hold one thing that was found: *subject* names the object, *message* says what was found.

    *remedy*: what to do where that is not the code's action.
    """

    level: Level
    code: Code
    subject: str
    message: str
    remedy: str | None = None

    @property
    def action(self) -> str:
        """Return what to do; empty where nothing is to be done."""
        return self.code.action if self.remedy is None else self.remedy

    @property
    def topic(self) -> str:
        """Return the topic, a fixed word that programs may filter by."""
        return self.code.topic

    def as_json(self) -> dict[str, str]:
        """Return it for programs, by the names of its fields."""
        fields = ("level", "code", "topic", "subject", "message", "action")
        return {key: str(getattr(self, key)) for key in fields}


def ok(topic: str, subject: str, message: str) -> Finding:
    """Report that all is well, for which the code is ``ok``."""
    return Finding("ok", Code("ok", topic, "", ""), subject, message)


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order by level, failures first; within a level the order stays."""
    return sorted(findings, key=lambda finding: WEIGHT[finding.level])


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that are equal except for the subject, in the place of the first."""
    alike: dict[Finding, list[str]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, subject=""), []).append(finding.subject)
    return [replace(one, subject=_joined(subjects)) for one, subjects in alike.items()]


def _joined(subjects: list[str]) -> str:
    if len(subjects) == 1:
        return subjects[0]
    return f"each of {len(subjects):,} ({listed(subjects)})"


def exit_status(findings: Iterable[Finding]) -> int:
    """Return a command's exit status: 1 if anything failed; a warning does not count."""
    return int(any(finding.level == "fail" for finding in findings))


def count(findings: Iterable[Finding]) -> dict[Level, int]:
    """Return how many there are of each level, the worst first."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in WEIGHT}


def as_document(findings: Iterable[Finding]) -> dict[str, object]:
    """Return what ``-o json`` prints: the findings in order, and how many there are of each level."""
    every = list(findings)
    return {"findings": [finding.as_json() for finding in every], "summary": count(every)}
