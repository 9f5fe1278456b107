"""Define a FabricProfile once: each own field with its type and its default.

What Kubernetes has words for stands under ``container`` and ``pod``, as plain values: `template`
says which of its fields a profile may write. The rules that `kubectl apply` tells stand in the
CustomResourceDefinition, and so does what each field means; these types hold what the program
relies on.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Annotated, Any, Final, Literal, TypeAlias

from msgspec import Meta, Struct
from msgspec import field as written_as

from webhook.core import names
from webhook.core.model import Object
from webhook.core.profiles.grammar import (
    MAX_AMOUNT,
    NetworkName,
    NodeDevices,
    Parameters,
    ResourceNames,
    Seconds,
    Size,
    WaitImage,
    quantity_text,
)
from webhook.core.profiles.template import Keyed, compiled, keyed

Count: TypeAlias = Annotated[int, Meta(ge=0, le=MAX_AMOUNT)]


class Section(
    Struct, frozen=True, dict=True, rename="camel", forbid_unknown_fields=True, omit_defaults=True
):
    """Hold an object of a profile, whose fields have names in camel case there."""


class ProfileNetwork(Section, frozen=True):
    """A network that each pod gets."""

    network: NetworkName
    resources: ResourceNames = written_as(name="resource", default=ResourceNames())
    count: Count = 1

    def __str__(self) -> str:
        return str(self.network)


class SharedMemory(Section, frozen=True):
    """The tmpfs at /dev/shm."""

    enabled: bool = True
    size_limit: Size = Size()


class RendezvousSettings(Section, frozen=True):
    """How the ranks meet on the secondary network."""

    enabled: bool = True
    network: NetworkName | None = None
    ip_family: Literal["any", "IPv4", "IPv6"] = "any"
    timeout_seconds: Seconds = written_as(name="timeout", default=Seconds(1800))
    wait_image: WaitImage = WaitImage()
    rank_zero: Literal["address", "name"] = "address"
    unreachable: Literal["podNetwork", "fail"] = "podNetwork"
    address_source: Literal["multus", "gke", "claim", "none"] = "multus"


class ProfileQuantity(Section, frozen=True):
    """How many of a device the training container gets."""

    resource: str
    per_accelerator: Count | None = None
    by_node_type: dict[str, NodeDevices] = {}
    otherwise: NodeDevices | None = None
    accelerator: str | None = None
    node_label: str = names.INSTANCE_TYPE

    def share(self, node: NodeDevices, accelerators: int | None) -> int | None:
        """Return how many devices of such a node a pod gets that asks for so many *accelerators*.

        At least 1 of a node that has any; None where that depends on accelerators, and these cannot
        be counted.
        """
        devices, shared_by = node
        if shared_by:
            if not accelerators:
                return None
            return min(devices, max(1, devices * accelerators // shared_by))
        if self.per_accelerator is None or accelerators is None:
            return devices
        return min(devices, self.per_accelerator * accelerators)


class ClaimRequest(Section, frozen=True):
    """What a claim asks for: so many devices of one DeviceClass, as in a ResourceClaim."""

    name: str
    device_class_name: str
    # at most 32: k8s.io/api resource/v1 AllocationResultsMaxSize
    count: Annotated[int, Meta(ge=1, le=32)] | None = None
    allocation_mode: Literal["ExactCount", "All"] = "ExactCount"
    selectors: tuple[str, ...] = ()


class ClaimConstraint(Section, frozen=True):
    """What devices of a claim must have in common."""

    match_attribute: str
    requests: tuple[str, ...] = ()


class ClaimConfig(Section, frozen=True):
    """What a driver gets to know about devices of a claim."""

    driver: str
    parameters: Parameters
    requests: tuple[str, ...] = ()


class ProfileClaim(Section, frozen=True):
    """A claim of each pod of a job of several pods; in the pod it is ``fabric-`` and its name.

    Its template is what the fields say, or one that somebody keeps in each namespace.
    """

    name: str
    requests: Annotated[tuple[ClaimRequest, ...], Meta(min_length=1)] = ()
    constraints: tuple[ClaimConstraint, ...] = ()
    config: tuple[ClaimConfig, ...] = ()
    resource_claim_template_name: str | None = None

    def __post_init__(self) -> None:
        if bool(self.requests) == bool(self.resource_claim_template_name):
            raise ValueError("write requests, or resourceClaimTemplateName in place of them")


class ProfileSpec(Section, frozen=True):
    """What a fabric needs of a pod, as the ``spec`` of a FabricProfile holds it."""

    pods: Literal["training", "accelerators", "all"] = "training"
    pod_labels: dict[str, str] = {}
    accelerators: Annotated[int, Meta(ge=1, le=64)] | None = None
    networks: tuple[ProfileNetwork, ...] = ()
    quantities: tuple[ProfileQuantity, ...] = ()
    claims: tuple[ProfileClaim, ...] = ()
    existing_devices: Literal["complete", "keep", "add"] = "complete"
    ipc_lock: bool = True
    pod_security: Literal["deny", "skip", "ignore"] = "deny"
    shared_memory: SharedMemory = SharedMemory()
    device_variables: tuple[Literal["NCCL_IB_HCA", "UCX_NET_DEVICES"], ...] = ()
    address_variables: tuple[str, ...] = ()
    nccl_conf: bool = False
    training_container: str | None = None
    container: dict[str, Any] = {}
    pod: dict[str, Any] = {}
    rendezvous: RendezvousSettings = RendezvousSettings()
    allowed_namespaces: frozenset[str] | Literal["all"] = "all"


_MERGED_ELSEWHERE: Final = (
    *("resources", "volumeMounts"),
    *("nodeSelector", "volumes", "initContainers"),
)
"""Fields that are not merged by their keys only."""


class Profile(ProfileSpec, frozen=True, kw_only=True):
    """Hold a FabricProfile. What its properties return is computed once, and not to be changed."""

    name: str
    revision: str = ""
    """Digest of the content; empty where unknown."""
    generation: int = 0
    """That of the object; 0 for a file's."""

    def is_for(self, namespace: str) -> bool:
        """Tell whether the pods of *namespace* may use this profile."""
        return self.allowed_namespaces == "all" or namespace in self.allowed_namespaces

    def is_chosen_by(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod with *labels* takes this profile by ``podLabels``."""
        return bool(self.pod_labels) and self.pod_labels.items() <= labels.items()

    @cached_property
    def merged(self) -> tuple[Object, Object]:
        """Return what of ``container`` and of the pod's ``spec`` is merged by its keys only."""
        container = {k: v for k, v in self.container.items() if k not in _MERGED_ELSEWHERE}
        spec = {k: v for k, v in self._spec.items() if k not in _MERGED_ELSEWHERE}
        return compiled(container), compiled(spec)

    @cached_property
    def env(self) -> dict[str, str]:
        """Return the training container's variables that have a plain value."""
        entries = self.container.get("env") or ()
        return {
            each["name"]: each.get("value") or "" for each in entries if not each.get("valueFrom")
        }

    @cached_property
    def resources(self) -> dict[str, str]:
        """Return what the training container asks for: ``{"hugepages-2Mi": "5Gi"}``."""
        limits = (self.container.get("resources") or {}).get("limits") or {}
        return {name: quantity_text(amount) for name, amount in limits.items()}

    @cached_property
    def mounts(self) -> Keyed:
        """Return the training container's mounts, by path."""
        return keyed("volumeMounts", self.container.get("volumeMounts"))

    @cached_property
    def annotations(self) -> dict[str, str]:
        """Return the pod's annotations."""
        return (self.pod.get("metadata") or {}).get("annotations") or {}

    @property
    def kept_claims(self) -> list[ProfileClaim]:
        """Return the claims whose templates the controller keeps."""
        return [claim for claim in self.claims if claim.requests]

    @cached_property
    def node_selector(self) -> dict[str, str]:
        """Return the pod's node selector."""
        return self._spec.get("nodeSelector") or {}

    @cached_property
    def volumes(self) -> Keyed:
        """Return the pod's volumes, by name."""
        return keyed("volumes", self._spec.get("volumes"))

    @cached_property
    def sidecars(self) -> Keyed:
        """Return the pod's init containers by name; most are sidecars, which stay."""
        return keyed("initContainers", self._spec.get("initContainers"))

    @property
    def _spec(self) -> Object:
        return self.pod.get("spec") or {}


class Multus(Section, frozen=True):
    """How this cluster's Multus is configured.

    *namespace_isolation*, *global_namespaces*: its options of these names. *default_networks*: how
    many of its defaultNetworks it attaches before the pod's own. *resource_name_keys*: annotations
    of a NetworkAttachmentDefinition that name its device resources.
    """

    namespace_isolation: bool = False
    global_namespaces: tuple[str, ...] = ("default",)
    default_networks: Annotated[int, Meta(ge=0, le=100)] = 0
    resource_name_keys: Annotated[tuple[str, ...], Meta(min_length=1)] = (names.RESOURCE_NAME,)


class ClusterSettings(Section, frozen=True):
    """Hold what a Configuration says: what holds for all profiles of a cluster."""

    multus: Multus = Multus()


_MULTUS = Multus()


@dataclass(frozen=True, slots=True)
class Profiles:
    """Hold the profiles by name: what each fabric of this cluster needs of a pod."""

    multus: Multus = _MULTUS
    profiles: Mapping[str, Profile] = field(default_factory=lambda: MappingProxyType({}))
    own_image: str = ""
    """Image of fabric-injector itself, for ``waitImage: installed``; only the webhook knows it."""
    claims_problem: str = ""
    """Why no pod gets the claims of its profile; empty where nothing keeps them from it."""
    has_settings: bool = field(default=False, compare=False)
    """Whether a Configuration stands beside the profiles in their file."""

    @property
    def settings(self) -> ClusterSettings:
        """Return what holds for all profiles."""
        return ClusterSettings(self.multus)

    def usable_in(self, namespace: str) -> list[str]:
        """Return the names of the profiles that the namespace may use, sorted."""
        return sorted(name for name, profile in self.profiles.items() if profile.is_for(namespace))

    def chosen_by(self, labels: Mapping[str, str]) -> list[Profile]:
        """Return the profiles whose podLabels a pod with *labels* carries."""
        return [each for each in self.profiles.values() if each.is_chosen_by(labels)]


def same_pod_labels(profiles: Iterable[Profile]) -> dict[str, str]:
    """Return the profiles whose podLabels an earlier one of the list has too, with that one."""
    owners: dict[frozenset[tuple[str, str]], str] = {}
    found = {}
    for profile in profiles:
        if profile.pod_labels:
            owner = owners.setdefault(frozenset(profile.pod_labels.items()), profile.name)
            if owner != profile.name:
                found[profile.name] = owner
    return found
