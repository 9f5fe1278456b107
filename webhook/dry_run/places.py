"""Find where the field stands that a decision speaks of: in a pod, and in the manifest that the pod was made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.yaml_reader import Location, Marks
from webhook.dry_run.judge import PodResult
from webhook.dry_run.templates import display_name, named_objects, parse_documents

_MOST_CHARACTERS = 300_000
"""Of a manifest whose lines are looked for: it is parsed once more."""
_MOST_EQUAL = 10
"""Objects of one name among which a pod's own is looked for."""
_WORD = re.compile(r"[^\s,;'\"=()\[\]]+")
_FIELD = re.compile(r"\bspec\.([A-Za-z]+)(?:\[([^\]]+)\])?")


def find_place(pod: Object, message: str) -> Location | None:
    """Return the part of *pod* that a decision's message speaks of, ``("metadata", "annotations", "k8s.v1.cni.cncf.io/networks")``.

    None where the message names nothing that the pod has. What is named most narrowly counts.
    """
    words = {word.rstrip(".:") for word in _WORD.findall(message)}
    return next(_places(pod, message, words), None)


def _places(pod: Object, message: str, words: set[str]) -> Iterator[Location]:
    for kind, holder, held in (
        ("annotation", "annotations", podspec.annotations(pod)),
        ("label", "labels", podspec.labels(pod)),
    ):
        yield from (
            ("metadata", holder, key) for key in held if key in words and f"{kind} {key}" in message
        )
    shallow: list[Location] = []
    spec = pod.get("spec") or {}
    for holder in ("containers", "initContainers"):
        for index, container in enumerate(spec.get(holder) or ()):
            here: Location = ("spec", holder, index)
            is_named = (
                container.get("name") in words and f"container {container['name']}" in message
            )
            yield from (
                (*here, *below) for below in _in_container(container, words, is_named=is_named)
            )
            if is_named:
                shallow.append(here)
    volumes = enumerate(spec.get("volumes") or ())
    yield from (
        ("spec", "volumes", at)
        for at, volume in volumes
        if volume.get("name") in words and "volume" in words
    )
    for field, key in _FIELD.findall(message):
        if field in spec:
            yield (
                ("spec", field, key)
                if isinstance(spec[field], dict) and key in spec[field]
                else ("spec", field)
            )
    yield from shallow
    if "namespace" in words and "namespace" in pod.get("metadata", {}) and "exist" in words:
        yield "metadata", "namespace"


def _in_container(container: Object, words: set[str], *, is_named: bool) -> Iterator[Location]:
    for index, variable in enumerate(container.get("env") or ()):
        if variable.get("name") in words:
            yield "env", index
    if not is_named:
        return
    resources = container.get("resources") or {}
    for kind in ("limits", "requests"):
        yield from (("resources", kind, key) for key in resources.get(kind) or () if key in words)
    for holder, path in (("volumeMounts", "mountPath"), ("volumeDevices", "devicePath")):
        for index, mount in enumerate(container.get(holder) or ()):
            if mount.get(path) in words:
                yield holder, index
    for index, port in enumerate(container.get("ports") or ()):
        if port.get("name") in words:
            yield "ports", index


class Manifest:
    """Tell on which lines of a manifest the parts of its pods stand."""

    def __init__(self, text: str) -> None:
        self._marks = Marks()
        self._objects: dict[
            tuple[str, str], list[Object]
        ] = {}  # by kind and name, and by the namespace that it names
        self._documents: list[Any] = []  # kept, for marks know values by their ids
        with suppress(InputError):  # JSON that is no YAML
            self._documents = (
                parse_documents(text, self._marks) if len(text) <= _MOST_CHARACTERS else []
            )
        for _, value in named_objects(self._documents):
            if isinstance(value, dict) and isinstance(value.get("kind"), str):
                metadata = value.get("metadata")
                name = display_name(metadata) if isinstance(metadata, dict) else ""
                namespace = metadata.get("namespace") if isinstance(metadata, dict) else None
                key = (
                    f"{value['kind']}/{name or '?'}",
                    namespace if isinstance(namespace, str) else "",
                )
                self._objects.setdefault(key, []).append(value)

    def line(self, pod: PodResult, location: Location | None) -> int:
        """Return the line of the part at *location* of the pod as submitted, or of the nearest that holds it; 0 where none does.

        Of several objects of one name that is the pod's own which says there what the pod does.
        """
        lines = []
        path = (
            ""
            if location == ("metadata", "namespace")
            else pod.source.removeprefix(pod.workload).strip()
        )
        for space in (pod.namespace, ""):
            for found in self._objects.get((pod.workload, space), ())[:_MOST_EQUAL]:
                line, template, rest = self._walk(found, path)
                if rest:
                    continue
                inside, is_equal = self._nearest(template, pod.before, location or ())
                lines.append(inside or line or self._first(found))
                if is_equal:
                    return lines[-1]
        return next(iter(lines), 0)

    def _first(self, found: Object) -> int:
        return min(self._marks.of(found).values(), default=0)

    def _line_of(self, value: Any, step: str | int) -> int:
        """Return the line of the key or item; 0 where it is not known."""
        return self._marks.of(value).get(step, 0)

    def _walk(self, value: Any, path: str) -> tuple[int, Any, str]:
        """Follow ``spec.tasks[0].template``; return the line and the value it leads to, and what of the path leads nowhere."""
        line = 0
        while path:
            if isinstance(value, dict):
                fits = (key for key in value if isinstance(key, str) and path.startswith(key))
                step: Any = max(
                    (key for key in fits if path[len(key) :][:1] in ("", ".", "[")),
                    key=len,
                    default=None,
                )
                rest = path[len(step) :] if step is not None else ""
            else:
                number = re.match(r"(\d+)\]", path)
                step, rest = (int(number[1]), path[number.end() :]) if number else (None, "")
            if (
                step is None
                or (isinstance(value, list) and step >= len(value))
                or not isinstance(value, dict | list)
            ):
                break
            line = self._line_of(value, step) or line
            value, path = value[step], rest.lstrip(".[")
        return line, value, path

    def _nearest(self, value: Any, pod: Any, location: Location) -> tuple[int, bool]:
        """Follow *location* as far as the manifest has it; return the line, and whether the same stands there as in the pod.

        Items of lists are found again by their names.
        """
        line = 0
        for step in location:
            pod = pod[step]
            here: Any = step
            if isinstance(value, list):
                name = pod.get("name") if isinstance(pod, dict) else None
                named = (
                    at
                    for at, item in enumerate(value)
                    if isinstance(item, dict) and name and item.get("name") == name
                )
                here = next(named, -1)
            if (
                here == -1
                or not isinstance(value, dict | list)
                or (isinstance(value, dict) and here not in value)
            ):
                return line, False
            line = self._line_of(value, here) or line
            value = value[here]
        return line, bool(location) and bool(value == pod)
