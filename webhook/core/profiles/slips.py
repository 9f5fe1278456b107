"""Guess what a misspelt name was meant to be."""

from collections.abc import Collection, Iterable
from typing import Final

from webhook.core.wording import listed

_MOST_COMPARED: Final = 100
_MOST_NAMED: Final = 10
_ELSEWHERE: Final = {
    "annotations": "pod.metadata.annotations",
    "env": "container.env",
    "labels": "pod.metadata.labels",
    "mounts": "container.volumeMounts",
    "nodeSelector": "pod.spec.nodeSelector",
    "resources": "container.resources.limits",
    "sidecars": "pod.spec.initContainers",
    "tolerations": "pod.spec.tolerations",
    "volumeMounts": "container.volumeMounts",
    "volumes": "pod.spec.volumes",
}
"""Where stands in a profile what one may look for beside ``container`` and ``pod``."""


def did_you_mean(found: str, known: Iterable[str]) -> str:
    """Return the one of *known* that *found* may be a slip of, in any case; else empty."""
    from difflib import get_close_matches  # where something is misspelt, not at a process' start

    by_letters = {_letters(name): name for name in known}
    close = get_close_matches(_letters(found), by_letters, n=1, cutoff=0.7)
    return by_letters[close[0]] if close else ""


def _letters(name: str) -> str:
    return name.lower().replace("_", "").replace("-", "")


def choose_profile(found: str, known: Collection[str]) -> str:
    """Say which profile of *known* *found* may mean, and which ones the namespace may use."""
    ordered = sorted(known)
    if not ordered:
        return "there is no profile for this namespace yet: write it"
    meant = did_you_mean(found, ordered[:_MOST_COMPARED])
    return f"{f'did you mean {meant}? ' if meant else ''}use one of: {listed(ordered, _MOST_NAMED)}"


def one_of(found: str, choices: Collection[str]) -> str:
    """Say which words may be written in place of *found*."""
    meant = did_you_mean(found, choices)
    return f"write one of {', '.join(choices)}" + (f"; did you mean {meant}?" if meant else "")


def unknown_field(found: str, known: Collection[str]) -> str:
    """Say that *found* is none of the fields *known*, and which one may be meant."""
    if "pod" in known and found in _ELSEWHERE:
        return f"is not a field; write it as {_ELSEWHERE[found]}"
    if meant := did_you_mean(found, known):
        return f"is not a field; did you mean {meant}?"
    return f"is not a field; the fields here are {', '.join(known)}"
