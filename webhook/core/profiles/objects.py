"""Read objects, FabricProfile and Configuration, as the short form of profiles.yaml has them, with the marks of where all stands."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webhook.core import names
from webhook.core.errors import Problem
from webhook.core.printable import quoted
from webhook.core.profiles.slips import unknown_field
from webhook.core.qualified_name import is_dns_subdomain
from webhook.core.value_types import type_name
from webhook.core.yaml_reader import Document, Location, Mark, Marks, format_path

PROFILE_KIND = "FabricProfile"
PROFILE_API_VERSION = f"{names.PREFIX}v1alpha1"
PLURAL = "fabricprofiles"
DEFINITION = f"{PLURAL}.{PROFILE_API_VERSION.partition('/')[0]}"
"""Name of the CustomResourceDefinition."""
SETTINGS_KIND = "Configuration"
SETTINGS_API_VERSION = f"config.{names.PREFIX}v1alpha1"
SETTINGS = ("multus", "allowed")
"""The fields of a Configuration, which stand at the top of the short form."""
_API_VERSIONS = {PROFILE_KIND: PROFILE_API_VERSION, SETTINGS_KIND: SETTINGS_API_VERSION}
_FIELDS = {
    PROFILE_KIND: ("apiVersion", "kind", "metadata", "spec", "status"),
    SETTINGS_KIND: ("apiVersion", "kind", "metadata", *SETTINGS),
}


class ObjectsOfFile:
    """Hold the objects of a file as *value*, the short form, whose marks are put into *marks*; *problems* of the objects themselves."""

    def __init__(self, documents: Sequence[Document], marks: Marks) -> None:
        self.problems: list[Problem] = []
        self._marks = marks
        self._lines: dict[str, int] = {}
        self._profiles: dict[str, Any] = {}
        self._inside: dict[str | int, Mark] = {}
        top: dict[str | int, Mark] = {}
        first = Mark(documents[0].line, documents[0].line, None)
        self.value: dict[str, Any] = {"profiles": self._profiles}
        for document in documents:
            for line, found in self._each(document.value, document.line):
                if found["kind"] == PROFILE_KIND:
                    self._take_profile(found, line)
                else:
                    top |= self._take_settings(found, line)
        marks.put(self._profiles, self._inside)
        marks.put(self.value, {"profiles": first, **top})

    def _each(self, value: Any, line: int) -> Iterator[tuple[int, dict[str, Any]]]:
        """Yield the objects of a document, those of a List one by one, but those that cannot be read."""
        if not isinstance(value, dict):
            self._complain(
                line, (), f"found {type_name(value)}; write an object with apiVersion and kind"
            )
            return
        here = self._marks.of(value)
        kind, items = value.get("kind"), value.get("items")
        if kind in ("List", f"{PROFILE_KIND}List") and isinstance(items, list):
            within = self._marks.of(items)
            for number, item in enumerate(items):
                yield from self._each(item, within[number].line)
        elif kind not in _FIELDS:
            known = " or ".join(_FIELDS)
            at = here["kind"].line if "kind" in here else line
            self._complain(at, ("kind",), f"found {_shown(kind)}; write {known}")
        elif value.get("apiVersion") != _API_VERSIONS[kind]:
            at = here["apiVersion"].line if "apiVersion" in here else line
            self._complain(
                at,
                ("apiVersion",),
                f"found {_shown(value.get('apiVersion'))}; write {_API_VERSIONS[kind]}",
            )
        else:
            for field in value:
                if field not in _FIELDS[kind]:
                    self._complain(
                        here[field].key_line, (field,), unknown_field(field, _FIELDS[kind])
                    )
            yield line, value

    def _take_settings(self, found: dict[str, Any], line: int) -> dict[str | int, Mark]:
        """Return the marks of the settings that stand at the top."""
        if SETTINGS_KIND in self._lines:  # no profile has a name in capitals
            message = f"{SETTINGS_KIND} stands at line {self._lines[SETTINGS_KIND]} already; remove one of the two"
            self._complain(line, ("kind",), message)
        self._lines[SETTINGS_KIND] = line
        written = [key for key in SETTINGS if key in found]
        self.value.update({key: found[key] for key in written})
        return {key: self._marks.of(found)[key] for key in written}

    def _take_profile(self, found: dict[str, Any], line: int) -> None:
        here = self._marks.of(found)
        metadata = found.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else None
        at = ("metadata", "name")
        if not isinstance(name, str) or not is_dns_subdomain(name) or len(name) > LONGEST_NAME:
            place = self._marks.of(metadata).get("name") or here.get("metadata")
            self._complain(
                place.line if place else line,
                at,
                f"found {_shown(name)}; write 1 to 63 of a-z, 0-9, '-', '.', such as hostdev",
            )
        elif name in self._lines:
            self._complain(
                line,
                at,
                f"profile {name} stands at line {self._lines[name]} already; remove one of the two",
            )
        elif "spec" not in found:
            self._complain(
                line,
                ("spec",),
                f"is missing in {PROFILE_KIND} {name}; write spec: and its fields, or spec: {{}}",
            )
        else:
            self._lines[name] = line
            self._profiles[name] = found["spec"]
            self._inside[name] = here["spec"]

    def _complain(self, line: int, location: Location, message: str) -> None:
        self.problems.append(Problem(format_path(location), line, message))


LONGEST_NAME = 63
"""A namespace's label names the profile. Source: k8s.io/apimachinery pkg/util/validation LabelValueMaxLength."""


def are_objects(documents: Sequence[Document]) -> bool:
    """Tell whether *documents* are objects of the API, which have a kind, rather than the short form."""
    return any(
        isinstance(document.value, dict) and "kind" in document.value for document in documents
    )


def faults_in_object(name: str, problems: Iterable[Problem]) -> list[str]:
    """Write the faults of FabricProfile *name* without the object, which the sentence around them names: ``spec.env: …``."""
    head = f"{PROFILE_KIND} {name}: "
    return [f"{each.path.removeprefix(head)}: {each.message}" for each in problems]


def path_in_object(location: Location) -> str:
    """Write a location of the short form as that in the object: ``FabricProfile hostdev: spec.networks[0].network``."""
    if location[:1] == ("profiles",) and len(location) > 1:
        return f"{PROFILE_KIND} {location[1]}: {format_path(('spec', *location[2:]))}"
    return f"{SETTINGS_KIND}: {format_path(location)}"


def _shown(value: Any) -> str:
    return quoted(value) if isinstance(value, str) else type_name(value)
