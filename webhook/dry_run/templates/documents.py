"""Read the documents of a manifest, YAML or JSON, as Kubernetes' own tools read them.

YAML is read as ``sigs.k8s.io/yaml`` reads it: no timestamps, no numbers in base 60 (``2:4`` is text), keys are text. Input that
expands beyond the limits (alias bombs, deep nesting) is refused while it is read.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any, NoReturn

import yaml

from webhook.core.errors import InputError
from webhook.dry_run.templates.yaml_events import Builder

MAX_DEPTH = 100
"""Maps and lists inside one another; a wrapped pod needs about 30."""
MAX_NODES = 1_000_000
"""Values of all documents together, aliases counted as often as they are used."""

_UNPRINTABLE = re.compile("[^\t\n\r\x20-\x7e\x85\xa0-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""What YAML itself does not allow: no reader of it finds another, so that each of its errors has a mark."""
_COLOUR = re.compile("\x1b\\[[0-9;]*m")
_TORCHX_REQUEST = re.compile(r"^=== SCHEDULER REQUEST ===[ \t\r]*$", re.MULTILINE)
_TORCHX_LOG = re.compile(r"^torchx \d{4}-\d\d-\d\d .*$", re.MULTILINE)
_TEMPLATE = re.compile(r"\{\{|\{%")
_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def parse_documents(text: str) -> list[Any]:
    """Read all documents of *text*; empty ones are left out.

    Shape: a YAML stream, one or more JSON values, or the whole of what ``torchx run --dryrun`` prints.

    Raises InputError with line and column.
    """
    text = _scheduler_request(text.removeprefix("\ufeff"))
    match = _UNPRINTABLE.search(text)
    if match:
        _fail_at(text, match.start(), f"the character U+{ord(match[0]):04X} is not allowed")
    documents = _json_documents(text) if text.lstrip()[:1] in ("{", "[") else None
    if documents is None:
        try:
            documents = _yaml_documents(text)
        except InputError as error:
            raise InputError(f"{error}{_template_hint(text)}") from None
    if "\\u" in text or "\\U" in text:
        _check_surrogates(documents)
    return documents


def _scheduler_request(text: str) -> str:
    """Blank what ``torchx run --dryrun`` prints around its manifest, so that line numbers stay those of the paste.

    Source: torchx cli/cmd_run.py (0.7.0 to 2026.10.26), cli/main.py (its log format).
    """
    if "=== SCHEDULER REQUEST ===" not in text:
        return text
    text = _COLOUR.sub("", text)
    headings = list(_TORCHX_REQUEST.finditer(text))
    if not headings:
        return text
    end = headings[-1].end()
    return "\n" * text.count("\n", 0, end) + _TORCHX_LOG.sub("", text[end:])


def _yaml_documents(text: str) -> list[Any]:
    builder = Builder(MAX_DEPTH, MAX_NODES)
    try:
        for event in yaml.parse(text, Loader=_LOADER):
            builder.take(event)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        problem = ", ".join(part for part in (error.problem, error.context) if part) or "not YAML"
        line, column = (mark.line, mark.column) if mark else (0, 0)
        _fail(line, column, problem + _tab_hint(text, line))
    except ValueError as error:  # of PyYAML without libyaml, which takes any eight digits behind \\U for a character
        raise InputError(f"the input is no YAML: {error}") from error
    return builder.documents


def _tab_hint(text: str, line: int) -> str:
    lines = text.split("\n")
    if line < len(lines) and "\t" in lines[line]:
        return " (the line holds a tab: YAML is indented with spaces)"
    return ""


def _template_hint(text: str) -> str:
    mark = _TEMPLATE.search(text)
    if mark is None:
        return ""
    return f" (the text holds {mark[0]}, as templates do: give what the template makes, as helm template prints it)"


def _json_documents(text: str) -> list[Any] | None:
    """Read JSON values one after the other; None where the text is not JSON, so that YAML may judge it."""
    decoder = json.JSONDecoder(parse_float=_finite)
    documents: list[Any] = []
    position, nodes = 0, 0
    try:
        while (position := _skip_space(text, position)) < len(text):
            value, position = decoder.raw_decode(text, position)
            nodes += _count(value)
            documents.append(value)
    except (ValueError, RecursionError):
        return None
    if nodes > MAX_NODES:
        raise InputError(f"the input holds {nodes} values; at most {MAX_NODES} are read at once: split it")
    return documents


def _skip_space(text: str, position: int) -> int:
    while position < len(text) and text[position] in " \t\r\n":
        position += 1
    return position


def _finite(literal: str) -> float:
    value = float(literal)
    if not math.isfinite(value):
        raise ValueError(literal)
    return value


def _count(value: Any) -> int:
    """Count the values of a JSON document; raises ValueError where it is too deep, or holds NaN."""
    count = 0
    level = [value]
    for _ in range(MAX_DEPTH + 1):
        count += len(level)
        below: list[Any] = []
        for node in level:
            if isinstance(node, dict):
                below.extend(node.values())
            elif isinstance(node, list):
                below.extend(node)
            elif isinstance(node, float) and not math.isfinite(node):
                raise ValueError("not a JSON number")
        if not below:
            return count
        level = below
    raise ValueError("too deep")


def _check_surrogates(documents: list[Any]) -> None:
    try:
        json.dumps(documents, ensure_ascii=False).encode()
    except UnicodeEncodeError as error:
        raise InputError("the input holds half of a surrogate pair, which is no character") from error


def _fail_at(text: str, position: int, problem: str) -> NoReturn:
    line_start = text.rfind("\n", 0, position) + 1
    _fail(text.count("\n", 0, position), position - line_start, problem)


def _fail(line: int, column: int, problem: str) -> NoReturn:
    raise InputError(f"line {line + 1}, column {column + 1}: {problem}")
