"""Read an administrator's own cases, a manifest and what must come out of it each, and compare with what does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from fnmatch import fnmatchcase
from functools import cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

from pydantic import AfterValidator, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError, WithJsonSchema
from pydantic.alias_generators import to_camel
from pydantic_core import ErrorDetails

from webhook.core.errors import InputError
from webhook.core.model import Object, Reason
from webhook.core.quantity import parse_quantity
from webhook.core.yaml_reader import Location, Marks, format_path, read_documents
from webhook.dry_run.judge import DryRun, PodResult
from webhook.dry_run.yaml_text import yaml_lines

_QUANTITIES = ("limits", "requests", "sizeLimit")
_FEW = 5
_MESSAGES = {
    "missing": "is missing; write it",
    **dict.fromkeys(("unexpected_keyword_argument", "extra_forbidden"), "is not a field here; correct or remove it"),
    "dataclass_type": "expected an object; write one field: value a line",
    "list_type": "expected a list; write one item a line after a dash",
}


def _check_sources(items: list[Any]) -> list[Any]:
    if not items:
        raise ValueError("is empty; name a file or write an object")
    if not all(isinstance(item, str | dict) for item in items):
        raise ValueError("each is the name of a file, or an object that is written out")
    return items


def _as_list(value: Any) -> Any:
    return [value] if isinstance(value, str | dict) else value


_SOURCE = {"anyOf": [{"type": "string"}, {"type": "object"}]}
Sources = Annotated[
    list[Any],
    BeforeValidator(_as_list),
    AfterValidator(_check_sources),
    WithJsonSchema({"anyOf": [*_SOURCE["anyOf"], {"type": "array", "items": _SOURCE, "minItems": 1}]}),
]
_CONFIG = ConfigDict(extra="forbid", alias_generator=to_camel)


@dataclass(frozen=True)
class Expectation:
    """Say what must become of pods of a case; what is not written may be anything."""

    pod: Annotated[str, Field(description="Name of the pods that this is about, with * for any characters.")] = "*"
    decision: Annotated[
        Literal["injected", "left-alone", "denied"] | None, Field(description="What is decided about each of them.")
    ] = None
    reason: Annotated[Reason | None, Field(description="Code that one of the decisions about each of them has.")] = None
    message: Annotated[str | None, Field(description="Text that a decision about each of them holds.")] = None
    profile: Annotated[str | None, Field(description="Profile that each of them gets.")] = None
    present: Annotated[
        dict[str, Any],
        Field(
            description="Part of each pod as it leaves admission: of an object these fields, of a list these items, "
            "in any order. null stands for any value."
        ),
    ] = field(default_factory=dict)
    absent: Annotated[
        list[dict[str, Any]], Field(description="Parts that no pod may have, each written as present is.")
    ] = field(default_factory=list)

    __pydantic_config__: ClassVar[ConfigDict] = _CONFIG


@dataclass(frozen=True)
class Case:
    """Hold one case. Files are named as they are seen from the file of the cases."""

    name: Annotated[str, Field(min_length=1, description="What the case shows, in a few words.")]
    manifest: Annotated[Sources, Field(description="Files, or objects, that hold pods or pod templates.")]
    expect: Annotated[list[Expectation], Field(min_length=1, description="What must become of the pods.")]
    namespace: Annotated[str | None, Field(description="Namespace of objects of the manifest that name none.")] = None
    profile: Annotated[str | None, Field(description="Profile that is used whatever the labels say.")] = None
    profiles: Annotated[str | None, Field(description="File of the profiles, in place of that of all cases.")] = None
    objects: Annotated[Sources, Field(description="Files, or objects, of the cluster, beside those of all cases.")] = (
        field(default_factory=list)
    )

    __pydantic_config__: ClassVar[ConfigDict] = _CONFIG


@dataclass(frozen=True)
class Cases:
    """Hold a file of cases."""

    cases: Annotated[list[Case], Field(min_length=1, description="The cases, which are judged in this order.")]
    profiles: Annotated[str | None, Field(description="File of the profiles; else FabricProfiles of objects.")] = None
    objects: Annotated[
        Sources,
        Field(
            description="Files, or objects, that stand for the cluster: Namespaces, NetworkAttachmentDefinitions, Pods, profiles."
        ),
    ] = field(default_factory=list)

    __pydantic_config__: ClassVar[ConfigDict] = _CONFIG


class Difference(NamedTuple):
    """Say in what a pod, ``research/bert-0``, is not as its case expects; *field* is that of the expectation."""

    pod: str
    field: str
    expected: str
    found: str
    diff: tuple[str, ...] = ()

    def lines(self) -> Iterator[str]:
        """Yield what is printed of it."""
        if self.diff:
            yield f"{self.pod}: {self.field}:"
            yield from (f"  {line}" for line in self.diff)
        else:
            yield f"{self.pod}: {self.field}: expected {self.expected}, found {self.found}"


def read_cases(source: str, text: str) -> Cases:
    """Read a file of cases; raise InputError with every fault, each with its line and path."""
    marks = Marks()
    try:
        documents = read_documents(text, marks)
    except InputError as error:
        raise InputError(f"{source}: {error}") from None
    faults = [str(fault) for fault in marks.faults]
    if len(documents) != 1:
        faults.append(f"expected one document with cases:, found {len(documents)}")
    found: Cases | None = None
    if not faults:
        try:
            found = _reader().validate_python(documents[0].value)
        except ValidationError as errors:
            value, line = documents[0].value, documents[0].line
            faults += [_fault(value, line, marks, each) for each in errors.errors(include_url=False)]
    if found is None:
        raise InputError("\n".join(f"{source}: {fault}" for fault in faults))
    return found


def cases_schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) of a file of cases, for editors."""
    schema = _reader().json_schema()
    title = "cases of fabric-injector dry-run --expect"
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema, "title": title}


