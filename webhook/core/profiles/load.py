"""Read FabricProfiles and a Configuration: objects of the API server, or the YAML of a file.

The first fault is enough here: `fabric-injector profiles validate` tells all of them.
"""

import json
from collections.abc import Iterable, Iterator
from hashlib import sha256
from types import MappingProxyType
from typing import Any, Final, NamedTuple

from msgspec import ValidationError, convert, structs

from webhook.core import names
from webhook.core.errors import Problem, ProfilesError
from webhook.core.model import Object
from webhook.core.printable import quoted
from webhook.core.profiles.objects import (
    API_VERSIONS,
    PROFILE_KIND,
    SETTINGS_API_VERSION,
    SETTINGS_KIND,
    Fault,
)
from webhook.core.profiles.profile import ClusterSettings, Profile, Profiles, ProfileSpec
from webhook.core.profiles.slips import one_of, unknown_field
from webhook.core.profiles.template import Templates
from webhook.core.qualified_name import is_dns_subdomain
from webhook.core.value_types import explain, format_path, learn, type_name
from webhook.core.yaml_reader import Marks, YamlFault, decode, read_documents

REVISION_LENGTH: Final = 12
LONGEST_NAME: Final = 63
"""A namespace's label names the profile.
Source: k8s.io/apimachinery pkg/util/validation LabelValueMaxLength."""
LISTS: Final = ("List", f"{PROFILE_KIND}List")
_TOP: Final = ("apiVersion", "kind", "metadata")


class Content(NamedTuple):
    """Hold what was read of an object: its *profile*, or the *problem* of its content."""

    profile: Profile | None
    problem: str = ""


class ProfileObject(NamedTuple):
    """Hold a FabricProfile as the API server has it."""

    name: str
    uid: str
    version: str
    generation: int
    content: Content
    status: Object

    @property
    def conditions(self) -> list[Object]:
        """Return what the controller says of it, as the API server has checked it."""
        return self.status.get("conditions") or []

    @property
    def why_not_ready(self) -> str:
        """Return why the object as it is now is not Ready; empty where it is, or nobody knows."""
        ready = next((each for each in self.conditions if each["type"] == "Ready"), {})
        is_told = (self.status.get("observedGeneration") or 0) >= self.generation
        return ready["message"] if is_told and ready.get("status") == "False" else ""


def read_object(obj: Object) -> ProfileObject:
    """Read a FabricProfile; a problem of its content begins with the path: ``spec.env: …``.

    Raises KeyError where it has no name.
    """
    metadata = obj["metadata"]
    name, generation = metadata["name"], metadata.get("generation") or 0
    try:
        content = Content(structs.replace(_read_spec(name, obj.get("spec")), generation=generation))
    except Fault as fault:
        content = Content(None, f"{format_path(fault.location)}: {fault}")
    uid, version = (metadata.get(key) or "" for key in ("uid", "resourceVersion"))
    return ProfileObject(name, uid, version, generation, content, obj.get("status") or {})


def parse_profiles(content: str | bytes) -> Profiles:
    """Read a file of FabricProfiles and at most one Configuration, as documents or in a List.

    Raises ProfilesError, with path and line.
    """
    marks, objects = _read_file(content)
    return gather(objects, marks)


def gather(objects: Iterable[tuple[Any, int]], marks: Marks) -> Profiles:
    """Read FabricProfiles and at most one Configuration, each with its line. Raises as above."""
    profiles: dict[str, Profile] = {}
    settings = None
    lines: dict[str, int] = {}
    for value, line in objects:
        try:
            read = parse_object(value)
            what = f"profile {read.name}" if isinstance(read, Profile) else SETTINGS_KIND
            if what in lines:
                already = f"{what} stands at line {lines[what]} already; remove one of the two"
                raise Fault(("metadata",), already)
        except Fault as fault:
            raise _located(value, line, fault, marks) from None
        lines[what] = line
        if isinstance(read, Profile):
            profiles[read.name] = read
        else:
            settings = read
    return Profiles(
        multus=(settings or ClusterSettings()).multus,
        profiles=MappingProxyType(profiles),
        has_settings=settings is not None,
    )


def parse_configuration(content: str | bytes) -> ClusterSettings:
    """Read a configuration file, one Configuration object. Raises ProfilesError as above."""
    read = parse_profiles(content)
    if read.profiles:
        wanted = f"apiVersion: {SETTINGS_API_VERSION} and kind: {SETTINGS_KIND}"
        message = f"the file is to hold one object, with {wanted}; write others elsewhere"
        raise ProfilesError((Problem("kind", 1, message),))
    return read.settings


