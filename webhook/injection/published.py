"""Write and recognise the variables whose values the controller publishes as annotations."""

from __future__ import annotations

from webhook import names
from webhook.model import Object


def field_entry(variable: str, annotation: str) -> Object:
    """Write an environment entry that takes its value from one of the pod's annotations."""
    path = f"metadata.annotations['{annotation}']"
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def is_published(entry: Object) -> bool:
    """Tell an entry whose value fabric-injector publishes."""
    path = ((entry.get("valueFrom") or {}).get("fieldRef") or {}).get("fieldPath") or ""
    return path.startswith(f"metadata.annotations['{names.PREFIX}")
