"""Read FabricProfiles and a Configuration: objects as the API server gives them, or the YAML of a file.

The first fault is enough here: `fabric-injector profiles validate` tells all of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec import ValidationError, convert, structs

from webhook.core import names
from webhook.core.errors import Problem, ProfilesError
from webhook.core.model import Object
from webhook.core.printable import quoted
from webhook.core.profiles.messages import explain
from webhook.core.profiles.objects import (
    API_VERSIONS,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
)
from webhook.core.profiles.profile import (
    ClusterSettings,
    Profile,
    Profiles,
    ProfileSpec,
    same_pod_labels,
)
from webhook.core.profiles.slips import unknown_field
from webhook.core.profiles.template import Fault, Templates, check_templates
from webhook.core.qualified_name import is_dns_subdomain
from webhook.core.value_types import type_name
from webhook.core.yaml_reader import Marks, YamlFault, decode, format_path, read_documents

REVISION_LENGTH = 12
LONGEST_NAME = 63
"""A namespace's label names the profile.
Source: k8s.io/apimachinery pkg/util/validation LabelValueMaxLength."""
_TOP = ("apiVersion", "kind", "metadata")


class Content(NamedTuple):
    """Hold what was read of an object: its *profile*, or the *problem* of its content."""

    profile: Profile | None
    problem: str = ""


class ProfileObject(NamedTuple):
    """Hold a FabricProfile as the API server has it; *status* as it stands, whatever is in it."""

    name: str
    uid: str
    version: str
    generation: int
    content: Content
    status: Object

    @property
    def observed(self) -> int:
        """Give the generation that the conditions are about."""
        return _number(self.status.get("observedGeneration"))

    @property
    def conditions(self) -> Mapping[str, tuple[str, str]]:
        """Give the status and the message of each condition, by its type."""
        written = self.status.get("conditions")
        return {
            each["type"]: (
                str(each.get("status")),
                str(each.get("message") or each.get("reason") or ""),
            )
            for each in (written if isinstance(written, list) else ())
            if isinstance(each, dict) and isinstance(each.get("type"), str)
        }


def read_object(obj: Object) -> ProfileObject:
    """Read a FabricProfile; a problem of its content begins with the path: ``spec.env: …``.

    Raises KeyError where it has no name.
    """
    metadata, status = obj["metadata"], obj.get("status")
    name, generation = str(metadata["name"]), _number(metadata.get("generation"))
    try:
        content = Content(structs.replace(_read_spec(name, obj.get("spec")), generation=generation))
    except Fault as fault:
        content = Content(None, f"{format_path(fault.location)}: {fault}")
    uid, version = (str(metadata.get(key) or "") for key in ("uid", "resourceVersion"))
    status = status if isinstance(status, dict) else {}
    return ProfileObject(name, uid, version, generation, content, status)


def read_profile(name: str, spec: Any) -> Profile:
    """Read the ``spec`` of FabricProfile *name*. Raises ProfilesError, with the path in the object."""
    try:
        return _read_spec(name, spec)
    except Fault as fault:
        path = _path(PROFILE_KIND, name, fault)
        raise ProfilesError((Problem(path, 1, str(fault)),)) from None


def parse_profiles(content: str | bytes) -> Profiles:
    """Read a file of FabricProfiles and at most one Configuration, as documents or in a List.

    Raises ProfilesError, with path and line.
    """
    file = _File(content)
    profiles: dict[str, Profile] = {}
    settings = ClusterSettings()
    lines: dict[str, int] = {}
    for found in file.objects():
        what = SETTINGS_KIND if found.kind == SETTINGS_KIND else f"profile {found.name}"
        if what in lines:
            already = f"{what} stands at line {lines[what]} already; remove one of the two"
            raise file.error(found, Fault(("metadata",), already))
        lines[what] = found.line
        if found.kind == SETTINGS_KIND:
            settings = file.read_settings(found)
        else:
            profiles[found.name] = file.read_profile(found)
        for name, owner in same_pod_labels(profiles.values()).items():
            fault = Fault(("spec", "podLabels"), f"profile {owner} has the same; change one")
            raise file.error(found, fault) if name == found.name else AssertionError
    return Profiles(
        multus=settings.multus,
        profiles=MappingProxyType(profiles),
        has_settings=SETTINGS_KIND in lines,
    )


def parse_configuration(content: str | bytes) -> ClusterSettings:
    """Read a configuration file, one Configuration object. Raises ProfilesError as above."""
    file = _File(content)
    found = list(file.objects())
    for each in found:
        if each.kind != SETTINGS_KIND or len(found) > 1:
            wanted = f"apiVersion: {SETTINGS_API_VERSION} and kind: {SETTINGS_KIND}"
            message = f"the file is to hold one object, with {wanted}; write others elsewhere"
            raise file.error(each, Fault(("kind",), message))
    return file.read_settings(found[0]) if found else ClusterSettings()


def _read_spec(name: str, spec: Any) -> Profile:
    """Raise Fault, located in the object."""
    if spec is not None and not isinstance(spec, dict):
        raise Fault(("spec",), f"found {type_name(spec)}; write an object of fields")
    written = _without_nulls(spec or {})
    kind: Any = ProfileSpec
    try:
        known = convert(written, ProfileSpec, dec_hook=_read_value)
        kind = Templates
        check_templates(written)
    except ValidationError as error:
        fault = explain(error, written, kind)
        raise Fault(("spec", *fault.location), str(fault)) from None
    except Fault as fault:
        raise Fault(("spec", *fault.location), str(fault)) from None
    given = {field: getattr(known, field) for field in ProfileSpec.__struct_fields__}
    return Profile(name=name, revision=_revision(spec), **given)


def _read_value(kind: Any, written: Any) -> Any:
    """Read a value of one of `grammar`'s types."""
    return kind.read(written)


