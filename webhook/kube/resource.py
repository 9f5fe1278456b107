"""Describe one resource of the API: where it is, which of its objects matter, how much of each, and what each must look like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias
from urllib.parse import quote

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING

Key: TypeAlias = tuple[str, str]
"""Namespace (empty where there is none) and name of an object."""

Shape: TypeAlias = "type | tuple[type, ...] | list[Shape] | Mapping[str, Shape]"
"""A type; types of which one; a list of a shape; the fields that matter, ``*`` for all: others, missing and null ones are fine."""

TEXT_MAP: Shape = {"*": str}
METADATA: Mapping[str, Shape] = {
    **dict.fromkeys(
        ("name", "generateName", "namespace", "uid", "creationTimestamp", "deletionTimestamp"), str
    ),
    "labels": TEXT_MAP,
    "annotations": TEXT_MAP,
    "ownerReferences": [
        {**dict.fromkeys(("apiVersion", "kind", "name", "uid"), str), "controller": bool}
    ],
    "managedFields": [{"time": str, "fieldsV1": {"f:metadata": {"f:labels": {}}}}],
}


class Misfit(ValueError):
    """Say what keeps an object from being one of its resource."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Choose what to ask for: *name* for messages and metrics, *group* as ``/api/v1`` or ``/apis/k8s.cni.cncf.io/v1``.

    *namespaced*: each object names its namespace. *shape*: the types that its objects' fields have beside metadata.
    *metadata_only* asks for names, labels and annotations alone. *optional*: it may not be installed, and is watched for until it is.
    """

    name: str
    group: str
    namespaced: bool = False
    shape: Mapping[str, Shape] = field(default_factory=dict, compare=False, repr=False)
    metadata_only: bool = False
    label_selector: str = ""
    field_selector: str = ""
    optional: bool = False

    @property
    def path(self) -> str:
        """Give the path of all its objects, ``/api/v1/namespaces``."""
        return f"{self.group}/{self.name}"

    def at(self, group: str) -> Resource:
        """Ask for it in this version of its group, ``/apis/kueue.x-k8s.io/v1beta2``."""
        return replace(self, group=group)

    @property
    def metadata(self) -> Resource:
        """Ask for the metadata of the objects alone."""
        return replace(self, metadata_only=True)

    def select(self, *, labels: str = "", fields: str = "") -> Resource:
        """Ask for the objects that these selectors choose."""
        return replace(self, label_selector=labels, field_selector=fields)

    def object_path(self, key: Key) -> str:
        """Give the path of one object, ``/api/v1/namespaces/ml``."""
        namespace, name = key
        return f"{self.path_in(namespace)}/{quote(name, safe='')}"

    def path_in(self, namespace: str) -> str:
        """Give the path of a namespace's objects; of all where *namespace* is empty."""
        return (
            f"{self.group}/namespaces/{quote(namespace, safe='')}/{self.name}"
            if namespace
            else self.path
        )

    def headers(self, kind: str) -> Mapping[str, str]:
        """Give the Accept header; *kind* is ``PartialObjectMetadataList`` for a list, else ``PartialObjectMetadata``."""
        partial = f"application/json;as={kind};g=meta.k8s.io;v=v1," if self.metadata_only else ""
        return {"Accept": f"{partial}application/json"}

    def query(self, **more: str) -> dict[str, str]:
        """Give the query parameters: the selectors and *more*, without the empty ones."""
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {key: value for key, value in {**selectors, **more}.items() if value}

    def misfit(self, obj: object) -> str:
        """Return what keeps *obj* from being one of these objects, ``status.conditions is not a list``; empty where nothing does."""
        if not isinstance(obj, dict):
            return f"it is not {OBJECT}"
        metadata = obj.get("metadata")
        if (
            not isinstance(metadata, dict)
            or not isinstance(metadata.get("name"), str)
            or not metadata["name"]
        ):
            return "metadata.name is missing"
        if self.namespaced and not metadata.get("namespace"):
            return "metadata.namespace is missing"
        if problem := _misfit(metadata, METADATA):
            return f"metadata{problem[0]} is not {problem[1]}"
        if problem := _misfit(obj, self.shape):
            return f"{problem[0].lstrip('.')} is not {problem[1]}"
        if self.name != "pods":
            return ""
        try:
            check_pod(obj)
        except MalformedReview as error:
            return str(error)
        return ""

    def check(self, obj: object) -> None:
        """Raise Misfit with what keeps *obj* from being one of these objects."""
        if problem := self.misfit(obj):
            raise Misfit(problem)


def object_key(obj: Object) -> Key:
    """Read an object's key; raise KeyError or TypeError where it has none."""
    metadata = obj["metadata"]
    name, namespace = metadata["name"], metadata.get("namespace") or ""
    if not isinstance(name, str) or not isinstance(namespace, str):
        raise TypeError("metadata.name or metadata.namespace is not a string")
    return namespace, name


def key_text(key: Key) -> str:
    """Write a key for a message: ``ml/rail-0``, or ``ml``."""
    return "/".join(filter(None, key))


def _misfit(value: Any, shape: Shape) -> tuple[str, str] | None:
    """Return where a value is not of the shape, ``.conditions[0]``, and what it should be; None where it is.

    Every field of every listed object comes by here, so a path is written only where something is wrong.
    """
    if isinstance(shape, type):
        return None if type(value) is shape else ("", _TYPES[shape])
    if isinstance(shape, tuple):
        return None if type(value) in shape else ("", _TYPES[shape[0]])
    if isinstance(shape, list):
        if not isinstance(value, list):
            return "", LIST
        for index, each in enumerate(value):
            if problem := _misfit(each, shape[0]):
                return f"[{index}]{problem[0]}", problem[1]
        return None
    if not isinstance(value, dict):
        return "", OBJECT
    if "*" in shape:
        inner = shape["*"]
        for key, found in value.items():
            if type(found) is not inner and (problem := _misfit(found, inner)):
                return f".{key}{problem[0]}", problem[1]
        return None
    for key, inner in shape.items():
        found = value.get(key)
        if found is None or type(found) is inner:
            continue
        if problem := _misfit(found, inner):
            return f".{key}{problem[0]}", problem[1]
    return None


_TYPES: Mapping[type, str] = {str: STRING, int: INTEGER, bool: BOOLEAN}
