"""Find all faults of the FabricProfiles in a text, each with its line.

A document that is broken hides no other.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.core import names
from webhook.core.errors import Problem
from webhook.core.model import Object
from webhook.core.profiles import Profile, same_pod_labels
from webhook.core.profiles.load import objects_of, parse_object, without_nulls
from webhook.core.profiles.objects import API_VERSIONS, PROFILE_KIND, Fault
from webhook.core.profiles.slips import unknown_field
from webhook.core.value_types import format_path
from webhook.core.yaml_reader import Marks, YamlFault, read_documents
from webhook.validate.definition import object_schema
from webhook.validate.rules import NotEvaluated, find_broken_rules
from webhook.validate.schema import find_misspelt, find_structural

_HEAD = {("kind",), ("apiVersion",), ("metadata",)}
_METADATA = (
    *("name", "labels", "annotations", "generateName", "namespace", "finalizers"),
    *("ownerReferences", "uid", "resourceVersion", "generation", "creationTimestamp"),
    *("deletionTimestamp", "deletionGracePeriodSeconds", "managedFields", "selfLink"),
)
_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)


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
    found.problems += _between({each.name: each for each in reversed(found.profiles)}, found)
    found.problems.sort(key=lambda problem: problem.line)
    return found


def _check_document(text: str, found: Found) -> None:
    """Check one document, which stands at its lines of the text."""
    marks = Marks()
    try:
        documents = read_documents(text, marks)
    except YamlFault as fault:
        path = format_path(fault.location)
        found.problems.append(Problem(path, max(fault.line, 1), fault.problem))
        return
    for document in documents:
        for value, line in objects_of(document.value, document.line, marks):
            for wrong in _check_object(value, line, found):
                place = marks.line(value, wrong.location, line)
                found.problems.append(Problem(path_of(wrong), place, str(wrong)))


def _check_object(value: Any, line: int, found: Found) -> list[Fault]:
    is_object = isinstance(value, dict)
    kind, version = (str(value.get(key)) if is_object else "" for key in ("kind", "apiVersion"))
    if is_object and kind not in API_VERSIONS and names.PREFIX not in version:
        found.others += 1
        return []
    checked = CheckedProfile(line, value)
    faults: list[Fault] = []
    if kind == PROFILE_KIND:
        faults += find_faults(value)
        faults += _misspelt_metadata(value.get("metadata"))
        found.profiles.append(checked)
    try:
        read = parse_object(value)
        checked.profile = read if isinstance(read, Profile) else None
    except Fault as fault:  # the webhook sees a little more than rules in CEL can say
        known = {each.location[:1] for each in faults}
        if not faults or fault.location[:1] in _HEAD - known:
            faults.append(fault)
    return faults


def _misspelt_metadata(metadata: Any) -> list[Fault]:
    written = metadata if isinstance(metadata, dict) else {}
    return [
        Fault(("metadata", each), unknown_field(str(each), _METADATA))
        for each in written
        if each not in _METADATA
    ]


def find_faults(value: Object) -> Iterator[Fault]:
    """Yield all that the definition refuses of a FabricProfile."""
    checked = {"metadata": {}, **without_nulls(value)}
    structural = list(find_structural(checked))
    yield from structural
    yield from find_misspelt(checked)
    blocked = [fault.location for fault in structural if fault.is_blocking]
    try:
        yield from find_broken_rules(object_schema(), checked, blocked)
    except NotEvaluated as error:
        yield Fault((), f"a rule cannot be evaluated here, please report it ({error})")


def _between(first: Mapping[str, CheckedProfile], found: Found) -> Iterator[Problem]:
    """Yield two profiles of one name, and two that the same pods would choose."""
    for each in found.profiles:
        line = first[each.name].line
        if each.name and line != each.line:
            wrong = f"profile {each.name} stands at line {line} already; remove one of the two"
            yield Problem("metadata.name", each.line, wrong)
    read = [each.profile for each in found.profiles if each.profile]
    for name, owner in same_pod_labels(read).items():
        wrong = f"profile {owner} has the same; no pod could choose one of the two"
        yield Problem("spec.podLabels", first[name].line, wrong)


def path_of(fault: Fault) -> str:
    """Write where a fault stands, as the API server does."""
    parts = [f"[{part}]" if isinstance(part, int) else f".{part}" for part in fault.location]
    return fault.path or "".join(parts).removeprefix(".") or "document"
