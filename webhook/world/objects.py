"""Answer admission's questions from objects in files in place of a cluster: for a demo, a CI job, the tests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from webhook.core.errors import InputError
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.value_types import OBJECT, STRING, type_name
from webhook.core.yaml_reader import YamlFault, decode, read_documents
from webhook.kube.resource import Key
from webhook.world.held import read_namespace
from webhook.world.view import View

KINDS = ("Namespace", "NetworkAttachmentDefinition")


class ObjectsWorld(View):
    """Know a fixed set of Namespaces and NetworkAttachmentDefinitions; other kinds are passed over.

    A namespaced object that names no namespace is in ``default``.
    """

    def __init__(self, objects: Iterable[Object]) -> None:
        namespaces: dict[str, Namespace] = {}
        networks: dict[Key, NetworkDefinition] = {}
        for obj in objects:
            metadata = obj.get("metadata") or {}
            if obj.get("kind") == "Namespace":
                namespaces[metadata["name"]] = read_namespace(obj)
            elif obj.get("kind") == "NetworkAttachmentDefinition":
                place = metadata.get("namespace") or "default"
                placed = {**obj, "metadata": {**metadata, "namespace": place}}
                networks[place, metadata["name"]] = define_network(placed)
        super().__init__(
            namespaces.get, namespaces.get, lambda space, name: networks.get((space, name))
        )

    def checks(self) -> Mapping[str, str]:
        """Give what keeps the answers from being trusted: nothing."""
        return {}


def load_objects(paths: Iterable[Path]) -> list[Object]:
    """Read the objects in files: YAML streams or JSON, Lists of any kind taken apart.

    Raises InputError naming file, line and column of text that does not parse, or the object and field that is of the wrong type.
    """
    return [
        obj
        for path in paths
        for place, value in _documents(path)
        for obj in objects_in(place, value)
    ]


def _documents(path: Path) -> list[tuple[str, Any]]:
    """Give each document of the file, with its place for messages: ``nads.yaml, line 12``."""
    try:
        documents = read_documents(decode(path.read_bytes()))
    except OSError as error:
        raise InputError(
            f"{path}: cannot be read ({error.strerror}); correct the path or its mode"
        ) from None
    except YamlFault as fault:
        raise InputError(f"{path}: {fault}") from None
    return [(f"{path}, line {document.line}", document.value) for document in documents]


def objects_in(place: str, value: Any) -> Iterator[Object]:
    """Yield the object, or each object of a List; raise InputError, which names *place*, where a field is of the wrong type."""
    if value is None:
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        found = f"{OBJECT} without one" if isinstance(value, dict) else type_name(value)
        raise InputError(
            f"{place}: expected {OBJECT} with a kind, found {found}; correct or remove it"
        )
    kind, items = value["kind"], value.get("items")
    if kind.endswith("List") and isinstance(items, list):
        for number, item in enumerate(items):
            missing = (
                {"kind": kind.removesuffix("List")}
                if kind != "List" and isinstance(item, dict)
                else {}
            )
            yield from objects_in(
                f"{place}, items[{number}]", {**missing, **item} if missing else item
            )
    elif kind in KINDS:
        _check(f"{place}: {kind}", value)
        yield value
    else:
        yield value


def _check(place: str, obj: Object) -> None:
    """Check the types of all fields that are read; raise InputError."""
    metadata = _map(place, obj, "metadata")
    name = metadata.get("name")
    if not isinstance(name, str) or not name:
        raise InputError(
            f"{place}: metadata.name: expected {STRING}, found {type_name(name)}; give the object a name"
        )
    place = f"{place} {name}"
    _text(
        place, metadata, "metadata", ("namespace", "uid", "creationTimestamp", "deletionTimestamp")
    )
    for field in ("labels", "annotations"):
        for key, text in _map(f"{place}: metadata", metadata, field).items():
            if not isinstance(text, str):
                raise InputError(
                    f"{place}: metadata.{field}: {key}: expected {STRING}, found {type_name(text)}; put both in quotes"
                )
    if obj["kind"] == "NetworkAttachmentDefinition":
        _text(place, _map(place, obj, "spec"), "spec", ("config",))


def _map(place: str, obj: Object, field: str) -> Object:
    value = obj.get(field)
    if value is not None and not isinstance(value, dict):
        raise InputError(
            f"{place}: {field}: expected {OBJECT}, found {type_name(value)}; correct it"
        )
    return value or {}


def _text(place: str, values: Object, path: str, fields: Iterable[str]) -> None:
    for field in fields:
        value = values.get(field)
        if value is not None and not isinstance(value, str):
            raise InputError(
                f"{place}: {path}.{field}: expected {STRING}, found {type_name(value)}; put it in quotes"
            )
