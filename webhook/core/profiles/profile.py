"""Define a profile once: each field of profiles.yaml with its type, default and limits, and the sentence that editors show.

pydantic checks the file against these dataclasses and makes the JSON Schema of them; the rest of the program sees plain, frozen
objects, never YAML. The annotations are text until `adapter` reads them for pydantic, so that who only holds profiles loads none of it:
with its classes of these it needs 14 MB.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, Literal

from webhook.core import names
from webhook.core.profiles.grammar import normalize_path, split_image

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
        Accelerators,
        AllowedImage,
        AllowedPath,
        AnnotationKey,
        AnnotationValue,
        Capability,
        CelExpression,
        ClaimName,
        ConfigMapName,
        Count,
        DeviceAttribute,
        DeviceClassName,
        DeviceCount,
        DeviceName,
        DriverName,
        EnvName,
        EnvValue,
        Flag,
        HostPath,
        Image,
        ImageReference,
        LabelKey,
        LabelValue,
        MountPath,
        Name,
        NamespaceList,
        NodeType,
        NotInFile,
        OpaqueParameters,
        OwnName,
        ProfileName,
        Quantity,
        ResourceList,
        ResourceName,
        Seconds,
        SelectingLabelKey,
        SetAnnotationKey,
        SidecarResources,
        Size,
        SubPath,
        Table,
        VolumeSize,
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
        Flag,
        Field(description="Mount a tmpfs at /dev/shm where the container mounts nothing there."),
    ] = True
    size_limit: Annotated[
        Size,
        Field(
            description="Its size; none: as large as the pod's memory limit, else the node's memory.",
            examples=["16Gi"],
        ),
    ] = None
    limit_existing: Annotated[
        Flag,
        Field(
            description="Give the size to a tmpfs without limit that the pod already mounts there."
        ),
    ] = False


@dataclass(frozen=True, slots=True)
class RendezvousSettings:
    """How the ranks meet on the secondary network."""

    enabled: Annotated[Flag, Field(description="Make the ranks meet on the secondary network.")] = (
        True
    )
    network: Annotated[
        NetworkName,
        Field(
            description="Network whose address counts. Absent: the first with IPAM.",
            examples=["rails/rail-0"],
        ),
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
    address_source: Annotated[
        Literal["multus", "gke", "claim", "none"],
        Field(
            description="Where the addresses are told. multus: in network-status; gke: in networking.gke.io/pod-ips, for the "
            "interfaces that networking.gke.io/interfaces asks for; claim: in the status of the pod's ResourceClaims (DRA), one of "
            "which network may name, CLAIM or CLAIM@INTERFACE; none: nowhere, the job meets on the pod network, and all else is "
            "injected."
        ),
    ] = "multus"


@dataclass(frozen=True, slots=True)
class HostPathSource:
    """A file or folder of the node."""

    path: Annotated[
        HostPath, Field(description="Path on the node, without '..'.", examples=["/dev/infiniband"])
    ]
    type: Annotated[
        Literal[
            "",
            "DirectoryOrCreate",
            "Directory",
            "FileOrCreate",
            "File",
            "Socket",
            "CharDevice",
            "BlockDevice",
        ],
        Field(description="What must be there, as in a pod; empty: nothing is looked at."),
    ] = ""


@dataclass(frozen=True, slots=True)
class EmptyDirSource:
    """A new folder of the pod."""

    medium: Annotated[
        Literal["", "Memory", "HugePages"],
        Field(description="As in a pod; empty: the node's disk."),
    ] = ""
    size_limit: Annotated[
        VolumeSize, Field(description="Its size at most; none: as large as the medium.")
    ] = None


@dataclass(frozen=True, slots=True)
class ConfigMapSource:
    """A ConfigMap of the pod's namespace."""

    name: Annotated[ConfigMapName, Field(description="Its name.")]
    optional: Annotated[Flag, Field(description="Start the pod without it, too.")] = False


