"""Decode what the API server sends: lists object by object, so that one hides no other."""

import re
from typing import Any

import msgspec
import orjson

from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING

MOST_DEPTH = 900
"""How deep JSON may be nested: msgspec gives up at 1,000 levels, orjson at 1,024.

The API server takes 10,000, as in a ResourceClaim's parameters, which are free.
"""
_NESTING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+', re.DOTALL)


class ListMetadata(msgspec.Struct):
    """Hold what is read of a list's metadata."""

    version: str = msgspec.field(default="", name="resourceVersion")
    token: str | None = msgspec.field(default="", name="continue")


class ListOfRaw(msgspec.Struct):
    """Hold a page of a list whose objects are not decoded yet."""

    metadata: ListMetadata | None = None
    items: list[msgspec.Raw] | None = None


class Event(msgspec.Struct):
    """Hold a line of a watch: *type* as ``ADDED``, ``DELETED`` or ``BOOKMARK``."""

    type: str
    object: msgspec.Raw


_LIST = msgspec.json.Decoder(ListOfRaw)
_EVENT = msgspec.json.Decoder(Event)


def decode(text: bytes | msgspec.Raw) -> Any:
    """Decode JSON, with null for what is nested too deep. Raises ValueError."""
    try:
        return orjson.loads(memoryview(text))
    except ValueError:
        cut = without_depths(bytes(text))
        if cut is None:
            raise
    return orjson.loads(cut)


def decode_item(raw: msgspec.Raw) -> Any:
    """Decode an object of a list; None for what is no JSON, as a check then says."""
    try:
        return decode(raw)
    except ValueError:
        return None


def decode_list(text: bytes) -> ListOfRaw:
    """Decode a list as far as its objects. Raises ValueError."""
    found: ListOfRaw = _shallow(_LIST, text)
    return found


def decode_event(line: bytes) -> Event:
    """Decode a line of a watch as far as its object. Raises ValueError."""
    found: Event = _shallow(_EVENT, line)
    return found


def _shallow(decoder: msgspec.json.Decoder[Any], text: bytes) -> Any:
    try:
        return decoder.decode(text)
    except RecursionError:
        cut = without_depths(text)
    try:
        return decoder.decode(cut or text)
    except RecursionError:
        raise ValueError("nested too deep") from None


def without_depths(text: bytes) -> bytes | None:
    """Return the text with null for each value that is nested too deep; None where none is."""
    kept: list[bytes] = []
    depth = begun = 0
    for match in _NESTING.finditer(text):
        first, start, end = text[match.start()], match.start(), match.end()
        if first in b"[{":
            if depth <= MOST_DEPTH < depth + end - start:
                kept += text[begun : start + MOST_DEPTH - depth], b"null"
            depth += end - start
        elif first in b"]}":
            if depth - (end - start) <= MOST_DEPTH < depth:
                begun = start + depth - MOST_DEPTH
            depth -= end - start
    return b"".join((*kept, text[begun:])) if kept else None


_WORDS = {"str": STRING, "int": INTEGER, "bool": BOOLEAN, "array": LIST, "object": OBJECT}
_PROBLEM = re.compile(r"Expected `([^`]+)`(, got.*?| of length.*?)(?: - at `\$\.?(.*)`)?")
_MISSING = re.compile(r"Object missing required field `(.*?)`(?: - at `\$\.(.*)`)?")


def in_words(problem: str) -> str:
    """Say what msgspec says as we do."""
    if missing := _MISSING.fullmatch(problem):
        return f"{'.'.join(filter(None, (missing[2], missing[1])))} is missing"
    if not (wrong := _PROBLEM.fullmatch(problem)):
        return problem
    expected, found, place = wrong.groups()
    if "length" in found:
        return f"{place} is empty"
    wanted = next((_WORDS[each] for each in _WORDS if each in expected.split(" | ")), expected)
    return f"{place or 'it'} is not {wanted}"
