"""Write and recognise the variables whose values the controller publishes as annotations."""

from __future__ import annotations

from webhook.core import names
from webhook.core.model import Object

_PUBLISHED = f"metadata.annotations['{names.PREFIX}"


def field_entry(variable: str, annotation: str) -> Object:
    """Write an environment entry that takes its value from one of the pod's annotations."""
    path = f"metadata.annotations['{annotation}']"
    return {"name": variable, "valueFrom": {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}}


def is_published(entry: Object) -> bool:
    """Tell an entry whose value fabric-injector publishes."""
    source = entry.get("valueFrom")
    if not source:
        return False
    path = (source.get("fieldRef") or {}).get("fieldPath") or ""
    return path.startswith(_PUBLISHED)