@dataclass(frozen=True, slots=True)
class ProfileVolume:
    """A volume of the pod, out of one source."""

    name: Annotated[
        OwnName,
        Field(description="Its name; where the pod has another volume of it, ours gets a number."),
    ]
    host_path: Annotated[
        HostPathSource | None,
        Field(
            description="A path of the node, which `allowed.hostPaths` of the Configuration must allow."
        ),
    ] = None
    empty_dir: Annotated[EmptyDirSource | None, Field(description="A new folder.")] = None
    config_map: Annotated[
        ConfigMapSource | None, Field(description="A ConfigMap of the pod's namespace.")
    ] = None


@dataclass(frozen=True, slots=True)
class ProfileMount:
    """A mount of a container."""

    name: Annotated[
        Name, Field(description="A volume of the profile, else one that the pod brings itself.")
    ]
    mount_path: Annotated[
        MountPath,
        Field(
            description="Where the container sees it; a mount of the user's own at this path wins."
        ),
    ]
    read_only: Annotated[Flag, Field(description="Whether the container may only read.")] = False
    sub_path: Annotated[
        SubPath | None, Field(description="Path within the volume. Absent: all of it.")
    ] = None


@dataclass(frozen=True, slots=True)
class ProfileSidecar:
    """A container that runs beside the training one: an init container with ``restartPolicy: Always``."""

    name: Annotated[
        OwnName,
        Field(description="Its name; a container of this name that the pod has itself wins."),
    ]
    image: Annotated[
        ImageReference,
        Field(
            description="Its image, which `allowed.sidecarImages` of the Configuration must allow."
        ),
    ]
    command: Annotated[
        tuple[EnvValue, ...],
        Field(max_length=32, description="What it runs. Empty: what its image says."),
    ] = ()
    args: Annotated[
        tuple[EnvValue, ...], Field(max_length=64, description="Arguments of that.")
    ] = ()
    env: Annotated[Table[EnvName, EnvValue], Field(max_length=64, description="Its variables.")] = (
        field(default_factory=_nothing)
    )
    mounts: Annotated[
        tuple[ProfileMount, ...], Field(max_length=16, description="What it mounts.")
    ] = ()
    privileged: Annotated[
        Flag, Field(description="Whether it may do on its node what root may do there.")
    ] = False
    capabilities: Annotated[
        tuple[Capability, ...],
        Field(max_length=16, description="Capabilities that it gets.", examples=[["NET_ADMIN"]]),
    ] = ()
    resources: Annotated[
        SidecarResources,
        Field(
            max_length=8,
            description="Its limits and requests, which are equal.",
            examples=[{"cpu": 1, "memory": "1Gi"}],
        ),
    ] = field(default_factory=_nothing)


@dataclass(frozen=True, slots=True)
class ProfileToleration:
    """A taint of nodes that the pod tolerates; the fields are those of a pod's toleration."""

    key: Annotated[
        LabelKey | None,
        Field(description="Key of the taint. Absent: every taint, with operator Exists."),
    ] = None
    operator: Annotated[
        Literal["Equal", "Exists"], Field(description="Exists: whatever the taint's value is.")
    ] = "Equal"
    value: Annotated[LabelValue, Field(description="Value of the taint, with operator Equal.")] = ""
    effect: Annotated[
        Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None,
        Field(description="Effect of the taint. Absent: every effect."),
    ] = None
    toleration_seconds: Annotated[
        Count | None, Field(description="How long, with effect NoExecute. Absent: for ever.")
    ] = None


@dataclass(frozen=True, slots=True)
class ProfileQuantity:
    """How many of a device the training container gets."""

    resource: Annotated[
        DeviceName,
        Field(description="Extended resource of the device.", examples=["vpc.amazonaws.com/efa"]),
    ]
    per_accelerator: Annotated[
        Count | None,
        Field(
            description="How many for each accelerator that the training container asks for, where byNodeType does not decide. Absent: "
            "not counted so."
        ),
    ] = None
    by_node_type: Annotated[
        Table[NodeType, Count],
        Field(
            max_length=64,
            description="How many on each type of node, where the pod's nodeSelector or required node affinity names one; of a type "
            "that is not listed: none.",
            examples=[{"p5.48xlarge": 32, "p4d.24xlarge": 4}],
        ),
    ] = field(default_factory=_nothing)
    node_label: Annotated[LabelKey, Field(description="Label of a node that tells its type.")] = (
        names.INSTANCE_TYPE
    )