def _without_nulls(value: Any) -> Any:
    """Return *value* without fields that are null, which are absent to Kubernetes."""
    if isinstance(value, dict):
        return {
            key: inner if key == "parameters" else _without_nulls(inner)
            for key, inner in value.items()
            if inner is not None
        }
    return [_without_nulls(item) for item in value] if isinstance(value, list) else value


def _revision(content: Any) -> str:
    """Return a digest of the content as it is written: the same in a file and in an object."""
    text = json.dumps(content or {}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:REVISION_LENGTH]


def _path(kind: str, name: str, fault: Fault) -> str:
    head = f"{kind} {name}".strip()
    return f"{head}: {format_path(fault.location)}" if head else format_path(fault.location)


class _Found(NamedTuple):
    """Hold an object of a file; *name* is empty for a Configuration."""

    kind: str
    name: str
    value: Object
    line: int


class _File:
    """Hold the documents of a file, and know on which line what stands."""

    def __init__(self, content: str | bytes) -> None:
        self._marks = Marks()
        try:
            text = decode(content) if isinstance(content, bytes) else content
            self._documents = read_documents(text, self._marks)
            if self._marks.faults:
                raise self._marks.faults[0]
        except YamlFault as fault:
            problem = Problem(format_path(fault.location), max(fault.line, 1), fault.problem)
            raise ProfilesError((problem,)) from None

    def objects(self) -> Iterator[_Found]:
        """Yield the objects, those of a List one by one."""
        if not self._documents:
            message = f"is empty; write a {PROFILE_KIND}, or a List with items: []"
            raise ProfilesError((Problem(format_path(()), 1, message),))
        for document in self._documents:
            yield from self._objects(document.value, document.line)

    def _objects(self, value: Any, line: int) -> Iterator[_Found]:
        found = _Found("", "", value, line)
        if not isinstance(value, dict):
            told = f"found {type_name(value)}; write an object with apiVersion and kind"
            raise self.error(found, Fault((), told))
        kind, items = value.get("kind"), value.get("items")
        if kind in ("List", f"{PROFILE_KIND}List") and isinstance(items, list):
            marks = self._marks.of(items)
            for number, item in enumerate(items):
                yield from self._objects(item, marks[number])
            return
        if not isinstance(kind, str) or kind not in API_VERSIONS:
            told = f"found {_shown(kind)}; write {' or '.join(API_VERSIONS)}"
            raise self.error(found, Fault(("kind",), told))
        found = found._replace(kind=kind)
        if value.get("apiVersion") != API_VERSIONS[kind]:
            told = f"found {_shown(value.get('apiVersion'))}; write {API_VERSIONS[kind]}"
            raise self.error(found, Fault(("apiVersion",), told))
        known = (*_TOP, *(("multus",) if kind == SETTINGS_KIND else ("spec", "status")))
        for field in value:
            if field not in known:
                raise self.error(found, Fault((field,), unknown_field(field, known)))
        yield found if kind == SETTINGS_KIND else found._replace(name=self._name(found))

    def _name(self, found: _Found) -> str:
        metadata = found.value.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        if not isinstance(name, str) or not is_dns_subdomain(name) or len(name) > LONGEST_NAME:
            told = f"found {_shown(name)}; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev"
            raise self.error(found, Fault(("metadata", "name"), told))
        if name == names.PROFILE_NONE:
            told = f"the label {names.PROFILE}: {name} leaves a pod alone; write another name"
            raise self.error(found, Fault(("metadata", "name"), told))
        return name

    def read_profile(self, found: _Found) -> Profile:
        """Read a FabricProfile."""
        try:
            if "spec" not in found.value:
                raise Fault(("spec",), "is missing; write spec: and its fields, or spec: {}")
            return _read_spec(found.name, found.value["spec"])
        except Fault as fault:
            raise self.error(found, fault) from None

    def read_settings(self, found: _Found) -> ClusterSettings:
        """Read a Configuration."""
        written = {key: value for key, value in found.value.items() if key not in _TOP}
        try:
            return convert(_without_nulls(written), ClusterSettings)
        except ValidationError as error:
            raise self.error(found, explain(error, written, ClusterSettings)) from None

    def error(self, found: _Found, fault: Fault) -> ProfilesError:
        """Say where the fault stands."""
        line = self._marks.line(found.value, fault.location, found.line)
        path = _path(found.kind, found.name, fault)
        return ProfilesError((Problem(path, line, str(fault)),))


def _number(value: Any) -> int:
    return value if type(value) is int else 0


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else type_name(value)
