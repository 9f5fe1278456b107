"""Find the variables that a container writes before ``:port``, where an IPv6 address needs brackets."""

from __future__ import annotations

import re
from functools import lru_cache

from webhook.core import podspec
from webhook.core.model import Object

_BEFORE_COLON = re.compile(
    r"\$(?:\{(?P<braced>\w+)[^}]{0,200}\}{1,3}|\((?P<kubernetes>[-._a-zA-Z0-9]{1,253})\)|(?P<bare>[A-Za-z_]\w{0,253}))[\"'\\]{0,4}:"
)
_ALIAS = re.compile(
    r"(?<![\w-])(\w{1,253})=[\"']?\$(?:\{(?P<braced>\w+)[^}]{0,200}\}|\((?P<kubernetes>\w+)\)|(?P<bare>\w+))(?=[\"'\s;&|)]|\Z)"
)
_REMEMBERED = 4096
"""Longest command that is remembered."""
_AT_END = re.compile(r"\$\(([-._a-zA-Z0-9]{1,253})\)\Z")


def consumed_before_port(container: Object) -> frozenset[str]:
    """Return the variables that commands, arguments or other variables write before ``:port``, in any spelling.

    Spellings: ``$V:``, ``${V}:``, ``${V:=x}:``, ``$(V):``, with quotes between; also by way of another variable that
    ends in ``$(V)``, or that a shell sets to ``$V``.
    """
    found: set[str] = set()
    ends: dict[str, str] = {}
    for text in podspec.argv(container):
        if "$" in text:
            consumed, aliases = (_read_command if len(text) <= _REMEMBERED else _read_command.__wrapped__)(text)
            found |= consumed
            ends.update(aliases)
    for entry in podspec.env(container):
        value = entry.get("value")
        if value and "$" in value:
            _collect(value, found)
            if match := _AT_END.search(value[-256:]):
                ends[entry["name"]] = match[1]
    pending = list(found & ends.keys()) if ends else ()
    for name in pending:
        while (name := ends.pop(name, "")) and name not in found:
            found.add(name)
    return frozenset(found)


@lru_cache(256)
def _read_command(text: str) -> tuple[frozenset[str], tuple[tuple[str, str], ...]]:
    """Return the variables that a command writes before ``:``, and the ``alias=$variable`` that it sets.

    The pods of a job share their commands, so that they are read once.
    """
    found: set[str] = set()
    _collect(text, found)
    aliases = [(alias[1], alias[alias.lastgroup or 0]) for alias in _ALIAS.finditer(text)] if "=" in text else ()
    return frozenset(found), tuple(aliases)


def _collect(text: str, found: set[str]) -> None:
    for match in _BEFORE_COLON.finditer(text):
        found.add(match[match.lastgroup or 0])
        if "$" in (inner := match[0][2:]):
            _collect(inner, found)
