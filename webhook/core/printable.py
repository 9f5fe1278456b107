"""Make any text fit for one line of a terminal, a log or an answer."""

from __future__ import annotations

_WARNING_LENGTH = 400


def printable(text: str, limit: int | None = _WARNING_LENGTH) -> str:
    """Return *text* without control characters, which the API server drops warnings for, and no longer than *limit*."""
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return text if limit is None or len(text) <= limit else text[: limit - 1] + "…"


def quoted(text: str) -> str:
    """Show *text* in a message: in quotes, on one line, at most 60 characters of it."""
    import json  # a sixth of what the help of a command costs, which imports this for `printable`

    return json.dumps(text if len(text) <= 60 else text[:57] + "...", ensure_ascii=not text.isprintable())
