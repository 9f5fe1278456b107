"""Say what a look at a cluster or a job found: the value that ``check`` and ``explain`` share. Knows neither clusters nor terminals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Literal

Level = Literal["ok", "warn", "fail"]

_WEIGHT: dict[Level, int] = {"fail": 0, "warn": 1, "ok": 2}


@dataclass(frozen=True, slots=True)
class Finding:
    """Tell one thing that was looked at.

    Shape: ``Finding("fail", "networks", "NetworkAttachmentDefinition default/rail-9", "does not exist", "create it, or …")``.
    *topic* is a fixed word that programs may filter by; *subject* names the object; *message* says what was found; *action*
    says what to do, and is empty where nothing is to be done.
    """

    level: Level
    topic: str
    subject: str
    message: str
    action: str = ""


def worst_first(findings: Iterable[Finding]) -> list[Finding]:
    """Order by level, failures first; within a level the order stays."""
    return sorted(findings, key=lambda finding: _WEIGHT[finding.level])


def exit_status(findings: Iterable[Finding]) -> int:
    """Give a command's exit status: 1 if anything failed; a warning is no failure."""
    return int(any(finding.level == "fail" for finding in findings))


def count(findings: Iterable[Finding]) -> dict[Level, int]:
    """Return how many there are of each level, the worst first."""
    listed = [finding.level for finding in findings]
    return {level: listed.count(level) for level in _WEIGHT}


def as_document(findings: Iterable[Finding]) -> dict[str, object]:
    """Give what ``-o json`` prints: the findings in order, and how many there are of each level."""
    listed = list(findings)
    return {
        "findings": [asdict(finding) for finding in listed],
        "summary": count(listed),
    }
