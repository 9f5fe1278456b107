"""Say what could not be looked at, and why: a check that was left out must not look like one that went well."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core.finding import Finding
from webhook.diagnose.check.inventory import Inventory

TOPIC = "unread"


def check_unread(inventory: Inventory) -> Iterator[Finding]:
    """Warn of each part that could not be read."""
    action = "give this account the right to read it, or let somebody check who has it"
    for part in inventory.unread:
        yield Finding("warn", TOPIC, part.what, part.problem, action if " answered 403" in part.problem else "")
