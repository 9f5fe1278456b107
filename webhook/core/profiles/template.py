"""Say which fields of a pod a profile may write, and make them ready to be merged.

What stands below these fields is Kubernetes' own: the API server judges it in the pods. The types
hold what the program reads of it.
"""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from msgspec import Struct

from webhook.core import pod_types
from webhook.core.model import Object
from webhook.core.podspec import normalized_mount_path
from webhook.core.profiles.grammar import Amount

_Objects: TypeAlias = list[dict[str, Any]]
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


class Keyed(dict[Any, Object]):
    """Hold a list by what distinguishes its items, in the list's order."""


class _Closed(Struct, rename="camel", forbid_unknown_fields=True):
    """Hold fields beside which a profile may write no other."""


class _Named(pod_types.Read):
    name: pod_types.Name


class _Constraint(pod_types.Read):
    topology_key: str
    when_unsatisfiable: str


class _InitContainer(pod_types.Container, kw_only=True):
    name: pod_types.Name
    image: pod_types.Name


class _Volume(pod_types.Volume, kw_only=True):
    name: pod_types.Name


class _Devices(_Closed):
    limits: dict[str, Amount] | None = None


class ContainerTemplate(_Closed):
    """Name the fields that a profile may write into the training container."""

    env: list[pod_types.Variable] | None = None
    env_from: _Objects | None = None
    resources: _Devices | None = None
    security_context: pod_types.SecurityContext | None = None
    volume_mounts: list[pod_types.Mount] | None = None


class _Metadata(_Closed):
    annotations: dict[str, str] | None = None
    labels: dict[str, str] | None = None


class _Spec(_Closed):
    affinity: pod_types.Affinity | None = None
    dns_config: dict[str, Any] | None = None
    image_pull_secrets: list[_Named] | None = None
    init_containers: list[_InitContainer] | None = None
    node_selector: dict[str, str] | None = None
    runtime_class_name: str | None = None
    security_context: pod_types.SecurityContext | None = None
    tolerations: list[pod_types.Toleration] | None = None
    topology_spread_constraints: list[_Constraint] | None = None
    volumes: list[_Volume] | None = None


class PodTemplate(_Closed):
    """Name the fields that a profile may write into the pod."""

    metadata: _Metadata | None = None
    spec: _Spec | None = None


class Templates(Struct):
    """Name the types of a profile's ``container`` and ``pod``, which stay as they are written."""

    container: ContainerTemplate | None = None
    pod: PodTemplate | None = None


def keyed(field: str, items: list[Object] | None) -> Keyed:
    """Return the items of list *field* by what distinguishes them."""
    given, keys = items or (), _KEYS[field]
    if field == "volumeMounts":
        return Keyed({normalized_mount_path(item["mountPath"]): item for item in given})
    if len(keys) == 1:
        return Keyed({item.get(keys[0]): item for item in given})
    both = (tuple([item.get(key) or _TOLERATION.get(key) for key in keys]) for item in given)
    return Keyed(zip(both, given, strict=True))


def compiled(value: Object) -> Object:
    """Return ``container``, or ``spec`` of ``pod``, in which lists with a key are `Keyed`."""
    return {field: keyed(field, each) if field in _KEYS else each for field, each in value.items()}
