"""Read the documents of any input, YAML or JSON, as Kubernetes' own tools read them.

YAML is read as ``sigs.k8s.io/yaml`` reads it. It has no timestamps and no numbers in base 60
(``12:30`` is a string); ``on`` and ``yes`` are true, keys are strings. A key that is written twice
is refused; in manifests and JSON its last value counts, as for kubectl. Input that expands beyond
the limits (alias bombs, deep nesting) is refused while it is read.
"""

import json
import math
import re
from collections import ChainMap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from webhook.core.errors import InputError
from webhook.core.value_types import LIST, OBJECT, STRING, Location, format_path, type_name

MAX_DEPTH = 100
"""Objects and lists inside one another; a wrapped pod needs about 30."""
MAX_NODES = 1_000_000
"""Values of all documents together, aliases counted as often as they are used."""
_TEXT_PER_NODE = 64
_MOST_WARNINGS = 20
_MOST_DIGITS = 80

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML does not allow: its reader finds no other, so that each error has a mark."""
_CONSTANTS: dict[str, bool | None] = {
    **dict.fromkeys(("", "~", "null", "Null", "NULL")),
    **dict.fromkeys(("true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON"), True),
    **dict.fromkeys(("false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF"), False),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO]?[0-7_]+|0|[1-9][0-9_]*)\Z")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?\Z")
_BASES = {"0x": 16, "0b": 2, "0o": 8}
_BEFORE_VALUE = re.compile(r"[ \t\r\n]*(?=[^ \t\r\n])")
_PLAIN_TAGS = tuple(f"tag:yaml.org,2002:{kind}" for kind in ("int", "float", "bool", "null"))


class Document(NamedTuple):
    """Hold one document as plain values, the line on which it begins, and what to warn of."""

    value: Any
    line: int = 0
    warnings: Sequence[str] = ()


class Marks:
    """Remember on which line, from 1, each key and item stands."""

    def __init__(self) -> None:
        self._inside: dict[int, dict[str | int, int]] = {}  # by the id of what the input keeps

    def put(self, value: object, inside: dict[str | int, int]) -> None:
        """Remember the lines of what is in *value*, an object or a list."""
        self._inside[id(value)] = inside

    def of(self, value: object) -> dict[str | int, int]:
        """Return the lines of what is in *value*; empty for a scalar."""
        return self._inside.get(id(value), {}) if isinstance(value, dict | list) else {}

    def line(self, value: Any, location: Location, line: int) -> int:
        """Return the line of *location* in *value*, or of the nearest above it; *line*: its own."""
        for part in location:
            inside = self.of(value)
            if part not in inside:
                break
            line, value = inside[part], value[part]
        return line


class YamlFault(InputError):
    """Refuse input: line and column from 1 (0: of the whole), location if known, and problem."""

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
        before, byte = error.object[: error.start].decode(), error.object[error.start]
        problem = f"the byte 0x{byte:02x} is not UTF-8; save the file in that encoding"
        raise _fault_after(before, problem) from None


def read_documents(
    text: str, marks: Marks | None = None, *, takes_last: bool = False, most: int = MAX_NODES
) -> list[Document]:
    """Read all documents of *text*, a YAML stream or JSON values; empty ones are left out.

    *marks* remembers where values stand. *takes_last*: of a key that is written twice the last
    value counts, with a warning. *most*: so many values of YAML are read, aliases counted as often
    as they are used. Raises YamlFault with line and column.
    """
    is_json = marks is None and text.lstrip()[:1] in ("{", "[")
    documents = _json_documents(text) if is_json else None
    if documents is None:
        if match := _UNPRINTABLE.search(text):  # JSON may hold some of them
            problem = f"the character U+{ord(match[0]):04X} is not allowed; remove it"
            raise _fault_after(text[: match.start()], problem)
        documents = _yaml_documents(text, _Reader(marks, takes_last, most))
    if "\\u" in text:  # of JSON: libyaml refuses it
        try:
            json.dumps(documents, ensure_ascii=False).encode()
        except UnicodeEncodeError:
            problem = "the input holds half of a surrogate pair, which is not a character"
            raise YamlFault(0, 0, problem) from None
    return documents


def _fault_after(before: str, problem: str) -> YamlFault:
    return YamlFault(before.count("\n") + 1, len(before) - before.rfind("\n"), problem)


def _json_documents(text: str) -> list[Document] | None:
    """Read JSON values one after the other; None where YAML is to judge the text.

    It is no JSON, or too deep. JSON does not expand: nothing is counted.
    """
    decoder = json.JSONDecoder()
    documents: list[Document] = []
    position, line = 0, 1
    try:
        while start := _BEFORE_VALUE.match(text, position):
            line += text.count("\n", position, start.end())
            value, position = decoder.raw_decode(text, start.end())
            _check(value)
            documents.append(Document(value, line))
            line += text.count("\n", start.end(), position)
    except (ValueError, RecursionError):
        return None
    return documents


def _check(value: Any, depth: int = 0) -> None:
    """Raise ValueError where an object or list is too deep, or a number is none of JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ValueError
    if isinstance(value, dict | list):
        if depth == MAX_DEPTH:
            raise ValueError
        for item in value.values() if isinstance(value, dict) else value:
            _check(item, depth + 1)


def _yaml_documents(text: str, reader: "_Reader") -> list[Document]:
    import yaml  # a tenth of the webhook's start, and it reads JSON

    reader.events = yaml.parse(text, Loader=yaml.CSafeLoader)
    try:
        return list(reader.documents())
    except yaml.MarkedYAMLError as error:
        mark: Any = error.problem_mark or error.context_mark
        problem = "not valid YAML: " + ", ".join(filter(None, (error.problem, error.context)))
        if "\t" in "".join(text.split("\n")[mark.line : mark.line + 1]):
            problem += " (the line holds a tab: YAML is indented with spaces)"
        raise YamlFault(mark.line + 1, mark.column + 1, problem) from None


