"""Describe one resource of the API: where it is, which of its objects matter, and how much of each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from webhook.core.model import Object

Key: TypeAlias = tuple[str, str]
"""Namespace (empty where there is none) and name of an object."""


@dataclass(frozen=True, slots=True)
class Resource:
    """Choose what to ask for: *name* for messages and metrics, *group* as ``/api/v1`` or ``/apis/k8s.cni.cncf.io/v1``.

    *metadata_only* asks for names, labels and annotations alone. *optional*: it may not be installed, and then counts as
    having no objects.
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

    def object_path(self, key: Key) -> str:
        """Give the path of one object, ``/api/v1/namespaces/ml``; the names must be DNS names."""
        namespace, name = key
        return f"{self.path_in(namespace)}/{name}"

    def path_in(self, namespace: str) -> str:
        """Give the path of a namespace's objects; of all where *namespace* is empty."""
        return f"{self.group}/namespaces/{namespace}/{self.name}" if namespace else self.path

    def headers(self, kind: str) -> Mapping[str, str]:
        """Give the Accept header; *kind* is ``PartialObjectMetadataList`` for a list, else ``PartialObjectMetadata``."""
        partial = f"application/json;as={kind};g=meta.k8s.io;v=v1," if self.metadata_only else ""
        return {"Accept": f"{partial}application/json"}

    def query(self, **more: str) -> dict[str, str]:
        """Give the query parameters: the selectors and *more*, without the empty ones."""
        selectors = {"labelSelector": self.label_selector, "fieldSelector": self.field_selector}
        return {key: value for key, value in {**selectors, **more}.items() if value}


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
