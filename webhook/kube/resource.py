"""Describe one resource of the API: where it is, and what names one of its objects."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Required, TypeAlias, TypedDict
from urllib.parse import quote

import msgspec

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.value_types import learn
from webhook.kube.decoding import in_words

Key: TypeAlias = tuple[str, str]
"""Namespace (empty where there is none) and name of an object."""


class _Metadata(TypedDict, total=False):
    name: Required[Annotated[str, msgspec.Meta(min_length=1)]]
    namespace: str | None
    labels: dict[str, str] | None
    annotations: dict[str, str] | None


class _Object(TypedDict):
    metadata: _Metadata


learn(_Object)


class Misfit(ValueError):
    """Say what keeps an object from being one of its resource."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Choose what to ask for: *name* for messages and metrics, *group* as ``/api/v1``.

    *metadata_only* asks for metadata only. *optional*: it may not be installed, and is watched for
    until it is.
    """

    name: str
    group: str
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
        """Raise Misfit with what keeps *obj* from being one: ``metadata.name is not a string``.

        The API server has checked the rest, except what core looks for in pods.
        """
        try:
            msgspec.convert(obj, _Object)
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
