"""Describe the shape of profiles.yaml: each field with its default and the sentence that editors show."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator
from pydantic.alias_generators import to_camel

from webhook.core import names
from webhook.core.profiles.checks import MAX_AMOUNT, NONE
from webhook.core.profiles.field_types import (
    AnnotationKey,
    AnnotationValue,
    Duration,
    EnvName,
    EnvValue,
    Image,
    LabelKey,
    LabelValue,
    Name,
    NamespaceList,
    NetworkText,
    ProfileName,
    Quantity,
    ResourceList,
    ResourceName,
    SelectingLabelKey,
    SetAnnotationKey,
    Size,
)


class _Fields(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)

    @model_validator(mode="before")
    @classmethod
    def _take_null_for_absent(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        known = {field.alias for field in cls.model_fields.values()}
        return {key: item for key, item in value.items() if item is not None or key not in known}


class NetworkFields(_Fields):
    """A network that each pod gets."""

    network: NetworkText = Field(
        description="[namespace/]name[@interface] of a NetworkAttachmentDefinition; without namespace: the pod's own.",
        examples=["default/rdma-net-ipam", "rails/rail-0@rail0"],
    )
    resource: ResourceList | None = Field(
        default=None,
        description="Device resource of one attachment, or a comma list. Absent: the network's k8s.v1.cni.cncf.io/resourceName "
        "annotation says it; macvlan and ipoib networks carry none.",
        examples=["rdma/rdma_shared_device_a"],
    )
    count: int = Field(default=1, ge=0, le=MAX_AMOUNT, description="How many of the resource one attachment takes.")


class SharedMemoryFields(_Fields):
    """The tmpfs at /dev/shm."""

    enabled: bool = Field(
        default=True, description="Mount a tmpfs at /dev/shm where the container mounts nothing there."
    )
    size_limit: Size = Field(
        default=NONE,
        description="Its size; none: as large as the pod's memory limit, else the node's memory.",
        examples=["16Gi"],
    )
    limit_existing: bool = Field(
        default=False, description="Give the size to a tmpfs without limit that the pod already mounts there."
    )


class PodInfoFields(_Fields):
    """Facts of the pod as downward-API files, as network-resources-injector offers them."""

    hugepages: bool = Field(default=False, description="Requests and limits of huge pages.")
    labels: bool = Field(default=False, description="The pod's labels.")
    annotations: bool = Field(default=False, description="The pod's annotations.")


class RendezvousFields(_Fields):
    """How the ranks meet on the secondary network."""

    enabled: bool = Field(default=True, description="Make the ranks meet on the secondary network.")
    network: NetworkText | None = Field(
        default=None,
        description="Network whose address counts. Absent: the first with IPAM.",
        examples=["rails/rail-0"],
    )
    ip_family: Literal["any", "IPv4", "IPv6"] = Field(
        default="any", description="Family of the address; any: IPv4 first."
    )
    timeout: Duration = Field(
        default="30m", description="How long a pod waits for rank 0's address.", examples=["10m", "1h30m"]
    )
    wait_image: Image = Field(
        default=NONE, description="Image of the wait container, with a POSIX sh; none: the training container's."
    )
    rank_zero: Literal["address", "name"] = Field(
        default="address",
        description="What rank 0's own address variables hold: its secondary address, or the name as the operator wrote it.",
    )


class ProfileFields(_Fields):
    """What a fabric needs of a pod."""

    pods: Literal["training", "all"] = Field(
        default="training",
        description="training: pods of a known training system, and pods that carry the label; all: every pod of the namespace.",
    )
    pod_labels: dict[SelectingLabelKey, LabelValue] = Field(
        default={},
        description="Pods that carry all of these labels take this profile in place of their namespace's, as if they named it; "
        "of several, the one whose labels include the others'.",
        examples=[{"feature.pod.kubernetes.io/sriov-network": "true"}],
    )
    networks: list[NetworkFields] = Field(
        default=[], description="Networks that each pod gets; none: those that it asks for itself."
    )
    resources: dict[ResourceName, Quantity] = Field(
        default={},
        description="Extended resources and huge pages of the training container, once, however many networks.",
        examples=[{"nvidia.com/hostdev": 8}],
    )
    existing_devices: Literal["complete", "keep", "add"] = Field(
        default="complete",
        description="Devices that the pod asks for itself. complete: they count, and what lacks is added; keep: a resource that "
        "any container names stays as it is; add: the networks' devices come on top.",
    )
    ipc_lock: bool = Field(default=True, description="Add the capability IPC_LOCK, which RDMA needs to lock memory.")
    pod_security: Literal["deny", "skip", "ignore"] = Field(
        default="deny",
        description="Where PodSecurity would refuse IPC_LOCK: deny the pod with the reason; skip IPC_LOCK with a warning; "
        "ignore: inject, PodSecurity decides.",
    )
    shared_memory: SharedMemoryFields = Field(default=SharedMemoryFields(), description="The tmpfs at /dev/shm.")
    env: dict[EnvName, EnvValue] = Field(
        default={},
        description="Variables of the training container; the user's own value wins.",
        examples=[{"NCCL_IB_HCA": "mlx5"}],
    )
    annotations: dict[SetAnnotationKey, AnnotationValue] = Field(
        default={},
        description="Annotations of the pod; the user's own value wins.",
        examples=[{"v1.multus-cni.io/default-network": "fabric/primary"}],
    )
    container: Name | None = Field(
        default=None,
        description="Name of the training container. Absent: the one with the GPU, else the system's own, else the first.",
    )
    node_selector: dict[LabelKey, LabelValue] = Field(
        default={}, description="Merged with the networks' own node selectors."
    )
    pod_info: PodInfoFields = Field(
        default=PodInfoFields(),
        description="Facts of the pod as downward-API files, where it gets a network or a device.",
    )
    rendezvous: RendezvousFields = Field(
        default=RendezvousFields(), description="How the ranks meet on the secondary network."
    )
    allowed_namespaces: NamespaceList = Field(
        default=None,
        description="Namespaces that may use the profile, by namespace and pod label alike; or the word all.",
        json_schema_extra={"default": "all"},
    )


class MultusFields(_Fields):
    """How this cluster's Multus is configured."""

    namespace_isolation: bool = Field(
        default=False, description="Multus' namespaceIsolation: networks of another namespace are forbidden."
    )
    global_namespaces: list[Name] = Field(
        default=["default"], description="Multus' globalNamespaces: their networks are for every namespace."
    )
    default_networks: int = Field(
        default=0, ge=0, le=100, description="How many networks Multus' defaultNetworks attaches before the pod's own."
    )
    resource_name_keys: list[AnnotationKey] = Field(
        default=[names.RESOURCE_NAME],
        min_length=1,
        description="Annotations of a NetworkAttachmentDefinition that name its device resources; those of all keys count.",
    )


class FileFields(_Fields):
    """Profiles of fabric-injector: what each fabric of this cluster needs of a pod."""

    multus: MultusFields = Field(default=MultusFields(), description="How this cluster's Multus is configured.")
    profiles: dict[ProfileName, ProfileFields | None] = Field(
        default={}, description="Profiles by name: the value of the namespace's label."
    )
