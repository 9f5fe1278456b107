"""Say which fields of a pod a profile may write, check them, and make them ready to be merged.

What stands below these fields is Kubernetes' own: the API server judges it in the pods. Checked is
what the program reads of it, and what is reserved for itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, convert

from webhook.core import names, pod_types
from webhook.core.model import Object
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.grammar import check_amount, check_resource
from webhook.core.profiles.slips import unknown_field
from webhook.core.yaml_reader import Location

CLOSED_LIST: Final[Mapping[str, Any]] = {
    "container": {
        "env": None,
        "envFrom": None,
        "resources": {"limits": None},
        "securityContext": None,
        "volumeMounts": None,
    },
    "pod": {
        "metadata": {"annotations": None, "labels": None},
        "spec": {
            "affinity": None,
            "dnsConfig": None,
            "imagePullSecrets": None,
            "initContainers": None,
            "nodeSelector": None,
            "runtimeClassName": None,
            "securityContext": None,
            "tolerations": None,
            "topologySpreadConstraints": None,
            "volumes": None,
        },
    },
}
"""The fields that a profile may write; None: whatever Kubernetes has below it."""
_TOLERATION: Final = {"key": "", "operator": "Equal", "value": "", "effect": ""}
"""What distinguishes tolerations, with what stands for an absent field."""
_KEYS: Final[Mapping[str, tuple[str, ...]]] = {
    "env": ("name",),
    "imagePullSecrets": ("name",),
    "initContainers": ("name",),
    "tolerations": tuple(_TOLERATION),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "volumeMounts": ("mountPath",),
    "volumes": ("name",),
}
"""What distinguishes the items of a list. Source: patchMergeKey of k8s.io/api core/v1, and
MatchToleration; a list without such a key is one value."""
_ONE_OF_SEVERAL: Final = ("seccompProfile", "appArmorProfile")
"""Objects of which one field decides which others may be there: no half of one is merged."""
_OWN: Final = "fabric-injector"
_WRITTEN_ELSEWHERE: Final = {
    names.NETWORKS: "the profile's networks are merged into it; write them under networks",
    names.NETWORK_STATUS: "only Multus writes it; leave it out",
    names.NETWORKS_STATUS: "only Multus writes it; leave it out",
    names.GKE_POD_IPS: "only GKE writes it; leave it out",
}


class Fault(ValueError):
    """Refuse what stands at *location*."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(message)
        self.location = location


class Keyed(dict[Any, Object]):
    """Hold a list by what distinguishes its items, in the list's order."""


class _Container(pod_types.Container):
    env_from: list[dict[str, Any]] | None = None


class _Spec(pod_types.Spec):
    image_pull_secrets: list[dict[str, Any]] | None = None
    runtime_class_name: str | None = None
    topology_spread_constraints: list[dict[str, Any]] | None = None


class _Pod(Struct):
    metadata: pod_types.Metadata | None = None
    spec: _Spec | None = None


class Templates(Struct):
    """Name the types of what the program reads of a profile's ``container`` and ``pod``."""

    container: _Container | None = None
    pod: _Pod | None = None


def identity(field: str, item: Object) -> Any:
    """Return what distinguishes an item of list *field* from the others there."""
    if field == "volumeMounts":
        return normalized_mount_path(item["mountPath"])
    keys = _KEYS[field]
    if field == "tolerations":
        return tuple([item.get(key) or _TOLERATION[key] for key in keys])
    return item.get(keys[0]) if len(keys) == 1 else tuple([item.get(key) for key in keys])


def compiled(value: Object) -> Object:
    """Return ``container`` or ``pod`` in which each list with a key, as checked, is `Keyed`."""
    return {key: _compiled(key, inner) for key, inner in value.items()}


def _compiled(field: str, value: Any) -> Any:
    if isinstance(value, dict) and field == "spec":
        return compiled(value)
    if isinstance(value, list) and field in _KEYS:
        return Keyed({identity(field, item): item for item in value})
    return value


def is_whole(field: str) -> bool:
    """Tell whether an object is merged as one value."""
    return field in _ONE_OF_SEVERAL


def check_templates(spec: Object) -> None:
    """Check ``container`` and ``pod`` of a profile.

    Raises Fault, and ValidationError of msgspec with the path, for the first thing that is wrong.
    """
    _check_fields(spec, CLOSED_LIST, ())
    convert(spec, Templates)
    container, pod = spec.get("container") or {}, spec.get("pod") or {}
    _check_container(container, ("container",))
    for resource, amount in ((container.get("resources") or {}).get("limits") or {}).items():
        at = ("container", "resources", "limits", resource)
        try:
            check_resource(resource)
            check_amount(resource, amount)
        except ValueError as error:
            raise Fault(at, str(error)) from None
    metadata, inner = pod.get("metadata") or {}, pod.get("spec") or {}
    for field in ("annotations", "labels"):
        for key in metadata.get(field) or ():
            _check_metadata(("pod", "metadata", field, key), key)
    for field in _KEYS:
        _check_list(inner, field, ("pod", "spec"))
    for index, each in enumerate(inner.get("initContainers") or ()):
        _check_container(each, ("pod", "spec", "initContainers", index))
        if not each.get("image"):
            raise Fault(("pod", "spec", "initContainers", index, "image"), "is missing; write it")
    for field in ("volumes", "initContainers"):
        for index, each in enumerate(inner.get(field) or ()):
            if each["name"].startswith(_OWN):
                found = f"found {each['name']}; names that start with {_OWN} are reserved"
                raise Fault(("pod", "spec", field, index, "name"), found)


def _check_fields(value: Object, known: Mapping[str, Any], at: Location) -> None:
    for field, below in known.items():
        inner = value.get(field)
        if below is None or not isinstance(inner, dict):
            continue
        for key in inner:
            if key not in below:
                raise Fault((*at, field, key), unknown_field(str(key), tuple(below)))
        _check_fields(inner, below, (*at, field))


def _check_container(container: Object, at: Location) -> None:
    for field in ("env", "volumeMounts"):
        _check_list(container, field, at)
    for index, each in enumerate(container.get("env") or ()):
        if each["name"].startswith(names.OWN_VARIABLES):
            message = f"names that start with {names.OWN_VARIABLES} are reserved; write another"
            raise Fault((*at, "env", index, "name"), f"found {each['name']}; {message}")


def _check_list(holder: Object, field: str, at: Location) -> None:
    """Ask for the keys of the items, and for each once."""
    seen: dict[Any, int] = {}
    for index, item in enumerate(holder.get(field) or ()):
        here = (*at, field, index)
        if field != "tolerations":
            for key in _KEYS[field]:
                if not isinstance(item.get(key), str) or not item[key]:
                    raise Fault((*here, key), f"is missing; write {key}: and its value")
        first = seen.setdefault(identity(field, item), index)
        if first != index:
            raise Fault(here, f"is the same as {field}[{first}]; keep one of the two")


def _check_metadata(at: Location, key: str) -> None:
    if key.startswith(names.PREFIX):
        raise Fault(at, f"{names.PREFIX} is reserved; write another key")
    if at[-2] == "annotations" and key in _WRITTEN_ELSEWHERE:
        raise Fault(at, _WRITTEN_ELSEWHERE[key])
