"""Find all faults of the FabricProfiles in a text, each with its line.

A document that is broken hides no other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from webhook.core import names
from webhook.core.errors import Problem, ProfilesError
from webhook.core.model import Object
from webhook.core.printable import quoted
from webhook.core.profiles import Profile, parse_profiles, same_pod_labels
from webhook.core.profiles.objects import API_VERSIONS, PROFILE_KIND
from webhook.core.profiles.slips import did_you_mean
from webhook.core.value_types import type_name
from webhook.core.yaml_reader import Document, Marks, YamlFault, format_path, read_documents
from webhook.validate.definition import object_schema
from webhook.validate.fault import Fault
from webhook.validate.rules import NotEvaluated, find_broken_rules
from webhook.validate.schema import find_structural

_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_LISTS = ("List", f"{PROFILE_KIND}List")


@dataclass(slots=True)
class CheckedProfile:
    """Hold a FabricProfile, the line on which it begins, and what is read of it if it is right."""

    line: int
    value: Object
    profile: Profile | None = None

    @property
    def name(self) -> str:
        """Return its name; empty where it has none."""
        metadata = self.value.get("metadata")
        return str(metadata.get("name", "")) if isinstance(metadata, dict) else ""


@dataclass(slots=True)
class Found:
    """Hold a text's FabricProfiles, all problems by line, and the number of other objects."""

    profiles: list[CheckedProfile]
    problems: list[Problem]
    others: int = 0


def check_text(text: str) -> Found:
    """Check each document of *text*, YAML or JSON."""
    found = Found([], [])
    starts = [0, *(match.start() for match in _DOCUMENT.finditer(text))]
    for start, end in zip(starts, [*starts[1:], len(text)], strict=True):
        _check_document("\n" * text.count("\n", 0, start) + text[start:end], found)
    found.problems += _between(found.profiles)
    found.problems.sort(key=lambda problem: problem.line)
    return found


def _check_document(text: str, found: Found) -> None:
    """Check one document, which stands at its lines of the text."""
    marks = Marks()
    before = len(found.problems), found.others
    first = len(found.profiles)
    try:
        documents = read_documents(text, marks)
    except YamlFault as fault:
        found.problems.append(_problem(fault))
        return
    for document in documents:
        for line, value in _objects(document, marks):
            _check_object(value, line, marks, found)
    if documents and before == (len(found.problems), found.others):
        try:
            read = parse_profiles(text).profiles
        except ProfilesError as error:  # the webhook sees a little more than rules in CEL can say
            found.problems += map(_as_path, error.problems)
            return
        for checked in found.profiles[first:]:
            checked.profile = read[checked.name]


def _objects(document: Document, marks: Marks) -> Iterator[tuple[int, Any]]:
    """Yield the object of a document, or those of its List."""
    value = document.value
    items = value.get("items") if isinstance(value, dict) and value.get("kind") in _LISTS else None
    if isinstance(items, list):
        lines = marks.of(items)
        yield from ((lines[number], item) for number, item in enumerate(items))
    else:
        yield document.line, value


def _check_object(value: Any, line: int, marks: Marks, found: Found) -> None:
    if not isinstance(value, dict):
        wrong = f"found {type_name(value)}; write an object with apiVersion and kind"
        found.problems.append(Problem("document", line, wrong))
        return
    kind = str(value.get("kind"))
    if kind not in API_VERSIONS and names.PREFIX not in str(value.get("apiVersion")):
        found.others += 1
        return
    faults = [*_wrong_kind(kind, str(value.get("apiVersion")))]
    if kind == PROFILE_KIND:
        faults += find_faults(value)
        found.profiles.append(CheckedProfile(line, value))
    found.problems += (_located(fault, value, line, marks) for fault in faults)


def _wrong_kind(kind: str, version: str) -> Iterator[Fault]:
    wanted = API_VERSIONS.get(kind)
    if wanted is None:
        meant = did_you_mean(kind, API_VERSIONS) or " or ".join(API_VERSIONS)
        yield Fault(("kind",), f"found {quoted(kind)}; write {meant}")
    elif version != wanted:
        yield Fault(("apiVersion",), f"found {quoted(version)}; write {wanted}")


def find_faults(value: Object) -> Iterator[Fault]:
    """Yield all that the definition refuses of a FabricProfile."""
    checked = {"metadata": {}, **_without_nulls(value)}
    structural = list(find_structural(checked))
    yield from structural
    blocked = [fault.location for fault in structural if fault.is_blocking]
    try:
        yield from find_broken_rules(object_schema(), checked, blocked)
    except NotEvaluated as error:
        yield Fault((), f"a rule cannot be evaluated here, please report it ({error})")


def _without_nulls(value: Any) -> Any:
    """Return plain values without fields that are null, which the API server takes out first."""
    if isinstance(value, dict):
        return {key: _without_nulls(item) for key, item in value.items() if item is not None}
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _between(checked: Sequence[CheckedProfile]) -> Iterator[Problem]:
    """Yield two profiles of one name, and two that the same pods would choose."""
    lines: dict[str, int] = {}
    for profile in checked:
        line = lines.setdefault(profile.name, profile.line)
        if profile.name and line != profile.line:
            wrong = f"profile {profile.name} stands at line {line} already; remove one of the two"
            yield Problem("metadata.name", profile.line, wrong)
    read = [each.profile for each in checked if each.profile]
    for name, owner in same_pod_labels(read).items():
        wrong = f"profile {owner} has the same; no pod could choose one of the two"
        yield Problem("spec.podLabels", lines[name], wrong)


def _located(fault: Fault, value: Any, line: int, marks: Marks) -> Problem:
    """Give a fault the line of the value that is wrong, or of the nearest one above it."""
    line = marks.line(value, fault.location, line)
    return Problem(fault.where or "document", line, fault.message)


def _as_path(problem: Problem) -> Problem:
    """Return a fault of the reader, by its path in the profile."""
    return replace(problem, path=re.sub(f"^{PROFILE_KIND} [^ ]+: ", "", problem.path))


def _problem(fault: YamlFault) -> Problem:
    return Problem(format_path(fault.location), max(fault.line, 1), fault.problem)
