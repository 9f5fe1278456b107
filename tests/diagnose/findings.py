"""Hold findings against rows: ``fail address-missing pod a-0 | its words | what to do``."""

from __future__ import annotations

from collections.abc import Iterable

from tests.diagnose.scenes import Scene
from webhook.diagnose.finding import Finding


def brief(findings: Iterable[Finding]) -> list[str]:
    """Return ``"fail code subject | message | action"`` of each, the last if it has one."""
    return [
        f"{each.level} {each.code} {each.subject} | {each.message}"
        + (f" | {each.action}" if each.action else "")
        for each in findings
    ]


def agrees(told: str, row: str) -> bool:
    """Say whether it has the row's level, code and subject, and its words; "…" stands for any."""
    (head, *texts), (expected, *words) = told.split(" | "), row.split(" | ")
    return head == expected and all(
        part.strip() in text
        for text, wanted in zip(texts, words, strict=False)
        for part in wanted.split("…")
    )


def expect(findings: Iterable[Finding], *rows: str) -> None:
    """See that these rows are told, in this order, and no more."""
    told = brief(findings)
    agreed = [row if agrees(line, row) else line for line, row in zip(told, rows, strict=False)]
    assert agreed + told[len(rows) :] == list(rows), (
        "\n".join(told) or "nothing: is the rule in its list?"
    )


def findings(scene: Scene, *topics: str) -> list[Finding]:
    """Return what `explain` finds wrong with a scene, of these topics only if any are named."""
    found = scene.explained.findings
    return [each for each in found if each.level != "ok" and (not topics or each.topic in topics)]
