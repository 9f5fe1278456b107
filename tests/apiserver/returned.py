"""Make a pod that an API server returned comparable with the pod that was sent.

What the API server does to every pod (defaults, its own order of fields and form of quantities)
would hide what webhooks did. Source: kubernetes pkg/apis/core/v1/defaults.go; admission plugins
ServiceAccount, Priority, DefaultTolerationSeconds.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from webhook.core.model import Object
from webhook.core.quantity import parse_quantity

_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_TOKEN = "kube-api-access"  # how dry-run --server names the volume
_SPEC: Mapping[str, Any] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "enableServiceLinks": True,
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "priority": 0,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER: Mapping[str, Any] = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "imagePullPolicy": None,
    "resources": {},
}
_QUANTITIES = ("limits", "requests", "sizeLimit")
_ANYWHERE: Mapping[str, Any] = {"apiVersion": "v1", "protocol": "TCP", "defaultMode": 420}


def comparable(returned: Object, sent: Object) -> Object:
    """Return *returned* in the order of *sent*, without the defaults that *sent* lacks."""
    spec, sent_spec = returned.get("spec") or {}, sent.get("spec") or {}
    account = sent_spec.get("serviceAccountName")
    kept = _drop(spec, sent_spec, {**_SPEC, "serviceAccount": account} if account else _SPEC)
    for key in ("containers", "initContainers"):
        if key in kept:
            kept[key] = [
                _container(item, _counterpart(item, 0, sent_spec.get(key)) or {})
                for item in kept[key]
            ]
    _filter(kept, sent_spec, "volumes", _is_token)
    _filter(kept, sent_spec, "tolerations", lambda item: item.get("key") in _TOLERATED)
    metadata = _without_generated_name(returned.get("metadata") or {}, sent.get("metadata") or {})
    aligned: Object = _align({**returned, "metadata": metadata, "spec": kept}, sent)
    return aligned


def _without_generated_name(metadata: Object, sent: Object) -> Object:
    if sent.get("generateName") and not sent.get("name"):
        return {key: value for key, value in metadata.items() if key != "name"}
    return metadata


def _container(container: Object, sent: Object) -> Object:
    kept = _drop(container, sent, _CONTAINER)
    _filter(kept, sent, "volumeMounts", _is_token)
    return kept


def _is_token(item: Object) -> bool:
    return str(item.get("name")).startswith(_TOKEN)


def _filter(holder: Object, sent: Object, key: str, is_default: Callable[[Object], bool]) -> None:
    """Remove the items of a list that are defaults and were not sent."""
    if key in holder:
        own = sent.get(key) or ()
        holder[key] = [item for item in holder[key] if item in own or not is_default(item)]
        if not holder[key] and key not in sent:
            del holder[key]


def _drop(holder: Object, sent: Object, defaults: Mapping[str, Any]) -> Object:
    """Return *holder* without the defaults (None: whatever the value) that were not sent."""
    return {
        key: value
        for key, value in holder.items()
        if key in sent
        or key not in defaults
        or (defaults[key] is not None and defaults[key] != value)
    }


def _align(value: Any, sent: Any, *, is_quantity: bool = False) -> Any:
    """Return *value* in the order of *sent*, with its empty values and its form of quantities."""
    if isinstance(value, dict):
        known = sent if isinstance(sent, dict) else {}
        aligned = {}
        for key, item in known.items():
            if key in value:
                aligned[key] = _align(
                    value[key], item, is_quantity=is_quantity or key in _QUANTITIES
                )
            elif not item:
                aligned[key] = item
        inner = {key: item for key, item in value.items() if key not in known}
        if "kind" not in value:
            inner = _drop(inner, known, _ANYWHERE)
        return aligned | {key: _align(item, None) for key, item in inner.items()}
    if isinstance(value, list):
        return [_align(item, _counterpart(item, index, sent)) for index, item in enumerate(value)]
    return sent if is_quantity and _same_quantity(value, sent) else value


def _counterpart(item: Any, index: int, items: Any) -> Any:
    """Return the item of the same name, or where items have none, of the same index."""
    if not isinstance(items, list):
        return None
    if isinstance(item, dict) and "name" in item:
        return next(
            (
                other
                for other in items
                if isinstance(other, dict) and other.get("name") == item["name"]
            ),
            None,
        )
    return items[index] if index < len(items) else None


def _same_quantity(value: Any, sent: Any) -> bool:
    if (
        not isinstance(value, str)
        or not isinstance(sent, str | int | float)
        or isinstance(sent, bool)
    ):
        return False
    try:
        return parse_quantity(value) == parse_quantity(sent)
    except ValueError:
        return False
