"""Hold what the profiles file says, checked and ready to read: the rest of the program sees these objects, never YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from webhook.core import names

_NOTHING: Mapping[str, str] = MappingProxyType({})


def _nothing() -> Mapping[str, str]:
    return _NOTHING


@dataclass(frozen=True, slots=True)
class ProfileNetwork:
    """Name a network that each pod gets, ``default/rdma-net-ipam``.

    *namespace* None: the pod's own. *interface* None: Multus counts, ``net1``. *resources*: names that one attachment takes
    *count* of; empty: those of the network's own resourceName annotation.
    """

    namespace: str | None
    name: str
    interface: str | None = None
    resources: tuple[str, ...] = ()
    count: int = 1

    def __str__(self) -> str:
        named = f"{self.namespace}/{self.name}" if self.namespace else self.name
        return f"{named}@{self.interface}" if self.interface else named


@dataclass(frozen=True, slots=True)
class SharedMemory:
    """Describe the tmpfs at /dev/shm; *size_limit* is a quantity, ``16Gi``."""

    enabled: bool = True
    size_limit: str | None = None
    limit_existing: bool = False


@dataclass(frozen=True, slots=True)
class PodInfo:
    """Say which facts of the pod become downward-API files."""

    hugepages: bool = False
    labels: bool = False
    annotations: bool = False


@dataclass(frozen=True, slots=True)
class RendezvousSettings:
    """Say how the ranks meet.

    *network* None: the profile's first with IPAM; otherwise its namespace and name count, and its interface where it has one.
    *wait_image* None: the training container's own.
    """

    enabled: bool = True
    network: ProfileNetwork | None = None
    ip_family: Literal["any", "IPv4", "IPv6"] = "any"
    timeout_seconds: int = 1800
    wait_image: str | None = None
    rank_zero: Literal["address", "name"] = "address"


@dataclass(frozen=True, slots=True)
class Profile:
    """Describe what a fabric needs of a pod.

    *pod_labels*: pods that carry all of them take this profile. *resources*: quantity texts by resource name, for the training
    container. *existing_devices*: what becomes of devices that the pod asks for itself. *allowed_namespaces* None: all.
    """

    name: str
    pods: Literal["training", "all"] = "training"
    pod_labels: Mapping[str, str] = field(default_factory=_nothing)
    networks: tuple[ProfileNetwork, ...] = ()
    resources: Mapping[str, str] = field(default_factory=_nothing)
    existing_devices: Literal["complete", "keep", "add"] = "complete"
    ipc_lock: bool = True
    pod_security: Literal["deny", "skip", "ignore"] = "deny"
    shared_memory: SharedMemory = SharedMemory()
    env: Mapping[str, str] = field(default_factory=_nothing)
    annotations: Mapping[str, str] = field(default_factory=_nothing)
    container: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=_nothing)
    pod_info: PodInfo = PodInfo()
    rendezvous: RendezvousSettings = RendezvousSettings()
    allowed_namespaces: frozenset[str] | None = None

    def is_chosen_by(self, labels: Mapping[str, str]) -> bool:
        """Tell whether a pod with *labels* takes this profile by ``podLabels``."""
        return bool(self.pod_labels) and all(labels.get(key) == value for key, value in self.pod_labels.items())


@dataclass(frozen=True, slots=True)
class Multus:
    """Describe how this cluster's Multus is configured.

    *default_networks* counts those that it attaches before the pod's own. *resource_name_keys*: annotations of a
    NetworkAttachmentDefinition that name device resources.
    """

    namespace_isolation: bool = False
    global_namespaces: tuple[str, ...] = ("default",)
    default_networks: int = 0
    resource_name_keys: tuple[str, ...] = (names.RESOURCE_NAME,)


@dataclass(frozen=True, slots=True)
class Profiles:
    """Hold the whole file: profiles by name, and the cluster's Multus.

    *with_pod_labels*: the profiles that pods choose by other labels than our own; most files have none.
    """

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    multus: Multus = Multus()
    with_pod_labels: tuple[Profile, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        chosen = tuple(profile for profile in self.profiles.values() if profile.pod_labels)
        object.__setattr__(self, "with_pod_labels", chosen)
