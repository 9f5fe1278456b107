"""Say what a look at a cluster or a job found: the value that ``check`` and ``explain`` share."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

from webhook.diagnose.codes import Code
from webhook.diagnose.wording import listed

Level = Literal["ok", "warn", "fail"]
WEIGHT: dict[Level, int] = {"fail": 0, "warn": 1, "ok": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """Tell one thing that was looked at.

    Shape: ``Finding("fail", Code.NETWORK_MISSING, "NetworkAttachmentDefinition default/rail-9", "does not exist")``. *subject* names
    the object; *message* says what was found; *remedy* is what to do where that is not what the code says, empty for nothing.
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
        """Return it as programs get it, by the names of what it tells."""
        told = ("level", "code", "topic", "subject", "message", "action")
        return {key: str(getattr(self, key)) for key in told}


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order by level, failures first; within a level the order stays."""
    return sorted(findings, key=lambda finding: WEIGHT[finding.level])


def grouped(findings: Iterable[Finding]) -> list[Finding]:
    """Join findings that are equal but for the subject, in the place of the first."""
    alike: dict[Finding, list[str]] = {}
    for finding in findings:
        alike.setdefault(replace(finding, subject=""), []).append(finding.subject)
    return [
        replace(
            one,
            subject=subjects[0]
            if len(subjects) == 1
            else f"each of {len(subjects):,} ({listed(subjects)})",
        )
        for one, subjects in alike.items()
    ]


def exit_status(findings: Iterable[Finding]) -> int:
    """Give a command's exit status: 1 if anything failed; a warning does not count."""
    return int(any(finding.level == "fail" for finding in findings))


def count(findings: Iterable[Finding]) -> dict[Level, int]:
    """Return how many there are of each level, the worst first."""
    levels = [finding.level for finding in findings]
    return {level: levels.count(level) for level in WEIGHT}


def as_document(findings: Iterable[Finding]) -> dict[str, object]:
    """Give what ``-o json`` prints: the findings in order, and how many there are of each level."""
    every = list(findings)
    return {"findings": [finding.as_json() for finding in every], "summary": count(every)}
