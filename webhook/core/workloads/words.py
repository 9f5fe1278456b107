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
    return re.compile(rf"(?:.*/)?(?:{'|'.join(_TABLES['programs'][name])})\Z", re.DOTALL)


def word(name: str) -> re.Pattern[str]:
    """Return the pattern of some words."""
    return re.compile(rf"(?:{'|'.join(_TABLES['words'][name])})\Z", re.DOTALL)


def plain(name: str) -> tuple[str, ...]:
    """Return words that are compared as they are."""
    return tuple(_TABLES["lists"][name])
