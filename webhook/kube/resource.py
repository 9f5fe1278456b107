"""Describe one resource of the API: where it is, and what each of its objects must look like."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Any, Required, TypeAlias, TypedDict, Union
from urllib.parse import quote

import msgspec

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.value_types import learn
from webhook.kube.decoding import in_words

Key: TypeAlias = tuple[str, str]
"""Namespace (empty where there is none) and name of an object."""

Shape: TypeAlias = "type | tuple[type, ...] | list[Shape] | Mapping[str, Shape]"
"""A type; one of several types; a list of a shape; the fields that matter, ``*`` for all.

Other fields, missing and null ones are fine.
"""

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
    """Choose what to ask for: *name* for messages and metrics, *group* as ``/api/v1``.

    *namespaced*: each object names its namespace. *shape*: the types that its objects' fields have
    beside metadata. *metadata_only* asks for metadata only. *optional*: it may not be installed,
    and is watched for until it is.
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

    def at(self, group: str) -> "Resource":
        """Ask for it in this version of its group, ``/apis/kueue.x-k8s.io/v1beta2``."""
        return replace(self, group=group)

    @property
    def metadata(self) -> "Resource":
        """Ask for the metadata of the objects only."""
        return replace(self, metadata_only=True)

    def select(self, *, labels: str = "", fields: str = "") -> "Resource":
        """Ask for the objects that these selectors choose."""
        return replace(self, label_selector=labels, field_selector=fields)

    def object_path(self, key: Key) -> str:
        """Give the path of one object, ``/api/v1/namespaces/ml``."""
        namespace, name = key
        return f"{self.path_in(namespace)}/{quote(name, safe='')}"

    def path_in(self, namespace: str) -> str:
        """Give the path of a namespace's objects; of all where *namespace* is empty."""
        inside = f"namespaces/{quote(namespace, safe='')}/" if namespace else ""
        return f"{self.group}/{inside}{self.name}"

    def headers(self, kind: str) -> Mapping[str, str]:
        """Give the Accept header; *kind* is ``PartialObjectMetadata``, with ``List`` for a list."""
        partial = f"application/json;as={kind};g=meta.k8s.io;v=v1," if self.metadata_only else ""
        return {"Accept": f"{partial}application/json"}

    def query(self, **more: str) -> dict[str, str]:
        """Give the query parameters: the selectors and *more*, without the empty ones."""
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {key: value for key, value in {**selectors, **more}.items() if value}

    def check(self, obj: object) -> None:
        """Raise Misfit with what keeps *obj* from being one: ``spec.nodeName is not a string``."""
        try:
            msgspec.convert(obj, _type_of(self))
            if self.name == "pods":
                check_pod(obj)
        except msgspec.ValidationError as error:
            raise Misfit(in_words(str(error))) from None
        except MalformedReview as error:
            raise Misfit(str(error)) from None


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


_NAME = Annotated[str, msgspec.Meta(min_length=1)]
_TYPES: dict[int, tuple[Mapping[str, Shape], Any]] = {}


def _type_of(resource: Resource) -> Any:
    """Return the type by which msgspec checks a resource's objects; made once for each shape."""
    key = id(resource.shape) ^ resource.namespaced
    if key not in _TYPES:
        names = ("name", "namespace") if resource.namespaced else ("name",)
        metadata = {each: _type(shape) | None for each, shape in METADATA.items()}
        metadata |= dict.fromkeys(names, Required[_NAME])
        others = {each: _type(shape) | None for each, shape in resource.shape.items()}
        made = _fields({**others, "metadata": Required[_fields(metadata)]})
        learn(made)  # before another thread can see it
        _TYPES[key] = resource.shape, made
    return _TYPES[key][1]


def _type(shape: Shape) -> Any:
    if isinstance(shape, tuple):
        return Union[shape]  # noqa: UP007  # a type that is made here
    if isinstance(shape, list):
        return list[_type(shape[0])]  # type: ignore[misc]  # a type that is made here
    if not isinstance(shape, Mapping):
        return shape
    if not shape:
        return dict[str, Any]
    if "*" in shape:
        return dict[str, _type(shape["*"])]  # type: ignore[misc]  # as above
    return _fields({key: _type(inner) | None for key, inner in shape.items()})


def _fields(types: Mapping[str, Any]) -> Any:
    return TypedDict("Fields", types, total=False)  # type: ignore[operator]  # as above