@dataclass
class _Reader:
    """Make values of the events of a YAML stream; raises YamlFault."""

    marks: Marks | None
    takes_last: bool
    most: int
    events: Iterator[Any] = field(init=False)
    nodes: int = 0
    path: list[str | int] = field(default_factory=list)  # where the next value will stand
    anchors: dict[str, tuple[Any, int]] = field(default_factory=dict)  # and how many are in each
    warnings: list[str] = field(default_factory=list)

    def documents(self) -> Iterator[Document]:
        """Yield the documents that are not empty."""
        for event in self.events:
            kind = event.__class__.__name__
            if kind == "DocumentStartEvent":
                self.anchors, self.warnings = {}, []
            elif kind not in ("StreamStartEvent", "DocumentEndEvent", "StreamEndEvent"):
                value = self._value(event)
                if value is not None:
                    yield Document(value, event.start_mark.line + 1, self.warnings)

    def _value(self, event: Any) -> Any:
        """Return the value that begins with *event*."""
        kind, before = event.__class__.__name__, self.nodes
        if kind == "AliasEvent":
            if event.anchor not in self.anchors:
                raise _fault_at(event, f"the alias *{event.anchor} has no anchor before it")
            value, nodes = self.anchors[event.anchor]
            self._count(event, nodes)
            return value
        self._count(event, 1 + len(getattr(event, "value", "")) // _TEXT_PER_NODE)
        if kind == "ScalarEvent":
            value = _plain(event.value) if _is_plain(event) else event.value
        elif len(self.path) >= MAX_DEPTH:
            raise _fault_at(event, f"objects and lists are nested deeper than {MAX_DEPTH}")
        else:
            value = self._list() if kind == "SequenceStartEvent" else self._object()
        if event.anchor is not None:
            self.anchors[event.anchor] = value, self.nodes - before
        return value

    def _list(self) -> list[Any]:
        found: list[Any] = []
        lines: dict[str | int, int] = {}
        while (event := next(self.events)).__class__.__name__ != "SequenceEndEvent":
            lines[len(found)] = event.start_mark.line + 1
            self.path.append(len(found))
            found.append(self._value(event))
            self.path.pop()
        if self.marks is not None:
            self.marks.put(found, lines)
        return found

    def _object(self) -> dict[str, Any]:
        """Return an object with what ``<<`` brings in: its own keys, then the first named, win."""
        found: dict[str, Any] = {}
        bases: list[dict[str, Any]] = []
        lines: dict[str | int, int] = {}
        while (event := next(self.events)).__class__.__name__ != "MappingEndEvent":
            key = self._key(event)
            self.path.append(key)
            if key == "<<" and _is_plain(event):
                base = next(self.events)
                value = self._value(base)
                bases += value if isinstance(value, list) else [value]
                for wrong in (each for each in bases if not isinstance(each, dict)):
                    problem = f"found {type_name(wrong)}; << needs {OBJECT}, or {LIST} of them"
                    raise _fault_at(base, problem)
            else:
                if key in found:
                    self._repeat(event, lines[key])
                lines[key] = event.start_mark.line + 1
                found[key] = self._value(next(self.events))
            self.path.pop()
        merged = dict(ChainMap(found, *bases)) if bases else found
        if self.marks is not None:
            self.marks.put(merged, dict(ChainMap(lines, *map(self.marks.of, bases))))
        return merged

    def _key(self, event: Any) -> str:
        """Return a key as Kubernetes writes it: ``on`` is ``true``."""
        value = self._value(event)
        if isinstance(value, dict | list):
            problem = f"{type_name(value)} stands where a key is needed; write {STRING}"
            raise _fault_at(event, problem)
        return value if isinstance(value, str) else json.dumps(value)

    def _count(self, event: Any, nodes: int) -> None:
        self.nodes += nodes
        if self.nodes > self.most:
            raise _fault_at(event, f"the input expands to more than {self.most} values: split it")

    def _repeat(self, event: Any, before: int) -> None:
        """Refuse a key that is written twice, or warn that its last value counts."""
        path = tuple(self.path)
        if not self.takes_last:
            raise _fault_at(event, f"is written twice, first in line {before}; keep one", path)
        if len(self.warnings) < _MOST_WARNINGS:
            problem = f"is written twice, also in line {before}; the last one counts"
            self.warnings.append(str(_fault_at(event, problem, path)))


def _fault_at(event: Any, problem: str, location: Location = ()) -> YamlFault:
    mark = event.start_mark
    return YamlFault(mark.line + 1, mark.column + 1, problem, location)


def _is_plain(event: Any) -> bool:
    """Tell a scalar that may be something else than text; a user's own tag changes nothing."""
    if event.__class__.__name__ != "ScalarEvent":
        return False
    if event.tag is not None:
        return event.tag in _PLAIN_TAGS
    return bool(event.implicit[0]) and not event.style


def _plain(text: str) -> Any:
    if text in _CONSTANTS:
        return _CONSTANTS[text]
    if _INTEGER.match(text):
        return _integer(text)
    if _FLOAT.match(text):
        number = float(text)
        return number if math.isfinite(number) else text
    return text


def _integer(text: str) -> int | float | str:
    digits = text.replace("_", "").lower()
    bare = digits.lstrip("+-")
    if len(bare) > _MOST_DIGITS:
        return text
    base = 10 if bare[0] != "0" or bare == "0" else _BASES.get(bare[:2], 8)
    try:
        number = int(digits, base)
    except ValueError:  # 0x_
        return text
    return number if abs(number) < 2**64 else float(number)
