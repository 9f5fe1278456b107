"""Write durations, and lists and numbers as core does."""

from __future__ import annotations

from webhook.core.wording import counted, listed

__all__ = ["counted", "duration", "listed"]


def duration(seconds: float) -> str:
    """Write a duration: ``45 s``, ``12 min``, ``3 h``, ``2 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"
