"""Say which fields of a pod a profile may write, check them, and make them ready to be merged.

What stands below these fields is Kubernetes' own: the API server judges it in the pods. Checked is
what the program reads of it, and what is reserved for itself.
"""

from collections.abc import Mapping
from typing import Any, Final

from msgspec import Struct, convert

from webhook.core import names, pod_types
from webhook.core.model import Object
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.grammar import check_resource
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
ONE_OF_SEVERAL: Final = ("seccompProfile", "appArmorProfile")
"""Objects in which one field decides about the others: no half of one is merged."""
_RESERVED: Final = {
    "env": names.OWN_VARIABLES,
    "initContainers": "fabric-injector",
    "volumes": "fabric-injector",
}
"""Beginnings of names that the injection gives itself."""
_WRITTEN_ELSEWHERE: Final = {
    names.NETWORKS: "the profile's networks are merged into it; write them under networks",
    names.NETWORK_STATUS: "only Multus writes it; leave it out",
    names.NETWORKS_STATUS: "only Multus writes it; leave it out",
    names.GKE_POD_IPS: "only GKE writes it; leave it out",
}


class Fault(ValueError):
    """Refuse what stands at *location*.

    *path*: the API server's, ``spec.podLabels[a.b/c]``, where it is not as *location* says.
    *is_blocking*: it keeps the rules around it from evaluation.
    """

    def __init__(
        self, location: Location, message: str, path: str = "", *, is_blocking: bool = False
    ) -> None:
        super().__init__(message)
        self.location = location
        self.path = path
        self.is_blocking = is_blocking


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


def keyed(field: str, items: list[Object] | None) -> Keyed:
    """Return the items of list *field* by what distinguishes them."""
    return Keyed({identity(field, item): item for item in items or ()})


def compiled(value: Object) -> Object:
    """Return ``container``, or ``spec`` of ``pod``, in which lists with a key are `Keyed`."""
    return {field: keyed(field, each) if field in _KEYS else each for field, each in value.items()}


def check_templates(spec: Object) -> None:
    """Check ``container`` and ``pod`` of a profile.

    Raises Fault, and ValidationError of msgspec with the path, for the first thing that is wrong.
    """
    _check_fields(spec, CLOSED_LIST, ())
    convert(spec, Templates)
    container, pod = spec.get("container") or {}, spec.get("pod") or {}
    _check_lists(container, ("container",))
    for resource, amount in ((container.get("resources") or {}).get("limits") or {}).items():
        try:
            check_resource(resource, amount)
        except ValueError as error:
            at = ("container", "resources", "limits", resource)
            raise Fault(at, str(error)) from None
    metadata, inner = pod.get("metadata") or {}, pod.get("spec") or {}
    for field in ("annotations", "labels"):
        for key in metadata.get(field) or ():
            why = _WRITTEN_ELSEWHERE.get(key) if field == "annotations" else None
            if key.startswith(names.PREFIX):
                why = f"{names.PREFIX} is reserved; write another key"
            if why:
                raise Fault(("pod", "metadata", field, key), why)
    _check_lists(inner, ("pod", "spec"))
    for index, each in enumerate(inner.get("initContainers") or ()):
        at = ("pod", "spec", "initContainers", index)
        _check_lists(each, at)
        if not each.get("image"):
            raise Fault((*at, "image"), "is missing; write image: and its value")


def _check_fields(value: Object, known: Mapping[str, Any], at: Location) -> None:
    for field, below in known.items():
        inner = value.get(field)
        if below is None or not isinstance(inner, dict):
            continue
        for key in inner:
            if key not in below:
                raise Fault((*at, field, key), unknown_field(str(key), tuple(below)))
        _check_fields(inner, below, (*at, field))


def _check_lists(holder: Object, at: Location) -> None:
    """Ask for the keys of the items of each list, for each once, and for none of ours."""
    for field, keys in _KEYS.items():
        seen: dict[Any, int] = {}
        for index, item in enumerate(holder.get(field) or ()):
            here = (*at, field, index)
            for key in keys if field != "tolerations" else ():
                if not isinstance(item.get(key), str) or not item[key]:
                    raise Fault((*here, key), f"is missing; write {key}: and its value")
            if field == "volumeMounts" and not item["mountPath"].startswith("/"):
                raise Fault((*here, "mountPath"), "write an absolute path below /")
            reserved = _RESERVED.get(field)
            if reserved and item["name"].startswith(reserved):
                found = f"found {item['name']}; names that start with {reserved} are reserved"
                raise Fault((*here, "name"), f"{found}; write another")
            first = seen.setdefault(identity(field, item), index)
            if first != index:
                raise Fault(here, f"is the same as {field}[{first}]; keep one of the two")
