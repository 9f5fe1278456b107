"""Write durations, and the words of other programs so that those of many pods are alike."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime

from webhook.core.model import Object
from webhook.core.wording import listed

_EXAMPLES = 3
_ID = re.compile(
    r"\b[0-9a-f]{32,64}\b|\b[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\b0x[0-9a-f]{8,16}\b"
)
"""Ids of sandboxes, of objects, and pointers."""


def duration(seconds: float) -> str:
    """Write a duration: ``45 s``, ``12 min``, ``3 h``, ``2 d``."""
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds / size:.0f} {unit}"
    return f"{max(0.0, seconds):.0f} s"


def named(pods: Iterable[str]) -> str:
    """Name the first few pods."""
    return listed(pods, _EXAMPLES)


def natural(name: str) -> tuple[object, ...]:
    """Return a key by which train-2 sorts before train-10."""
    return tuple(
        (1, int(piece), "") if piece.isdigit() else (0, 0, piece)
        for piece in re.split(r"(\d{1,18})", name)
    )


def common_form(message: str, pod: str = "", limit: int = 400) -> str:
    """Write a component's message so that those of many pods are alike: one line, without ids."""
    if not message.isprintable():
        message = "".join(char if char.isprintable() else " " for char in message)
    text = " ".join(message.split())
    if pod and pod in text:
        text = re.sub(rf"(?<![\w.-]){re.escape(pod)}(?![\w-])", "POD", text)
    text = _ID.sub("ID", text)
    return text if len(text) <= limit else text[: limit - 1] + "…"


def seconds_since(text: object, now: datetime) -> float | None:
    """Return how long ago a time of the API was; None where it is missing or no time."""
    try:
        return (now - datetime.fromisoformat(str(text))).total_seconds()
    except (ValueError, TypeError):
        return None


def event_time(event: Object) -> str:
    """Return when the Event happened last, as the API writes times; they sort as text."""
    series, metadata = event.get("series") or {}, event.get("metadata") or {}
    times = (series.get("lastObservedTime"), event.get("lastTimestamp"), event.get("eventTime"))
    return str(next(filter(None, times), metadata.get("creationTimestamp")) or "")