@dataclass(frozen=True, slots=True)
class ClaimRequest:
    """What a claim asks for: so many devices of one DeviceClass. The fields are those of a ResourceClaim's request."""

    name: Annotated[
        Name, Field(description="Its name, by which constraints and config refer to it.")
    ]
    device_class_name: Annotated[
        DeviceClassName, Field(description="DeviceClass of the devices.", examples=["dranet.net"])
    ]
    count: Annotated[
        DeviceCount | None,
        Field(description="How many devices, with allocationMode: ExactCount. Absent: one."),
    ] = None
    allocation_mode: Annotated[
        Literal["ExactCount", "All"], Field(description="All: every device of the node that fits.")
    ] = "ExactCount"
    selectors: Annotated[
        tuple[CelExpression, ...],
        Field(
            max_length=8,
            description="Expressions in CEL about `device`, all of which must hold.",
            examples=[['device.attributes["dra.net"].rdma']],
        ),
    ] = ()


@dataclass(frozen=True, slots=True)
class ClaimConstraint:
    """What devices of a claim must have in common."""

    match_attribute: Annotated[
        DeviceAttribute,
        Field(
            description="Attribute whose value is the same for all of them.",
            examples=["resource.kubernetes.io/pcieRoot"],
        ),
    ]
    requests: Annotated[
        tuple[Name, ...],
        Field(max_length=8, description="Requests whose devices are meant. Empty: all."),
    ] = ()


@dataclass(frozen=True, slots=True)
class ClaimConfig:
    """What a driver is told about devices of a claim."""

    driver: Annotated[DriverName, Field(description="Name of the driver.", examples=["dra.net"])]
    parameters: Annotated[
        OpaqueParameters,
        Field(
            description="What it is told: an object as the driver's documentation describes it, passed on as it is."
        ),
    ]
    requests: Annotated[
        tuple[Name, ...],
        Field(max_length=8, description="Requests whose devices are meant. Empty: all."),
    ] = ()


