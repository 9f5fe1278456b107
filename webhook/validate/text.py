"""Find all faults of the FabricProfiles in a text, each with its line; a document that is broken hides none of the others."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from webhook.core import names
from webhook.core.errors import Problem, ProfilesError
from webhook.core.model import Object
from webhook.core.printable import quoted
from webhook.core.profiles import Profile, parse_profiles
from webhook.core.profiles.objects import (
    PROFILE_API_VERSION,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)
from webhook.core.profiles.slips import did_you_mean
from webhook.core.value_types import type_name
from webhook.core.yaml_reader import Document, Mark, Marks, YamlFault, format_path, read_documents
from webhook.validate.definition import object_schema
from webhook.validate.fault import Fault
from webhook.validate.rules import NotEvaluated, find_broken_rules
from webhook.validate.schema import find_structural

_API_VERSIONS = {PROFILE_KIND: PROFILE_API_VERSION, SETTINGS_KIND: SETTINGS_API_VERSION}
_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_LISTS = ("List", f"{PROFILE_KIND}List")


@dataclass(slots=True)
class Found:
    """Hold what a text has: FabricProfiles with their lines, those that can be used, faults, and how many other objects."""

    objects: list[tuple[int, Object]]
    profiles: list[tuple[int, Profile]]
    problems: list[Problem]
    others: int = 0


def check_text(text: str) -> Found:
    """Check each document of *text*, YAML or JSON."""
    found = Found([], [], [])
    starts = [0, *(match.start() for match in _DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        _check_document("\n" * text.count("\n", 0, start) + text[start:end], found)
    found.problems.sort(key=lambda problem: problem.line)
    return found


def _check_document(text: str, found: Found) -> None:
    """Check one document, which stands at its lines of the text."""
    marks = Marks()
    before = len(found.problems), found.others
    try:
        documents = read_documents(text, marks)
    except YamlFault as fault:
        found.problems.append(_problem(fault))
        return
    found.problems += map(_problem, marks.faults)
    for document in documents:
        for line, value in _objects(document, marks):
            _check_object(value, line, marks, found)
    if documents and before == (len(found.problems), found.others):
        _read(text, documents[0].line, found)


def _objects(document: Document, marks: Marks) -> Iterator[tuple[int, Any]]:
    """Yield the object of a document, or those of its List."""
    value = document.value
    if isinstance(value, dict) and value.get("kind") in _LISTS and isinstance(value.get("items"), list):
        lines = marks.of(value["items"])
        yield from ((lines[number].line, item) for number, item in enumerate(value["items"]))
    else:
        yield document.line, value


def _check_object(value: Any, line: int, marks: Marks, found: Found) -> None:
    wrong = _wrong_kind(value)
    if wrong is None:
        found.others += 1
    elif wrong.message:
        found.problems.append(_located(wrong, value, line, marks))
    elif value["kind"] == PROFILE_KIND:
        found.objects.append((line, value))
        found.problems += (_located(fault, value, line, marks) for fault in find_faults(value))


def _wrong_kind(value: Any) -> Fault | None:
    """Say what is wrong with an object's kind or version, with an empty message if nothing is; None for an object of others."""
    if not isinstance(value, dict):
        return Fault((), f"found {type_name(value)}; write an object with apiVersion and kind")
    kind, version = str(value.get("kind")), str(value.get("apiVersion"))
    if kind not in _API_VERSIONS:
        if names.PREFIX not in version:
            return None
        meant = did_you_mean(kind, _API_VERSIONS) or " or ".join(_API_VERSIONS)
        return Fault(("kind",), f"found {quoted(kind)}; write {meant}")
    wanted = _API_VERSIONS[kind]
    return Fault(("apiVersion",), "" if version == wanted else f"found {quoted(version)}; write {wanted}")


def find_faults(value: Object) -> Iterator[Fault]:
    """Yield all that the definition refuses of a FabricProfile."""
    checked = _without_nulls({"metadata": {}, **value})
    structural = list(find_structural(checked))
    yield from structural
    blocked = [fault.location for fault in structural if fault.is_blocking]
    try:
        yield from find_broken_rules(object_schema(), checked, blocked)
    except NotEvaluated as error:
        yield Fault((), f"a rule cannot be evaluated here, please report it; --server asks the cluster ({error})")


def _without_nulls(value: Any) -> Any:
    """Return plain values without the fields that are null, which the API server takes out first."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _read(text: str, line: int, found: Found) -> None:
    """Read a document without fault as the webhook does, which sees a little more than rules in CEL can say."""
    try:
        read = parse_profiles(text).profiles
    except ProfilesError as error:
        found.problems += error.problems
        return
    found.profiles += ((line, profile) for profile in read.values())


def _located(fault: Fault, value: Any, line: int, marks: Marks) -> Problem:
    """Give a fault the line of the value that is wrong, or of the nearest one above that is there."""
    mark = Mark(line, line, None)
    for part in fault.location:
        below = marks.of(value).get(part)
        if below is None:
            return Problem(fault.where, mark.line, fault.message)
        value, mark = value[part], below
    return Problem(fault.where or "document", mark.key_line if fault.at_key else mark.line, fault.message)


def _problem(fault: YamlFault) -> Problem:
    return Problem(format_path(fault.location), max(fault.line, 1), fault.problem)
