"""Read the documents of any input, YAML or JSON, as Kubernetes' own tools read them, and without recursion.

YAML is read as ``sigs.k8s.io/yaml`` reads it: no timestamps, no numbers in base 60 (``12:30`` is a string), ``on`` and ``yes`` are
true, keys are strings. A key that is written twice is refused; in manifests its last value counts, as for kubectl. Input that
expands beyond the limits (alias bombs, deep nesting) is refused while it is read.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, NoReturn, TypeAlias

from webhook.core.errors import InputError
from webhook.core.printable import quoted
from webhook.core.value_types import LIST, OBJECT, STRING, type_name

MAX_DEPTH = 100
"""Objects and lists inside one another; a wrapped pod needs about 30."""
MAX_NODES = 1_000_000
"""Values of all documents together, aliases counted as often as they are used."""
_TEXT_PER_NODE = 64
_MOST_WARNINGS = 20

_UNPRINTABLE = "[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]"
"""What YAML itself does not allow: no reader of it finds another, so that each of its errors has a mark."""
_BASIC = "[\x7f-\uffff]"
"""All characters but ASCII that an escape of four digits stands for."""
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_SPACE = re.compile(r"[ \t\r\n]*")
_PLAIN_KEY = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
_TAG = "tag:yaml.org,2002:"
_STARTS = ("MappingStartEvent", "SequenceStartEvent")
_ENDS = ("MappingEndEvent", "SequenceEndEvent")
_TAGS = ("str", "int", "float", "bool", "null", "timestamp", "binary", "merge", "map", "seq")
_MERGE = object()
"""A plain ``<<``, which as a key is not a string."""

Location: TypeAlias = tuple[str | int, ...]
"""Where a value stands: ``("profiles", "hostdev", "networks", 0, "network")``."""


class Document(NamedTuple):
    """Hold one document as plain values, the line on which it begins, from 1, and what to warn of."""

    value: Any
    line: int
    warnings: Sequence[str] = ()


class Marks:
    """Remember on which line each key and item stands, and collect the faults after which reading can go on.

    What is ours alone is read strictly: tags of the user's own, and keys that are not strings, are faults as well.
    """

    def __init__(self) -> None:
        self.faults: list[YamlFault] = []
        self._inside: dict[int, dict[str | int, int]] = {}  # by the id of what the input keeps

    def put(self, value: object, inside: dict[str | int, int]) -> None:
        """Remember the lines of what is in *value*, an object or a list."""
        self._inside[id(value)] = inside

    def of(self, value: object) -> dict[str | int, int]:
        """Return the lines of what is in *value*, from 1; empty for a scalar."""
        return self._inside.get(id(value), {}) if isinstance(value, dict | list) else {}

    def line(self, value: Any, location: Location, line: int) -> int:
        """Return the line of what stands at *location* in *value*, or of the nearest above it; *line* is that of *value*."""
        for part in location:
            inside = self.of(value)
            if part not in inside:
                break
            line, value = inside[part], value[part]
        return line


class YamlFault(InputError):
    """Refuse input; says line and column, both from 1 (0: of the whole), the *location* where it is known, and the problem."""

    def __init__(self, line: int, column: int, problem: str, location: Location = ()) -> None:
        place = f"line {line}, column {column}: " if line else ""
        where = f"{format_path(location)}: " if location else ""
        super().__init__(f"{place}{where}{problem}")
        self.line = line
        self.problem = problem
        self.location = location


def decode(content: bytes) -> str:
    """Decode UTF-8, with a byte order mark or without; raises YamlFault."""
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = error.object[: error.start].decode()
        problem = f"the byte 0x{error.object[error.start]:02x} is not UTF-8; save the file in that encoding"
        raise YamlFault(before.count("\n") + 1, len(before) - before.rfind("\n"), problem) from None


def read_documents(
    text: str,
    marks: Marks | None = None,
    *,
    takes_last: bool = False,
    most: int = MAX_NODES,
    pause: Callable[[], None] = lambda: None,
) -> list[Document]:
    """Read all documents of *text*, a YAML stream or one or more JSON values; empty ones are left out.

    *marks* remembers where values stand. *takes_last*: of a key that is written twice the last value counts, with a warning. *most*: so
    many values of YAML are read, aliases counted as often as they are used. *pause* is called before each.
    Raises YamlFault with line and column.
    """
    text = text.removeprefix("\ufeff")
    is_json = marks is None and text.lstrip()[:1] in ("{", "[")
    documents = _json_documents(text) if is_json else None
    if documents is None:
        if match := re.search(_UNPRINTABLE, text):  # which YAML forbids; JSON may hold some of them
            start = match.start()
            line, column = text.count("\n", 0, start) + 1, start - text.rfind("\n", 0, start)
            problem = f"the character U+{ord(match[0]):04X} is not allowed; remove it"
            raise YamlFault(line, column, problem)
        documents = _yaml_documents(text, _Builder(marks, pause, takes_last=takes_last, most=most))
    if "\\u" in text or "\\U" in text:
        _check_surrogates(documents)
    return documents


def json_as_yaml(value: Any) -> str:
    """Write plain values as JSON that YAML reads as the same: it knows no pairs of surrogates, nor some characters unescaped."""
    text = json.dumps(value, ensure_ascii=False)
    return re.sub(_BASIC, lambda match: f"\\u{ord(match[0]):04x}", text)


def format_path(location: Location) -> str:
    """Write a location for people: ``profiles.hostdev.networks[0].network``, ``profiles.a.resources[nvidia.com/hostdev]``."""
    path = ""
    for part in location:
        if isinstance(part, str) and _PLAIN_KEY.fullmatch(part):
            path += f".{part}"
        elif isinstance(part, int) or (part.isprintable() and len(part) <= 80):
            path += f"[{part}]"
        else:
            path += f"[{quoted(part)}]"
    return path.removeprefix(".") or "document"


def _yaml_documents(text: str, builder: _Builder) -> list[Document]:
    import yaml  # a tenth of the webhook's start, and it reads JSON

    try:
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = "not valid YAML: " + ", ".join(filter(None, (error.problem, error.context)))
        line, column = (mark.line, mark.column) if mark else (0, 0)
        lines = text.split("\n")
        if line < len(lines) and "\t" in lines[line]:
            problem += " (the line holds a tab: YAML is indented with spaces)"
        raise YamlFault(line + 1, column + 1, problem) from None
    return builder.documents


def _json_documents(text: str) -> list[Document] | None:
    """Read JSON values one after the other; None where the text is not JSON or repeats a key, so that YAML may judge it."""
    decoder = json.JSONDecoder(
        parse_float=_finite, parse_constant=_finite, object_pairs_hook=_unrepeated
    )
    documents: list[Document] = []
    position, line = 0, 1
    try:
        while (start := _after_space(text, position)) < len(text):
            line += text.count("\n", position, start)
            value, position = decoder.raw_decode(text, start)
            _check_json(value)
            documents.append(Document(value, line))
            line += text.count("\n", start, position)
    except (ValueError, RecursionError):
        return None
    return documents


def _after_space(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError
    return value


def _unrepeated(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError  # YAML tells which, and where
    return values


def _check_json(value: Any) -> None:
    """Raise ValueError where a JSON value is too deep; its values need no count, since JSON does not expand."""
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
        if not below:
            return
        level = below
    raise ValueError


def _check_surrogates(documents: list[Document]) -> None:
    try:
        json.dumps(documents, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        problem = "the input holds half of a surrogate pair, which is not a character"
        raise YamlFault(0, 0, problem) from None


@dataclass(slots=True)
class _Frame:
    """Hold an object or list that is being read, and where its values stand."""

    value: Any
    anchor: str | None
    nodes: int
    line: int
    key: Any = None
    merges: list[dict[str, Any]] = field(default_factory=list)
    lines: dict[str | int, int] = field(default_factory=dict)


class _Builder:
    """Take the events of a stream one by one; ``documents`` holds what is complete, empty documents left out."""

    def __init__(
        self, marks: Marks | None, pause: Callable[[], None], *, takes_last: bool, most: int
    ) -> None:
        self.documents: list[Document] = []
        self._marks = marks
        self._takes_last = takes_last
        self._most = most
        self._pause = pause
        self._warnings: list[str] = []
        self._nodes = 0
        self._stack: list[_Frame] = []
        self._anchors: dict[str, tuple[Any, int, int, str | None]] = {}

    def take(self, event: Any) -> None:
        """Take the next event; raises YamlFault where a limit is passed, an alias is unknown or a key is not a string."""
        kind = event.__class__.__name__
        if kind == "ScalarEvent":
            before = self._nodes
            self._count(event, 1 + len(event.value) // _TEXT_PER_NODE)
            line, value = event.start_mark.line, self._scalar(event)
            self._complete(event, value, event.anchor, before, line, event.value)
        elif kind in _STARTS:
            self._count(event, 1)
            if len(self._stack) >= MAX_DEPTH:
                raise _fault_at(event, f"objects and lists are nested deeper than {MAX_DEPTH}")
            if event.tag is not None:
                self._check_tag(event, "list or object")
            empty: Any = {} if kind == "MappingStartEvent" else []
            self._stack.append(_Frame(empty, event.anchor, self._nodes - 1, event.start_mark.line))
        elif kind in _ENDS:
            frame = self._stack.pop()
            value = self._merged(frame) if frame.merges else frame.value
            if self._marks is not None:
                self._marks.put(value, frame.lines)
            self._complete(event, value, frame.anchor, frame.nodes, frame.line, None)
        elif kind == "AliasEvent":
            known = self._anchors.get(event.anchor)
            if known is None:
                self._fail(event, f"the alias *{event.anchor} has no anchor before it")
            value, nodes, line, text = known
            self._count(event, nodes)
            self._complete(event, value, None, self._nodes, line, text)
        else:  # a document begins or ends
            self._anchors.clear()
            self._warnings = []

    def _complete(
        self, event: Any, value: Any, anchor: str | None, before: int, line: int, text: str | None
    ) -> None:
        """Put a value that is complete into the object or list around it; *before*: how many values came before it."""
        if anchor is not None:
            self._anchors[anchor] = (value, self._nodes - before, line, text)
        frame = self._stack[-1] if self._stack else None
        if frame is not None and frame.key is None and frame.value.__class__ is dict:
            is_key = value.__class__ is str or value is _MERGE
            frame.key = value if is_key else self._key(event, value, text)
            if frame.key in frame.value:
                self._repeat(event, frame)
            elif frame.key is not _MERGE:
                frame.lines[frame.key] = event.start_mark.line + 1
            return
        if value is _MERGE:
            value = "<<"
        if frame is None:
            if value is not None:
                self.documents.append(Document(value, line + 1, self._warnings))
        elif frame.value.__class__ is list:
            if self._marks is not None:
                frame.lines[len(frame.value)] = line + 1
            frame.value.append(value)
        else:
            self._put(event, frame, value)
            frame.key = None

    def _put(self, event: Any, frame: _Frame, value: Any) -> None:
        key = frame.key
        if key is _MERGE:
            merges = value if isinstance(value, list) else [value]
            for item in merges:
                if not isinstance(item, dict):
                    found = type_name(item)
                    self._fail(event, f"found {found}; << needs {OBJECT}, or {LIST} of them")
            frame.merges.extend(merges)
        elif self._takes_last or key not in frame.value:  # else it is refused already
            frame.value[key] = value

    def _merged(self, frame: _Frame) -> dict[str, Any]:
        """Return the object with what ``<<`` brings in: its own keys win, then the first object named."""
        merged: dict[str, Any] = {}
        lines: dict[str | int, int] = {}
        for base in frame.merges[::-1]:
            merged.update(base)
            if self._marks is not None:
                lines.update(self._marks.of(base))
        frame.lines = {**lines, **frame.lines}
        return {**merged, **frame.value}

    def _key(self, event: Any, value: Any, text: str | None) -> str:
        """Return the key that a value is which is not a string: as Kubernetes writes it, or as it is written."""
        if value.__class__ is dict or value.__class__ is list:
            self._fail(event, f"{type_name(value)} stands where a key is needed; write {STRING}")
        if self._marks is not None:
            written = text or ""
            problem = f'the key is {written}, which YAML reads as {type_name(value)}; write it in quotes: "{written}"'
            self._fault(event, problem, written)
            return written
        if isinstance(value, bool):
            return "true" if value else "false"
        return "null" if value is None else str(value)

    def _scalar(self, event: Any) -> Any:
        text: str = event.value
        if event.tag is not None:
            self._check_tag(event, "value")
            is_plain = event.tag.removeprefix(_TAG) in ("int", "float", "bool", "null")
            return _plain(text) if is_plain else text
        if not event.implicit[0] or event.style not in (None, ""):
            return text
        return _plain(text)

    def _check_tag(self, event: Any, expected: str) -> None:
        if self._marks is not None and event.tag.removeprefix(_TAG) not in _TAGS:
            problem = f"has the tag {event.tag}; write a plain {expected}"
            self._fault(event, problem)

    def _count(self, event: Any, nodes: int) -> None:
        self._pause()
        self._nodes += nodes
        if self._nodes > self._most:
            self._fail(event, f"the input expands to more than {self._most} values: split it")

    def _location(self) -> Location:
        """Say where the next value will stand."""
        stack = self._stack
        keys = [len(one.value) if one.value.__class__ is list else one.key for one in stack]
        return tuple("<<" if key is _MERGE else key for key in keys if key is not None)

    def _repeat(self, event: Any, frame: _Frame) -> None:
        """Refuse a key that is written twice, or warn and let its last value count."""
        before = frame.lines[frame.key]
        if not self._takes_last:
            self._fault(event, f"is written twice, first in line {before}; keep one")
            return
        frame.lines[frame.key] = event.start_mark.line + 1
        if len(self._warnings) < _MOST_WARNINGS:
            problem = f"is written twice, also in line {before}; the last one counts"
            self._warnings.append(str(_fault_at(event, problem, self._location())))

    def _fault(self, event: Any, problem: str, *below: str) -> None:
        """Refuse the input, or note what is wrong and go on."""
        fault = _fault_at(event, problem, (*self._location(), *below))
        if self._marks is None:
            raise fault
        self._marks.faults.append(fault)

    def _fail(self, event: Any, problem: str) -> NoReturn:
        raise _fault_at(event, problem, self._location() if self._marks is not None else ())


def _fault_at(event: Any, problem: str, location: Location = ()) -> YamlFault:
    mark = event.start_mark
    return YamlFault(mark.line + 1, mark.column + 1, problem, location)


def _plain(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if text == "<<":
        return _MERGE
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
