"""Read JSON as Go's encoding/json does: what it refuses is refused here, and repeated keys are all kept."""

from __future__ import annotations

import json
import re
from typing import Any, NoReturn, TypeAlias

Value: TypeAlias = Any
"""An object as a tuple of (key, Value), an array as a list, text as str, a number as Number, a boolean, or None."""

MAX_DEPTH = 10_000
"""Source: Go encoding/json scanner.go maxNestingDepth."""


class Number(str):
    """Hold a number as it is written: to Go ``1e3`` is not an integer."""

    __slots__ = ()


def parse(text: str) -> Value:
    """Read one JSON value.

    Raises ValueError with the position of what is not JSON, such as NaN, trailing text, a control character in a string.
    """
    try:
        return _DECODER.decode(text)
    except RecursionError:
        return _parse_deep(text)
    except json.JSONDecodeError as error:
        _refuse(text, error.pos)


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"is not JSON: {name} is not a value")


_DECODER = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=Number, parse_float=Number, parse_constant=_refuse_constant
)
_SPACE = re.compile(r"[ \t\n\r]*+")
_SCALAR = re.compile(
    r'"(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+"'
    r"|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?(?:[eE][-+]?[0-9]++)?"
    r"|true|false|null"
)
_CLOSING = {"[": "]", "{": "}"}


def _parse_deep(text: str) -> Value:
    """Read a value that is nested deeper than the decoder's recursion reaches; twenty times slower."""
    open_values: list[tuple[str, list[Value]]] = []
    keys: list[str] = []
    position = _skip_space(text, 0)
    while True:
        opening = text[position : position + 1]
        value: Value
        if opening in _CLOSING:
            position = _skip_space(text, position + 1)
            if len(open_values) == MAX_DEPTH:
                raise ValueError(f"is nested deeper than {MAX_DEPTH} levels")
            if text[position : position + 1] != _CLOSING[opening]:
                open_values.append((opening, []))
                if opening == "{":
                    position = _read_key(text, position, keys)
                continue
            value = [] if opening == "[" else ()
            position += 1
        else:
            value, position = _read_scalar(text, position)
        while open_values:
            opening, items = open_values[-1]
            items.append(value if opening == "[" else (keys.pop(), value))
            position = _skip_space(text, position)
            following = text[position : position + 1]
            if following == ",":
                position = _skip_space(text, position + 1)
                if opening == "{":
                    position = _read_key(text, position, keys)
                break
            if following != _CLOSING[opening]:
                _refuse(text, position)
            open_values.pop()
            value = items if opening == "[" else tuple(items)
            position += 1
        else:
            position = _skip_space(text, position)
            if position < len(text):
                _refuse(text, position)
            return value


def _skip_space(text: str, position: int) -> int:
    return _SPACE.match(text, position).end()  # type: ignore[union-attr]  # no space matches too


def _read_key(text: str, position: int, keys: list[str]) -> int:
    if text[position : position + 1] != '"':
        _refuse(text, position)
    key, position = _read_scalar(text, position)
    position = _skip_space(text, position)
    if text[position : position + 1] != ":":
        _refuse(text, position)
    keys.append(key)
    return _skip_space(text, position + 1)


def _read_scalar(text: str, position: int) -> tuple[Value, int]:
    match = _SCALAR.match(text, position)
    if match is None:
        _refuse(text, position)
    return _DECODER.decode(match[0]), match.end()


def _refuse(text: str, position: int) -> NoReturn:
    rest = text[position : position + 20]
    raise ValueError(f"is not JSON at character {position + 1}: {rest!r}" if rest else "is not JSON: it ends too early")