def parse_object(value: Any) -> Profile | ClusterSettings:
    """Read a FabricProfile or a Configuration. Raises Fault, located in the object."""
    if not isinstance(value, dict):
        raise Fault((), f"found {type_name(value)}; write an object with apiVersion and kind")
    kind, version = value.get("kind"), value.get("apiVersion")
    if not isinstance(kind, str) or kind not in API_VERSIONS:
        raise Fault(("kind",), f"found {_shown(kind)}; {one_of(str(kind), API_VERSIONS)}")
    if version != API_VERSIONS[kind]:
        raise Fault(("apiVersion",), f"found {_shown(version)}; write {API_VERSIONS[kind]}")
    known = (*_TOP, *(("multus",) if kind == SETTINGS_KIND else ("spec", "status")))
    for field in value:
        if field not in known:
            raise Fault((field,), unknown_field(field, known))
    if kind == SETTINGS_KIND:
        written = {key: value[key] for key in value if key not in _TOP}
        try:
            return convert(without_nulls(written), ClusterSettings)
        except ValidationError as error:
            raise Fault(*explain(error)) from None
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    if not isinstance(name, str) or not is_dns_subdomain(name) or len(name) > LONGEST_NAME:
        told = f"found {_shown(name)}; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev"
        raise Fault(("metadata", "name"), told)
    if name == names.PROFILE_NONE:
        told = f"the label {names.PROFILE}: {name} leaves a pod alone; write another name"
        raise Fault(("metadata", "name"), told)
    if "spec" not in value:
        raise Fault(("spec",), "is missing; write spec: and its fields, or spec: {}")
    return _read_spec(name, value["spec"])


def without_nulls(value: Any) -> Any:
    """Return *value* without fields that are null, which are absent to Kubernetes."""
    if isinstance(value, dict):
        return {
            key: inner if key == "parameters" else without_nulls(inner)
            for key, inner in value.items()
            if inner is not None
        }
    return [without_nulls(item) for item in value] if isinstance(value, list) else value


def objects_of(value: Any, line: int, marks: Marks) -> Iterator[tuple[Any, int]]:
    """Yield a document, or what a List in it holds, each with its line."""
    items = value.get("items") if isinstance(value, dict) and value.get("kind") in LISTS else None
    if not isinstance(items, list):
        yield value, line
        return
    lines = marks.of(items)
    for number, item in enumerate(items):
        yield from objects_of(item, lines[number], marks)


def _read_spec(name: str, spec: Any) -> Profile:
    """Raise Fault, located in the object."""
    if spec is not None and not isinstance(spec, dict):
        raise Fault(("spec",), f"found {type_name(spec)}; write an object of fields")
    written = without_nulls(spec or {})
    try:
        known = convert(written, ProfileSpec, dec_hook=_read)
        convert(written, Templates, dec_hook=_read)
    except ValidationError as error:
        location, problem = explain(error)
        raise Fault(("spec", *location), problem) from None
    return Profile(name=name, revision=_revision(spec), **structs.asdict(known))


def _read(kind: Any, written: Any) -> Any:
    return kind.read(written)


def _revision(content: Any) -> str:
    """Return a digest of the content as it is written: the same in a file and in an object."""
    text = json.dumps(content or {}, sort_keys=True, separators=(",", ":"))
    return sha256(text.encode()).hexdigest()[:REVISION_LENGTH]


def _read_file(content: str | bytes) -> tuple[Marks, list[tuple[Any, int]]]:
    """Return the objects of a file with their lines, those of a List one by one."""
    marks = Marks()
    try:
        text = decode(content) if isinstance(content, bytes) else content
        documents = read_documents(text, marks)
    except YamlFault as fault:
        problem = Problem(format_path(fault.location), max(fault.line, 1), fault.problem)
        raise ProfilesError((problem,)) from None
    if not documents:
        message = f"is empty; write a {PROFILE_KIND}, or a List with items: []"
        raise ProfilesError((Problem(format_path(()), 1, message),))
    found = [each for one in documents for each in objects_of(one.value, one.line, marks)]
    return marks, found


def _located(value: Any, line: int, fault: Fault, marks: Marks) -> ProfilesError:
    """Say in which object of a file the fault stands, and on which line."""
    fields = value if isinstance(value, dict) else {}
    metadata = fields.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else None
    kind = fields.get("kind")
    what = f"{kind if kind in tuple(API_VERSIONS) else ''} {name or ''}".strip()
    path = format_path(fault.location)
    line = marks.line(value, fault.location, line)
    return ProfilesError((Problem(f"{what}: {path}" if what else path, line, str(fault)),))


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else type_name(value)


learn(ProfileSpec, Templates, ClusterSettings)
