"""Hold what `check` finds against rows, and see that it sends nobody to itself."""

from __future__ import annotations

from collections.abc import Iterable

from tests.diagnose import findings as rows_of
from webhook.diagnose.finding import Finding


def listed(findings: Iterable[Finding]) -> list[Finding]:
    """Return them; none sends who reads it to `check`, which says it."""
    found = list(findings)
    for finding in found:
        assert finding.topic, finding
        assert "fabric-injector check" not in finding.action, f"check is what says this: {finding}"
    return found


def expect(findings: Iterable[Finding], *rows: str) -> None:
    """See that these rows are told, in this order, and no more."""
    rows_of.expect(listed(findings), *rows)


def brief(findings: Iterable[Finding]) -> list[str]:
    """Return ``"fail subject: message"`` of each."""
    return [f"{each.level} {each.subject}: {each.message}" for each in listed(findings)]
