"""Make any text fit for one line of a terminal, a log or an answer."""

_WARNING_LENGTH = 400
LONGEST_TEXT = 4_000
"""Most characters of a line that a command prints: an annotation may hold 250,000."""


def printable(text: str, limit: int | None = _WARNING_LENGTH) -> str:
    """Return *text* without control characters, for which the API server drops warnings, cut."""
    if limit is not None and len(text) > limit:  # first, so that what is left out is not looked at
        text = text[: limit - 1] + "…"
    if not text.isprintable():
        text = "".join(character if character.isprintable() else " " for character in text)
    return text


def quoted(text: str) -> str:
    """Show *text* in a message: in quotes, on one line, at most 60 characters of it."""
    import json  # a sixth of what the help of a command costs, which imports this for `printable`

    shown = text if len(text) <= 60 else text[:57] + "..."
    return json.dumps(shown, ensure_ascii=not shown.isprintable())
