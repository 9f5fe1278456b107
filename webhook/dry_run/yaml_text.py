"""Write JSON values as YAML for people: block style, keys in the order of the object, texts of several lines as they are.

PyYAML would take ten times as long, which can be felt on a job of a thousand pods. The output holds printable characters only.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from webhook.core.yaml_reader import Location

_PLAIN = re.compile(r"(?:[^\W\d]|[/$(]|--?[A-Za-z])[^\n]*\Z|[0-9]+(?:[mkMGTPE]|[KMGTPE]i)\Z")
"""Texts that every YAML parser reads as strings without quotes; among them quantities, ``64000m``."""
_RESERVED = frozenset(("null", "true", "false", "yes", "no", "on", "off", "y", "n"))


def yaml_lines(value: Any) -> list[str]:
    """Return the lines of *value*, ``["metadata:", "  name: train-0"]``."""
    return list(_block(value, ""))


def yaml_text(value: Any) -> str:
    """Return *value* as one document."""
    return "\n".join(yaml_lines(value)) + "\n"


def yaml_index(value: Any) -> dict[Location, int]:
    """Return on which of the lines that ``yaml_lines`` gives each part of *value* begins, from 0: ``{("metadata", "name"): 1}``."""
    index: dict[Location, int] = {}
    _number(value, (), 0, index)
    return index


def _number(value: Any, location: Location, line: int, index: dict[Location, int]) -> int:
    """Enter the parts of a value, which begins on *line*, into *index*; return the line after it."""
    is_object = isinstance(value, dict)
    for key, item in value.items() if is_object else enumerate(value):
        index[here := (*location, key)] = line
        if (
            isinstance(item, dict | list) and item
        ):  # a key stands above what it holds, a dash beside it
            line = _number(item, here, line + is_object, index)
        else:
            line += (
                item.removesuffix("\n").count("\n") + 2
                if isinstance(item, str) and _is_literal(item)
                else 1
            )
    return line


def _block(value: Any, indent: str) -> Iterator[str]:
    if isinstance(value, dict) and value:
        for key, item in value.items():
            yield from _entry(f"{indent}{_scalar(str(key))}:", item, indent, is_item=False)
    elif isinstance(value, list) and value:
        for item in value:
            if isinstance(item, dict | list) and item:
                lines = _block(item, indent + "  ")
                yield f"{indent}- {next(lines)[len(indent) + 2 :]}"
                yield from lines
            else:
                yield from _entry(f"{indent}-", item, indent, is_item=True)
    else:
        yield indent + _scalar(value)


def _entry(head: str, value: Any, indent: str, *, is_item: bool) -> Iterator[str]:
    if isinstance(value, dict) and value:
        yield head
        yield from _block(value, indent + "  ")
    elif isinstance(value, list) and value:
        yield head
        yield from _block(value, indent + "  " if is_item else indent)
    elif isinstance(value, str) and _is_literal(value):
        yield f"{head} {'|' if value.endswith(chr(10)) else '|-'}"
        for line in value.removesuffix("\n").split("\n"):
            yield f"{indent}  {line}" if line else ""
    else:
        yield f"{head} {_scalar(value)}"


def _is_literal(text: str) -> bool:
    """Return whether a text has several lines that a literal block can hold unchanged."""
    if "\n" not in text[:-1] or text[0] in " \n" or text.endswith("\n\n"):
        return False
    return text.replace("\n", "").isprintable()


def _scalar(value: Any) -> str:
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        return "{}"
    if isinstance(value, list):
        return "[]"
    return json.dumps(value)


def _text(text: str) -> str:
    if not text.isprintable():
        return '"' + "".join(map(_escaped, text)) + '"'
    is_plain = (
        _PLAIN.match(text) is not None
        and text.lower() not in _RESERVED
        and ": " not in text
        and " #" not in text
        and text[-1] not in ": "
    )
    return text if is_plain else "'" + text.replace("'", "''") + "'"


def _escaped(character: str) -> str:
    if character in '"\\':
        return "\\" + character
    if character == "\n":
        return "\\n"
    if character == "\t":
        return "\\t"
    if character.isprintable():
        return character
    code = ord(character)
    return (
        f"\\x{code:02x}"
        if code < 0x100
        else f"\\u{code:04x}"
        if code < 0x10000
        else f"\\U{code:08x}"
    )
