"""Build plain values from the events of a YAML parser, without recursion and within limits."""

from __future__ import annotations

import base64
import binascii
import math
import re
from typing import Any, NoReturn

import yaml

from webhook.core.errors import InputError

_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_TEXT_PER_NODE = 64
_MERGE_KEY = "<<"
_TAG = "tag:yaml.org,2002:"


class _Frame:
    """Hold a map or list that is being read."""

    __slots__ = ("anchor", "key", "merges", "nodes", "value")

    def __init__(self, value: dict[str, Any] | list[Any], anchor: str | None, nodes: int) -> None:
        self.value = value
        self.anchor = anchor
        self.nodes = nodes
        self.key: str | None = None
        self.merges: list[dict[str, Any]] = []


class _Merge(str):
    """Mark a plain ``<<``, which as a key is no text."""

    __slots__ = ()


class Builder:
    """Take the events of a stream one by one; ``documents`` holds what is complete, empty documents left out."""

    def __init__(self, max_depth: int, max_nodes: int) -> None:
        self.documents: list[Any] = []
        self._max_depth = max_depth
        self._max_nodes = max_nodes
        self._nodes = 0
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int]] = {}

    def take(self, event: yaml.Event) -> None:
        """Take the next event; raises InputError where a limit is passed, an alias is unknown or a key is no text."""
        if isinstance(event, yaml.ScalarEvent):
            before = self._nodes
            self._nodes += 1 + len(event.value) // _TEXT_PER_NODE
            self._check_limits(event)
            self._complete(event, _scalar(event), event.anchor, before)
        elif isinstance(event, yaml.MappingStartEvent | yaml.SequenceStartEvent):
            self._nodes += 1
            self._check_limits(event)
            if len(self._stack) >= self._max_depth:
                _fail(event, f"maps and lists are nested deeper than {self._max_depth}")
            empty: dict[str, Any] | list[Any] = {} if isinstance(event, yaml.MappingStartEvent) else []
            self._stack.append(_Frame(empty, event.anchor, self._nodes - 1))
        elif isinstance(event, yaml.MappingEndEvent | yaml.SequenceEndEvent):
            frame = self._stack.pop()
            value = _merged(frame) if frame.merges else frame.value
            self._complete(event, value, frame.anchor, frame.nodes)
        elif isinstance(event, yaml.AliasEvent):
            known = self._anchors.get(event.anchor or "")
            if known is None:
                _fail(event, f"the alias *{event.anchor} has no anchor before it")
            value, nodes = known
            self._nodes += nodes
            self._check_limits(event)
            self._complete(event, value, None, self._nodes)
        elif isinstance(event, yaml.DocumentStartEvent):
            self._anchors.clear()

    def _complete(self, event: yaml.Event, value: Any, anchor: str | None, nodes_before: int) -> None:
        if anchor is not None:
            self._anchors[anchor] = (value, self._nodes - nodes_before)
        if isinstance(value, _Merge) and not self._expects_key():
            value = _MERGE_KEY
        if not self._stack:
            if value is not None:
                self.documents.append(value)
            return
        frame = self._stack[-1]
        if isinstance(frame.value, list):
            frame.value.append(value)
        elif frame.key is None:
            frame.key = _key(event, value)
        else:
            if isinstance(frame.key, _Merge):
                frame.merges.extend(_merge_values(event, value))
            else:
                frame.value[frame.key] = value
            frame.key = None

    def _expects_key(self) -> bool:
        return bool(self._stack) and isinstance(self._stack[-1].value, dict) and self._stack[-1].key is None

    def _check_limits(self, event: yaml.Event) -> None:
        if self._nodes > self._max_nodes:
            _fail(event, f"the input expands to more than {self._max_nodes} values: split it")


def _scalar(event: yaml.ScalarEvent) -> Any:
    text: str = event.value
    if event.tag is not None:
        return _tagged(event, event.tag.removeprefix(_TAG), text)
    if not event.implicit[0] or event.style not in (None, ""):
        return text
    return _plain(text)


def _tagged(event: yaml.ScalarEvent, kind: str, text: str) -> Any:
    if kind == "binary":
        try:
            return base64.b64decode(text, validate=False).decode()
        except (binascii.Error, ValueError):
            _fail(event, "!!binary holds no text")
    if kind in ("int", "float", "bool", "null"):
        return _plain(text)
    return text


def _plain(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text == _MERGE_KEY:
        return _Merge(text)
    if text[0] not in "+-.0123456789":
        return text
    if _INTEGER.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _integer(text: str) -> int | float | str:
    digits = text.replace("_", "").lower().lstrip("+-")
    if len(digits) > 80:
        return text
    sign = -1 if text[0] == "-" else 1
    if digits.startswith("0x"):
        return sign * int(digits[2:] or "0", 16)
    if digits.startswith("0b"):
        return sign * int(digits[2:] or "0", 2)
    if digits.startswith("0") and len(digits) > 1:
        return sign * int(digits.removeprefix("0o").removeprefix("0") or "0", 8)
    number = sign * int(digits)
    return number if abs(number) < 2**64 else float(number)


def _key(event: yaml.Event, value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return "null"
    if not isinstance(value, int | float):
        _fail(event, "a map or list stands where a key is needed")
    return str(value)


def _merge_values(event: yaml.Event, value: Any) -> list[dict[str, Any]]:
    values = value if isinstance(value, list) else [value]
    for item in values:
        if not isinstance(item, dict):
            _fail(event, "<< needs a map, or a list of maps")
    return values


def _merged(frame: _Frame) -> dict[str, Any]:
    """Return the map with what ``<<`` brings in: its own keys win, then the first map named."""
    merged: dict[str, Any] = {}
    for value in reversed(frame.merges):
        merged.update(value)
    assert isinstance(frame.value, dict)  # noqa: S101  # merges are only ever collected on maps
    return {**merged, **frame.value}


def _fail(event: yaml.Event, problem: str) -> NoReturn:
    mark = event.start_mark
    where = f"line {mark.line + 1}, column {mark.column + 1}: " if mark else ""
    raise InputError(where + problem)
