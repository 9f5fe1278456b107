"""Define a profile once: each field of profiles.yaml with its type, default and limits, and the sentence that editors show.

pydantic checks the file against these dataclasses and makes the JSON Schema of them; the rest of the program sees plain, frozen
objects, never YAML. The annotations are text until `adapter` reads them for pydantic, so that who only holds profiles loads none of it:
with its classes of these it needs 14 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from webhook.core import names

if TYPE_CHECKING:
    from pydantic import AfterValidator, BeforeValidator, Field, Strict

    from webhook.core.profiles.adapter import (
        ListedNetwork,
        NetworkName,
        NetworkText,
        check_keys,
        name_each,
        null_as_empty,
    )
    from webhook.core.profiles.field_types import (
        AnnotationKey,
        AnnotationValue,
        Count,
        EnvName,
        EnvValue,
        Flag,
        Image,
        LabelKey,
        LabelValue,
        Name,
        NamespaceList,
        NotInFile,
        ProfileName,
        Quantity,
        ResourceList,
        ResourceName,
        Seconds,
        SelectingLabelKey,
        SetAnnotationKey,
        Size,
        Table,
    )


def _nothing() -> Mapping[Any, Any]:
    return MappingProxyType({})


@dataclass(frozen=True, slots=True)
class ProfileNetwork:
    """A network that each pod gets."""

    namespace: NotInFile[str | None]
    """None: the pod's own."""
    name: Annotated[
        NetworkText,
        Field(
            alias="network",
            description="[namespace/]name[@interface] of a NetworkAttachmentDefinition; without namespace: the pod's own.",
            examples=["default/rdma-net-ipam", "rails/rail-0@rail0"],
        ),
    ]
    interface: NotInFile[str | None] = None
    """None: Multus counts, ``net1``."""
    resources: Annotated[
        ResourceList,
        Field(
            alias="resource",
            description="Device resource of one attachment, or a comma list. Absent: the network's k8s.v1.cni.cncf.io/resourceName "
            "annotation says it; macvlan and ipoib networks carry none.",
            examples=["rdma/rdma_shared_device_a"],
        ),
    ] = ()
    count: Annotated[Count, Field(description="How many of the resource one attachment takes.")] = 1

    def __str__(self) -> str:
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{named}@{self.interface}" if self.interface else named


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """The tmpfs at /dev/shm."""

    enabled: Annotated[
        Flag, Field(description="Mount a tmpfs at /dev/shm where the container mounts nothing there.")
    ] = True
    size_limit: Annotated[
        Size,
        Field(
            description="Its size; none: as large as the pod's memory limit, else the node's memory.", examples=["16Gi"]
        ),
    ] = None
    limit_existing: Annotated[
        Flag, Field(description="Give the size to a tmpfs without limit that the pod already mounts there.")
    ] = False


@dataclass(frozen=True, slots=True)
class PodInfo:
    """Facts of the pod as downward-API files, as network-resources-injector offers them."""

    hugepages: Annotated[Flag, Field(description="Requests and limits of huge pages.")] = False
    labels: Annotated[Flag, Field(description="The pod's labels.")] = False
    annotations: Annotated[Flag, Field(description="The pod's annotations.")] = False


@dataclass(frozen=True, slots=True)
class RendezvousSettings:
    """How the ranks meet on the secondary network."""

    enabled: Annotated[Flag, Field(description="Make the ranks meet on the secondary network.")] = True
    network: Annotated[
        NetworkName,
        Field(description="Network whose address counts. Absent: the first with IPAM.", examples=["rails/rail-0"]),
    ] = None
    ip_family: Annotated[
        Literal["any", "IPv4", "IPv6"], Field(description="Family of the address; any: IPv4 first.")
    ] = "any"
    timeout_seconds: Annotated[
        Seconds,
        Field(
            alias="timeout",
            description="How long a pod waits for rank 0's address.",
            examples=["10m", "1h30m"],
            json_schema_extra={"default": "30m"},
        ),
    ] = 1800
    wait_image: Annotated[
        Image,
        Field(
            description="Image of the wait container, with a POSIX sh; none: the training container's; installed: that of "
            "fabric-injector itself, for training images without a shell."
        ),
    ] = None
    rank_zero: Annotated[
        Literal["address", "name"],
        Field(
            description="What rank 0's own address variables hold: its secondary address where that is certain, or always the name."
        ),
    ] = "address"
    unreachable: Annotated[
        Literal["podNetwork", "fail"],
        Field(
            description="Where rank 0 has no pod 30 s after a member was put on its node. podNetwork: the member gets rank 0's name, "
            "and they meet on the pod network; fail: its wait ends with the cause."
        ),
    ] = "podNetwork"