@cache
def _reader() -> TypeAdapter[Cases]:
    return TypeAdapter(Cases)


def _fault(value: Any, line: int, marks: Marks, error: ErrorDetails) -> str:
    """Write a fault with the line of the value, or of the nearest above it that is there."""
    location: Location = error["loc"]
    for part in location:
        mark = marks.of(value).get(part)
        if mark is None:
            break
        value, line = value[part], mark.line
    text = _MESSAGES.get(error["type"]) or error["msg"].removeprefix("Value error, ")
    return f"line {line}: {format_path(location)}: {text[:1].lower()}{text[1:]}"


def compare(case: Case, run: DryRun) -> list[Difference]:
    """Return in what the pods of a case are not as it expects."""
    found: list[Difference] = []
    for wanted in case.expect:
        pods = [pod for pod in run.pods if fnmatchcase(pod.name, wanted.pod)]
        if not pods:
            there = ", ".join([pod.name for pod in run.pods][:_FEW]) or "none"
            found.append(Difference(wanted.pod, "pod", "a pod of this name", there))
        for pod in pods:
            found += _differences(wanted, pod)
    return found


def _differences(wanted: Expectation, pod: PodResult) -> Iterator[Difference]:
    title, why = f"{pod.namespace}/{pod.name}", pod.message or "; ".join(each.message for each in pod.decisions)
    if wanted.decision not in (None, pod.decision):
        yield Difference(title, "decision", str(wanted.decision), f"{pod.decision}: {why}")
    reasons = list(dict.fromkeys(str(each.reason) for each in pod.decisions))
    if wanted.reason is not None and wanted.reason not in reasons:
        yield Difference(title, "reason", wanted.reason, ", ".join(reasons) or "none")
    if wanted.message is not None and wanted.message not in f"{pod.message}\n{why}":
        yield Difference(title, "message", wanted.message, why)
    if wanted.profile not in (None, pod.profile):
        yield Difference(title, "profile", str(wanted.profile), pod.profile or "none")
    there = part_of(pod.after, wanted.present)
    before, after = yaml_lines(wanted.present), yaml_lines(there)
    if before != after:
        diff = unified_diff(before, after, "expected", "found", lineterm="")
        yield Difference(title, "present", "\n".join(before), "\n".join(after), tuple(diff))
    for unwanted in wanted.absent:
        if holds(pod.after, unwanted):
            lines = yaml_lines(part_of(pod.after, unwanted, shown=True))
            yield Difference(title, "absent", "nothing of it", "\n".join(lines), tuple(f"+{line}" for line in lines))


def holds(there: Any, wanted: Any, *, is_quantity: bool = False) -> bool:
    """Tell whether *there* has the part that is wanted."""
    return yaml_lines(part_of(there, wanted, is_quantity=is_quantity)) == yaml_lines(wanted)


def part_of(there: Any, wanted: Any, *, is_quantity: bool = False, shown: bool = False) -> Any:
    """Return what *there* has where something is wanted: equal to *wanted* where nothing is missing or otherwise.

    *shown*: with the values for which null stands.
    """
    if wanted is None:
        return there if shown else None
    if isinstance(wanted, dict) and isinstance(there, dict):
        return {
            key: part_of(there[key], value, is_quantity=is_quantity or key in _QUANTITIES, shown=shown)
            for key, value in wanted.items()
            if key in there
        }
    if isinstance(wanted, list) and isinstance(there, list):
        return _items_of(there, wanted, shown=shown)
    return wanted if is_quantity and _same_quantity(there, wanted) else there


def _items_of(there: Sequence[Any], wanted: Sequence[Any], *, shown: bool) -> list[Any]:
    found: list[Any] = []
    for item in wanted:
        like = [each for each in there if holds(each, item)] or _like(there, item)
        found += [part_of(each, item, shown=shown) for each in like[:1]]
    if len(found) < len(wanted):  # what is there in its place
        found += [each for each in there if not isinstance(each, dict | list) and each not in found]
        named = [each.get("name") for each in found if isinstance(each, dict)]
        found += [
            {"name": each["name"]}
            for each in there
            if isinstance(each, dict) and "name" in each and each["name"] not in named
        ]
    return found


def _like(there: Sequence[Any], wanted: Any) -> list[Any]:
    """Return the items that may be meant by one which is not there as it is written: of its name, else most like it."""
    if not isinstance(wanted, dict):
        return []
    objects = [each for each in there if isinstance(each, Mapping)]
    if "name" in wanted:
        return [each for each in objects if each.get("name") == wanted["name"]]
    alike = {id(each): sum(holds(each, {key: value}) for key, value in wanted.items()) for each in objects}
    return sorted((each for each in objects if alike[id(each)]), key=lambda each: -alike[id(each)])


def _same_quantity(there: Any, wanted: Any) -> bool:
    if isinstance(there, bool) or isinstance(wanted, bool):
        return False
    try:
        return parse_quantity(there) == parse_quantity(wanted)
    except (ValueError, TypeError):
        return False


def as_document(results: Sequence[tuple[str, Case, Sequence[Difference]]]) -> Object:
    """Return the document of ``-o json``: for each file and case what differs."""
    told = [
        {
            "file": source,
            "name": case.name,
            "asExpected": not differences,
            "differences": [{**each._asdict(), "diff": list(each.diff)} for each in differences],
        }
        for source, case, differences in results
    ]
    failed = sum(bool(differences) for _, _, differences in results)
    return {"cases": told, "summary": {"asExpected": len(results) - failed, "different": failed}}
