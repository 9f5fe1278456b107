"""Read words.toml: what words of commands, options and variables mean."""

import re
import tomllib
from importlib.resources import files
from typing import Final

_TABLES: Final = tomllib.loads(
    files("webhook.core.workloads").joinpath("words.toml").read_text(encoding="utf-8")
)


def program(name: str) -> re.Pattern[str]:
    """Return the pattern of some programs, with or without a path before them."""
    return _whole("(?:.*/)?", _TABLES["programs"][name])


def word(name: str) -> re.Pattern[str]:
    """Return the pattern of some words."""
    return _whole("", _TABLES["words"][name])


def plain(name: str) -> tuple[str, ...]:
    """Return words that are compared as they are."""
    return tuple(_TABLES["lists"][name])


def _whole(before: str, words: list[str]) -> re.Pattern[str]:
    return re.compile(rf"{before}(?:{'|'.join(words)})\Z", re.DOTALL)
