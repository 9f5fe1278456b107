"""Answer admission's questions from objects in files in place of a cluster."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from webhook.core.errors import InputError
from webhook.core.model import Namespace, NetworkDefinition, Object
from webhook.core.networks import define_network
from webhook.core.value_types import OBJECT, STRING, type_name
from webhook.core.yaml_reader import YamlFault, decode, read_documents
from webhook.kube.catalogue import NAMESPACES, NETWORKS
from webhook.kube.resource import Key, Misfit, Resource
from webhook.world.view import View, read_namespace

_READ = {"Namespace": NAMESPACES, "NetworkAttachmentDefinition": NETWORKS}


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
                place = namespace_of(obj)
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

    Raises InputError naming file, line and column of text that does not parse, or the object and
    the field that is of the wrong type.
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
    """Yield the object, or each object of a List.

    Raises InputError, which names *place*, where a field is of the wrong type.
    """
    if value is None:
        return
    if not isinstance(value, dict) or not isinstance(value.get("kind"), str):
        found = f"{OBJECT} without one" if isinstance(value, dict) else type_name(value)
        problem = f"expected {OBJECT} with a kind, found {found}"
        raise InputError(f"{place}: {problem}; correct or remove it")
    kind, items = value["kind"], value.get("items")
    if kind.endswith("List") and isinstance(items, list):
        of_list = {"kind": kind.removesuffix("List")} if kind != "List" else {}
        for number, item in enumerate(items):
            named = {**of_list, **item} if isinstance(item, dict) else item
            yield from objects_in(f"{place}, items[{number}]", named)
        return
    if kind in _READ:
        _check(f"{place}: {kind}", _READ[kind], value)
    yield value


def _check(place: str, resource: Resource, value: Object) -> None:
    metadata = value.get("metadata")
    if isinstance(metadata, dict):
        place += f" {metadata['name']}" if isinstance(metadata.get("name"), str) else ""
        value = {**value, "metadata": {**metadata, "namespace": namespace_of(value)}}
    try:
        resource.check(value)
        spec = value.get("spec") or {}
        if not isinstance(spec, dict) or not isinstance(spec.get("config"), str | None):
            raise Misfit(f"spec.config is not {STRING}")
    except Misfit as problem:
        advice = "put it in quotes" if str(problem).endswith(STRING) else "correct it"
        raise InputError(f"{place}: {problem}; {advice}") from None


def namespace_of(obj: Object) -> Any:
    """Return the namespace of an object, ``default`` where it names none."""
    return obj["metadata"].get("namespace") or "default"
