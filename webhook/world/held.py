"""Keep only the parts of a cluster's objects that admission needs."""

from __future__ import annotations

from collections.abc import Mapping
from sys import intern

from webhook.core import names
from webhook.core.model import Namespace, Object

_NO_LABELS: Mapping[str, str] = {}
_READ_LABELS = (
    names.PROFILE,
    names.MODE,
    names.POD_SECURITY_ENFORCE,
    names.ISTIO_INJECTION,
    names.ISTIO_REVISION,
)
"""Labels of a namespace that admission reads. A namespace may have 150,000 others, and all namespaces are held."""


def read_namespace(obj: Object) -> Namespace:
    """Keep name, the labels that are read, and whether it is being deleted; equal texts are kept once, for many are alike."""
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    kept = {key: intern(labels[key]) for key in _READ_LABELS if key in labels}
    return Namespace(
        intern(metadata["name"]),
        kept or _NO_LABELS,
        _NO_LABELS,
        bool(metadata.get("deletionTimestamp")),
    )


def names_profile(namespace: Namespace, profile: str) -> bool:
    """Tell whether the label of a namespace that is not being deleted names *profile*."""
    return namespace.labels.get(names.PROFILE) == profile and not namespace.is_ending
