"""Write findings in short, so that a table of cases can hold them."""

from __future__ import annotations

from collections.abc import Iterable

from webhook.diagnose.finding import Finding


def brief(findings: Iterable[Finding]) -> list[str]:
    """Return ``"fail subject: message"`` of each; and see that `check` sends nobody to itself."""
    listed = list(findings)
    for finding in listed:
        assert finding.topic, finding
        assert "fabric-injector check" not in finding.action, f"check is what says this: {finding}"
    return [f"{finding.level} {finding.subject}: {finding.message}" for finding in listed]
