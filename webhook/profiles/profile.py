"""Hold what the profiles file says, checked and ready to read: the rest of the program sees these objects, never YAML."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

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
class Rendezvous:
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

    *resources*: quantity texts by resource name, for the training container. *allowed_namespaces* None: all.
    """

    name: str
    pods: Literal["training", "all"] = "training"
    networks: tuple[ProfileNetwork, ...] = ()
    resources: Mapping[str, str] = field(default_factory=_nothing)
    ipc_lock: bool = True
    pod_security: Literal["deny", "skip", "ignore"] = "deny"
    shared_memory: SharedMemory = SharedMemory()
    env: Mapping[str, str] = field(default_factory=_nothing)
    container: str | None = None
    node_selector: Mapping[str, str] = field(default_factory=_nothing)
    pod_info: PodInfo = PodInfo()
    rendezvous: Rendezvous = Rendezvous()
    allowed_namespaces: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Multus:
    """Describe how this cluster's Multus is configured; *default_networks* counts those that it attaches before the pod's own."""

    namespace_isolation: bool = False
    global_namespaces: tuple[str, ...] = ("default",)
    default_networks: int = 0


@dataclass(frozen=True, slots=True)
class Profiles:
    """Hold the whole file: profiles by name, and the cluster's Multus."""

    profiles: Mapping[str, Profile] = field(default_factory=dict)
    multus: Multus = Multus()
