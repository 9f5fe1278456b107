"""Hold the YAML of profiles.yaml as plain values that know where they stand, so that every fault can be shown with its line."""

from __future__ import annotations

from typing import Any

from webhook.core.errors import Problem, ProfilesError
from webhook.core.printable import quoted
from webhook.core.profiles.objects import ObjectsOfFile, are_objects, path_in_object
from webhook.core.value_types import NOTHING, type_name
from webhook.core.yaml_reader import (
    Document,
    Location,
    Mark,
    Marks,
    YamlFault,
    decode,
    format_path,
    read_documents,
)


class ProfilesDocument:
    """Read the one document of a file: *value* in plain Python, and *problems* of the YAML itself, such as repeated keys.

    *holds_objects*: it is written as objects, whose short form *value* is.

    Raises ProfilesError where nothing can be read.
    """

    def __init__(self, content: str | bytes) -> None:
        self._marks = Marks()
        try:
            documents = read_documents(
                decode(content) if isinstance(content, bytes) else content, self._marks
            )
        except YamlFault as fault:
            raise ProfilesError((_problem(fault),)) from None
        if not documents:
            raise ProfilesError(
                (Problem(format_path(()), 1, "is empty; write at least `profiles: {}`"),)
            )
        self.problems = [_problem(fault) for fault in self._marks.faults]
        self._line = documents[0].line
        self._path = format_path
        self.holds_objects = are_objects(documents) and _kind(documents[0]) != "ConfigMap"
        if self.holds_objects:
            objects = ObjectsOfFile(documents, self._marks)
            self.value: Any = objects.value
            self.problems += objects.problems
            self._path = path_in_object
            return
        if len(documents) > 1:
            message = "holds more than one document; write one, without a second ---"
            raise ProfilesError((Problem(format_path(()), documents[1].line, message),))
        self.value = documents[0].value

    def problem(self, location: Location, message: str, *, at_key: bool = False) -> Problem:
        """Make a Problem whose line is that of the value (or its key), or of the nearest one above that is there."""
        _, mark, is_there = self._find(location)
        return Problem(
            self._path(location), mark.key_line if at_key and is_there else mark.line, message
        )

    def text(self, location: Location) -> str | None:
        """Return the scalar at *location* as it is written; None for nothing, a list or an object."""
        value, mark, is_there = self._find(location)
        return mark.text if is_there and value is not None else None

    def found(self, location: Location) -> str:
        """Say what stands at *location*: ``"ml"``, ``on, which YAML reads as a boolean``, ``a list``."""
        value, mark, is_there = self._find(location)
        if isinstance(value, str):
            return quoted(value)
        if isinstance(value, dict | list) or not mark.text or not is_there:
            return type_name(value) if is_there else NOTHING
        return f"{mark.text[:60]}, which YAML reads as {type_name(value)}"

    def _find(self, location: Location) -> tuple[Any, Mark, bool]:
        """Return the value at *location*, else the nearest above it; its mark; and whether it is there."""
        value = self.value
        mark = Mark(
            self._line, self._line, None if isinstance(value, dict | list) else str(value).lower()
        )
        for part in location:
            below = self._marks.of(value).get(part)
            if below is None:
                return value, mark, False
            value, mark = value[part], below
        return value, mark, True


def _kind(document: Document) -> Any:
    return document.value.get("kind") if isinstance(document.value, dict) else None


def _problem(fault: YamlFault) -> Problem:
    return Problem(format_path(fault.location), max(fault.line, 1), fault.problem)
