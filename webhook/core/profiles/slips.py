"""Guess what a misspelt name was meant to be."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from webhook.core.wording import listed

_MOST_COMPARED = 100
_MOST_NAMED = 10


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """Return the one of *known* that *found* may be a slip of, whatever its case and dashes; else empty."""
    from difflib import (
        get_close_matches,
    )  # needed where something is misspelt, and not where a process starts

    by_letters = {_letters(name): name for name in known}
    close = get_close_matches(_letters(found), by_letters, n=1, cutoff=0.7)
    return by_letters[close[0]] if close else ""


def choose_profile(found: str, known: Collection[str]) -> str:
    """Say which profile of *known* may be meant by *found*, which is none of them, and which the namespace may use."""
    ordered = sorted(known)
    if not ordered:
        return "there is no profile for this namespace yet: write it"
    meant = did_you_mean(found, ordered[:_MOST_COMPARED])
    return f"{f'did you mean {meant}? ' if meant else ''}use one of: {listed(ordered, _MOST_NAMED)}"


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def unknown_field(found: str, known: tuple[str, ...]) -> str:
    """Say that *found* is none of the fields *known*, and which one may be meant."""
    meant = did_you_mean(found, known)
    return (
        f"is not a field; did you mean {meant}?"
        if meant
        else f"is not a field; the fields here are {', '.join(known)}"
    )