@dataclass(frozen=True, slots=True)
class ProfileClaim:
    """A claim of each pod of a job of several pods: what the controller keeps as a ResourceClaimTemplate."""

    name: Annotated[ClaimName, Field(description="Its name: the pod's claim is fabric- and this.")]
    requests: Annotated[
        tuple[ClaimRequest, ...],
        Field(max_length=8, description="What it asks for.", json_schema_extra={"minItems": 1}),
    ]
    constraints: Annotated[
        tuple[ClaimConstraint, ...],
        Field(
            max_length=4,
            description="What its devices must have in common. Such a claim gets no pod that asks for accelerators itself.",
        ),
    ] = ()
    config: Annotated[
        tuple[ClaimConfig, ...], Field(max_length=4, description="What drivers are told.")
    ] = ()


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
            description="Pods that carry all of these labels take this profile in place of their namespace's, as if they named it. "
            "If several match, the most specific wins; if neither contains the other, the pod is refused.",
            examples=[{"feature.pod.kubernetes.io/sriov-network": "true"}],
        ),
    ] = field(default_factory=_nothing)
    accelerators: Annotated[
        Accelerators | None,
        Field(
            description="Only pods whose training container asks for this number of accelerators get the profile, as where it gives "
            "what all accelerators of a node share; all others are left alone. Absent: whatever they ask for."
        ),
    ] = None
    networks: Annotated[
        tuple[ListedNetwork, ...],
        Field(
            max_length=64,
            description="Networks that each pod gets; none: those that it asks for itself.",
        ),
    ] = ()
    resources: Annotated[
        Table[ResourceName, Quantity],
        Field(
            max_length=24,  # with more, Kubernetes 1.30 takes the rules for too dear, and refuses the definition
            description="Extended resources and huge pages of the training container, once, however many networks.",
            examples=[{"nvidia.com/hostdev": 8}],
        ),
    ] = field(default_factory=_nothing)
    quantities: Annotated[
        tuple[ProfileQuantity, ...],
        Field(
            max_length=8,
            description="Devices whose number depends on the node's type, or on the accelerators of the training container; a "
            "request of the pod's own wins.",
        ),
    ] = ()
    claims: Annotated[
        tuple[ProfileClaim, ...],
        Field(
            max_length=4,
            description="Devices that DRA drivers give, as claims of the training container, in jobs of several pods; a pod with "
            "such a claim or request of its own gets none.",
        ),
    ] = ()
    existing_devices: Annotated[
        Literal["complete", "keep", "add"],
        Field(
            description="Devices that the pod asks for itself. complete: they count, and what lacks is added; keep: a resource that "
            "any container names stays as it is; add: the networks' devices come on top."
        ),
    ] = "complete"
    ipc_lock: Annotated[
        Flag, Field(description="Add the capability IPC_LOCK, which RDMA needs to lock memory.")
    ] = True
    pod_security: Annotated[
        Literal["deny", "skip", "ignore"],
        Field(
            description="Where PodSecurity would refuse IPC_LOCK, a volume or a sidecar: deny the pod with the reason; skip: "
            "leave IPC_LOCK out, or for a volume or a sidecar the whole profile, with a warning; ignore: inject, PodSecurity decides."
        ),
    ] = "deny"
    shared_memory: Annotated[SharedMemory, Field(description="The tmpfs at /dev/shm.")] = (
        SharedMemory()
    )
    env: Annotated[
        Table[EnvName, EnvValue],
        Field(
            max_length=256,
            description="Variables of the training container; the user's own value wins.",
            examples=[{"NCCL_IB_HCA": "mlx5"}],
        ),
    ] = field(default_factory=_nothing)
    device_variables: Annotated[
        tuple[Literal["NCCL_IB_HCA", "UCX_NET_DEVICES"], ...],
        Field(
            max_length=2,
            description="Variables of the training container that take the names of the pod's own RDMA devices, as Multus' "
            "network-status tells them once the pod is on a node; the user's own value wins, and env's gives way.",
            examples=[["NCCL_IB_HCA"]],
        ),
    ] = ()
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
    volumes: Annotated[
        tuple[ProfileVolume, ...],
        Field(
            max_length=16,
            description="Volumes of the pod, each where something of the profile mounts it, or nothing does.",
        ),
    ] = ()
    mounts: Annotated[
        tuple[ProfileMount, ...],
        Field(max_length=16, description="What the training container mounts."),
    ] = ()
    sidecars: Annotated[
        tuple[ProfileSidecar, ...],
        Field(
            max_length=4,
            description="Containers that run beside the training one; Kubernetes 1.29 or newer.",
        ),
    ] = ()
    node_selector: Annotated[
        Table[LabelKey, LabelValue],
        Field(max_length=64, description="Merged with the networks' own node selectors."),
    ] = field(default_factory=_nothing)
    tolerations: Annotated[
        tuple[ProfileToleration, ...],
        Field(max_length=16, description="Taints of nodes that the pod tolerates."),
    ] = ()
    rendezvous: Annotated[
        RendezvousSettings, Field(description="How the ranks meet on the secondary network.")
    ] = RendezvousSettings()
    allowed_namespaces: Annotated[
        NamespaceList,
        Field(
            description="Namespaces that may use the profile, by namespace and pod label alike; or the word all."
        ),
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
        return bool(self.pod_labels) and all(
            labels.get(key) == value for key, value in self.pod_labels.items()
        )

    @property
    def adds_parts(self) -> bool:
        """Tell whether it gives the pod volumes, mounts, sidecars, tolerations or claims; most give none."""
        return bool(self.volumes or self.mounts or self.sidecars or self.tolerations or self.claims)

    def not_allowed(self, allowed: Allowed) -> tuple[str, ...]:
        """Tell what the Configuration does not allow of it, in a few words each; pods that would get it are denied."""
        paths = [
            f"volume {volume.name}: {why}"
            for volume in self.volumes
            if volume.host_path is not None and (why := allowed.refuses_path(volume.host_path.path))
        ]
        images = [
            f"sidecar {sidecar.name}: {why}"
            for sidecar in self.sidecars
            if (why := allowed.refuses_image(sidecar.image))
        ]
        return (*paths, *images)

    def inert_settings(self) -> tuple[str, ...]:
        """Tell what the profile says in vain, in a sentence each."""
        told = []
        if self.nccl_conf and self.rendezvous.wait_image:
            told.append(
                "ncclConf: true writes nothing: with rendezvous.waitImage the wait step runs in another image, where it cannot "
                "read the training image's own /etc/nccl.conf; leave one of the two out"
            )
        source = self.rendezvous.address_source
        if self.device_variables and (not self.rendezvous.enabled or source != "multus"):
            setting = f"addressSource: {source}" if self.rendezvous.enabled else "{enabled: false}"
            told.append(
                f"deviceVariables gives nothing: with rendezvous: {setting} no pod waits for what is published; leave one out"
            )
        if self.rendezvous.address_source == "none" and self.rendezvous.network:
            told.append(
                "rendezvous.network is not used: with rendezvous.addressSource: none the job meets on the pod network; leave one of "
                "the two out"
            )
        return tuple(told)


@dataclass(frozen=True, slots=True)
class Multus:
    """How this cluster's Multus is configured."""

    namespace_isolation: Annotated[
        Flag,
        Field(
            description="Multus' namespaceIsolation: networks of another namespace are forbidden."
        ),
    ] = False
    global_namespaces: Annotated[
        tuple[Name, ...],
        Field(
            max_length=64,
            description="Multus' globalNamespaces: their networks are for every namespace.",
        ),
    ] = ("default",)
    default_networks: Annotated[
        int,
        Strict(),
        Field(
            ge=0,
            le=100,
            description="How many networks Multus' defaultNetworks attaches before the pod's own.",
        ),
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
class Allowed:
    """What profiles may give of the nodes, and run beside a job; nothing unless it stands here."""

    host_paths: Annotated[
        tuple[AllowedPath, ...],
        Field(
            max_length=64,
            description="Paths of nodes that volumes of profiles may hold; one with a slash behind it, and all that is below it.",
            examples=[["/dev/infiniband", "/home/kubernetes/bin/nvidia/"]],
        ),
    ] = ()
    sidecar_images: Annotated[
        tuple[AllowedImage, ...],
        Field(
            max_length=64,
            description="Images of sidecars, compared as they are written: without tag and digest any of them, else this one alone; "
            "with /* behind it all that is below it.",
            examples=[["registry.example.com/fabric/daemon", "registry.example.com/vendor/*"]],
        ),
    ] = ()

    def refuses_path(self, path: str) -> str:
        """Say that volumes of profiles may not hold *path*; empty where they may. One with ``..`` is in no entry."""
        try:
            clean = normalize_path(path)
        except ValueError:
            clean = ""
        for entry in self.host_paths if clean else ():
            if f"{clean}/".startswith(entry) if entry.endswith("/") else clean == entry:
                return ""
        return f"hostPath {path} is not in allowed.hostPaths of the Configuration"

    def refuses_image(self, image: str) -> str:
        """Say that sidecars may not run *image*; empty where they may."""
        try:
            name, _ = split_image(image)
        except ValueError:
            name = ""
        for entry in self.sidecar_images if name else ():
            if name.startswith(entry[:-1]) if entry.endswith("/*") else entry in (name, image):
                return ""
        return f"image {image} is not in allowed.sidecarImages of the Configuration"


@dataclass(frozen=True, slots=True)
class ClusterSettings:
    """Hold what a Configuration says: what holds for all profiles of a cluster."""

    multus: Multus = Multus()
    allowed: Allowed = Allowed()


@dataclass(frozen=True, slots=True)
class Profiles:
    """Profiles of fabric-injector: what each fabric of this cluster needs of a pod."""

    multus: Annotated[Multus, Field(description="How this cluster's Multus is configured.")] = (
        Multus()
    )
    allowed: Annotated[
        Allowed,
        Field(
            description="What profiles may give of the nodes, and run beside a job; default: nothing."
        ),
    ] = Allowed()
    profiles: Annotated[
        Mapping[
            ProfileName,
            Annotated[
                Profile, BeforeValidator(null_as_empty, json_schema_input_type=Profile | None)
            ],
        ],
        AfterValidator(name_each),
        Field(description="Profiles by name: the value of the namespace's label."),
    ] = field(default_factory=_nothing)
    own_image: NotInFile[str] = ""
    """Image of fabric-injector itself, for ``waitImage: installed``; known to the webhook alone."""
    claims_problem: NotInFile[str] = ""
    """Why no pod gets the claims of its profile; empty where nothing keeps them from it. Known to the webhook alone."""
    by_pod_label: Mapping[tuple[str, str], tuple[Profile, ...]] = field(
        init=False, compare=False, repr=False
    )
    """The profiles with podLabels, each under the one of its labels that the fewest others have; most files have none."""

    def __post_init__(self) -> None:
        chosen = [profile for profile in self.profiles.values() if profile.pod_labels]
        frequency = Counter([label for profile in chosen for label in profile.pod_labels.items()])
        found: dict[tuple[str, str], list[Profile]] = {}
        for profile in chosen:
            rarest = min(profile.pod_labels.items(), key=lambda label: (frequency[label], label))
            found.setdefault(rarest, []).append(profile)
        object.__setattr__(
            self, "by_pod_label", {label: tuple(profiles) for label, profiles in found.items()}
        )

    @property
    def settings(self) -> ClusterSettings:
        """Return what holds for all profiles."""
        return ClusterSettings(self.multus, self.allowed)

    def given_settings(self) -> str:
        """Name what is not as it is without a Configuration, ``multus, allowed``; empty where all is."""
        given = {"multus": self.multus != Multus(), "allowed": self.allowed != Allowed()}
        return ", ".join(name for name, differs in given.items() if differs)

    def usable_in(self, namespace: str) -> list[str]:
        """Return the names of the profiles that the namespace may use, sorted."""
        return sorted(name for name, profile in self.profiles.items() if profile.is_for(namespace))

    def chosen_by(self, labels: Mapping[str, str]) -> list[Profile]:
        """Return the profiles whose podLabels a pod with *labels* carries."""
        if not self.by_pod_label:
            return []
        listed = [self.by_pod_label.get(label, ()) for label in labels.items()]
        return [
            profile for profiles in listed for profile in profiles if profile.is_chosen_by(labels)
        ]


def same_pod_labels(profiles: Iterable[Profile]) -> dict[str, str]:
    """Return the profiles whose podLabels an earlier one of the list has too, with that one: pods that carry them take it."""
    owners: dict[frozenset[tuple[str, str]], str] = {}
    found = {}
    for profile in profiles:
        if profile.pod_labels:
            owner = owners.setdefault(frozenset(profile.pod_labels.items()), profile.name)
            if owner != profile.name:
                found[profile.name] = owner
    return found


SECTIONS: tuple[Any, ...] = (
    Allowed,
    ClaimConfig,
    ClaimConstraint,
    ClaimRequest,
    ConfigMapSource,
    EmptyDirSource,
    HostPathSource,
    Multus,
    Profile,
    ProfileClaim,
    ProfileMount,
    ProfileNetwork,
    ProfileQuantity,
    ProfileSidecar,
    ProfileToleration,
    ProfileVolume,
    Profiles,
    RendezvousSettings,
    SharedMemory,
)
"""The classes of all that a file holds."""