@dataclass(frozen=True, slots=True)
class Profile:
    """What a fabric needs of a pod."""

    name: NotInFile[str]
    pods: Annotated[
        Literal["training", "all"],
        Field(
            description="training: pods of a known training system, and pods that carry the label; all: every pod of the namespace."
        ),
    ] = "training"
    pod_labels: Annotated[
        Table[SelectingLabelKey, LabelValue],
        Field(
            max_length=16,
            description="Pods that carry all of these labels take this profile in place of their namespace's, as if they named it; "
            "of several, the one whose labels include the others'.",
            examples=[{"feature.pod.kubernetes.io/sriov-network": "true"}],
        ),
    ] = field(default_factory=_nothing)
    networks: Annotated[
        tuple[ListedNetwork, ...],
        Field(max_length=64, description="Networks that each pod gets; none: those that it asks for itself."),
    ] = ()
    resources: Annotated[
        Table[ResourceName, Quantity],
        Field(
            max_length=24,  # with more, Kubernetes 1.30 takes the rules for too dear, and refuses the definition
            description="Extended resources and huge pages of the training container, once, however many networks.",
            examples=[{"nvidia.com/hostdev": 8}],
        ),
    ] = field(default_factory=_nothing)
    existing_devices: Annotated[
        Literal["complete", "keep", "add"],
        Field(
            description="Devices that the pod asks for itself. complete: they count, and what lacks is added; keep: a resource that "
            "any container names stays as it is; add: the networks' devices come on top."
        ),
    ] = "complete"
    ipc_lock: Annotated[Flag, Field(description="Add the capability IPC_LOCK, which RDMA needs to lock memory.")] = True
    pod_security: Annotated[
        Literal["deny", "skip", "ignore"],
        Field(
            description="Where PodSecurity would refuse IPC_LOCK: deny the pod with the reason; skip IPC_LOCK with a warning; "
            "ignore: inject, PodSecurity decides."
        ),
    ] = "deny"
    shared_memory: Annotated[SharedMemory, Field(description="The tmpfs at /dev/shm.")] = SharedMemory()
    env: Annotated[
        Table[EnvName, EnvValue],
        Field(
            max_length=256,
            description="Variables of the training container; the user's own value wins.",
            examples=[{"NCCL_IB_HCA": "mlx5"}],
        ),
    ] = field(default_factory=_nothing)
    annotations: Annotated[
        Table[SetAnnotationKey, AnnotationValue],
        Field(
            max_length=64,
            description="Annotations of the pod; the user's own value wins.",
            examples=[{"v1.multus-cni.io/default-network": "fabric/primary"}],
        ),
    ] = field(default_factory=_nothing)
    nccl_conf: Annotated[
        Flag,
        Field(
            description="Write NCCL's variables to /etc/nccl.conf too, before the image's own lines: for ranks that inherit no "
            "variable (MPI, Slurm, ssh). A mount hides the image's file, so the wait step copies it; not with rendezvous.waitImage."
        ),
    ] = False
    container: Annotated[
        Name | None,
        Field(
            description="Name of the training container. Absent: the one with the GPU, else the system's own, else the first."
        ),
    ] = None
    node_selector: Annotated[
        Table[LabelKey, LabelValue], Field(max_length=64, description="Merged with the networks' own node selectors.")
    ] = field(default_factory=_nothing)
    pod_info: Annotated[
        PodInfo, Field(description="Facts of the pod as downward-API files, where it gets a network or a device.")
    ] = PodInfo()
    rendezvous: Annotated[RendezvousSettings, Field(description="How the ranks meet on the secondary network.")] = (
        RendezvousSettings()
    )
    allowed_namespaces: Annotated[
        NamespaceList,
        Field(description="Namespaces that may use the profile, by namespace and pod label alike; or the word all."),
    ] = None
    revision: NotInFile[str] = field(default="", compare=False)
    """Digest of the content; empty where unknown."""
    generation: NotInFile[int] = field(default=0, compare=False)
    """That of the object, which begins anew with an object that is created anew; 0 for a file's."""

    def is_for(self, namespace: str) -> bool:
        """Tell whether the pods of *namespace* may use this profile."""
        return self.allowed_namespaces is None or namespace in self.allowed_namespaces

    def is_chosen_by(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod with *labels* takes this profile by ``podLabels``."""
        return bool(self.pod_labels) and all(labels.get(key) == value for key, value in self.pod_labels.items())

    def inert_settings(self) -> tuple[str, ...]:
        """Tell what the profile says in vain, in a sentence each."""
        if self.nccl_conf and self.rendezvous.wait_image:
            return (
                "ncclConf: true writes nothing: with rendezvous.waitImage the wait step runs in another image, where it cannot "
                "read the training image's own /etc/nccl.conf; leave one of the two out",
            )
        return ()


@dataclass(frozen=True, slots=True)
class Multus:
    """How this cluster's Multus is configured."""

    namespace_isolation: Annotated[
        Flag, Field(description="Multus' namespaceIsolation: networks of another namespace are forbidden.")
    ] = False
    global_namespaces: Annotated[
        tuple[Name, ...],
        Field(max_length=64, description="Multus' globalNamespaces: their networks are for every namespace."),
    ] = ("default",)
    default_networks: Annotated[
        int,
        Strict(),
        Field(ge=0, le=100, description="How many networks Multus' defaultNetworks attaches before the pod's own."),
    ] = 0
    resource_name_keys: Annotated[
        tuple[AnnotationKey, ...],
        AfterValidator(check_keys),
        Field(
            max_length=16,
            description="Annotations of a NetworkAttachmentDefinition that name its device resources; those of all keys count.",
            json_schema_extra={"minItems": 1},
        ),
    ] = (names.RESOURCE_NAME,)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles of fabric-injector: what each fabric of this cluster needs of a pod."""

    multus: Annotated[Multus, Field(description="How this cluster's Multus is configured.")] = Multus()
    profiles: Annotated[
        Mapping[ProfileName, Annotated[Profile, BeforeValidator(null_as_empty, json_schema_input_type=Profile | None)]],
        AfterValidator(name_each),
        Field(description="Profiles by name: the value of the namespace's label."),
    ] = field(default_factory=_nothing)
    own_image: NotInFile[str] = ""
    """Image of fabric-injector itself, for ``waitImage: installed``; known to the webhook alone."""
    past: NotInFile[Mapping[tuple[str, str], Profile] | None] = field(default=None, compare=False)
    """Earlier contents by name and revision, which a rank 0 that lives may have; known to the webhook alone."""
    by_pod_label: Mapping[tuple[str, str], tuple[Profile, ...]] = field(init=False, compare=False, repr=False)
    """The profiles with podLabels, each under the one of its labels that the fewest others have; most files have none."""

    def __post_init__(self) -> None:
        chosen = [profile for profile in self.profiles.values() if profile.pod_labels]
        frequency = Counter([label for profile in chosen for label in profile.pod_labels.items()])
        found: dict[tuple[str, str], list[Profile]] = {}
        for profile in chosen:
            rarest = min(profile.pod_labels.items(), key=lambda label: (frequency[label], label))
            found.setdefault(rarest, []).append(profile)
        object.__setattr__(self, "by_pod_label", {label: tuple(profiles) for label, profiles in found.items()})

    @property
    def pod_label_keys(self) -> frozenset[str]:
        """Return the keys of all podLabels."""
        return frozenset(key for profiles in self.by_pod_label.values() for each in profiles for key in each.pod_labels)

    def of_revision(self, name: str, revision: str) -> Profile | None:
        """Return the profile as it is or was in *revision*; None where that is not known."""
        present = self.profiles.get(name)
        if present is not None and present.revision == revision:
            return present
        return self.past.get((name, revision)) if self.past else None

    def chosen_by(self, labels: Mapping[str, str]) -> list[Profile]:
        """Return the profiles whose podLabels a pod with *labels* carries."""
        if not self.by_pod_label:
            return []
        listed = [self.by_pod_label.get(label, ()) for label in labels.items()]
        return [profile for profiles in listed for profile in profiles if profile.is_chosen_by(labels)]
