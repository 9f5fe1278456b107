"""Decisions are compared by what they say, and shown with all of it where a test fails."""

from __future__ import annotations

from webhook.core.model import Decision, Outcome, Reason


def test_decisions_are_alike_that_say_the_same() -> None:
    one, same = (Decision("networks", Outcome.INJECTED, Reason.ADDED, "adds a") for _ in range(2))
    others = (
        Decision("devices", Outcome.INJECTED, Reason.ADDED, "adds a"),
        Decision("networks", Outcome.WARNED, Reason.ADDED, "adds a"),
        Decision("networks", Outcome.INJECTED, Reason.USER_VALUE, "adds a"),
        Decision("networks", Outcome.INJECTED, Reason.ADDED, "adds b"),
    )
    assert one == same
    assert all(each != one for each in others)
    assert one != ("networks", Outcome.INJECTED, Reason.ADDED, "adds a")
    assert all(part in repr(one) for part in ("Decision(", "'networks'", "INJECTED", "ADDED", "'adds a'"))
