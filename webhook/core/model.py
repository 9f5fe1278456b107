"""Give the types that all parts share: objects, decisions, and what is known of the cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Protocol, TypeAlias

Object: TypeAlias = dict[str, Any]
"""A Kubernetes object, or a part of one, as parsed from JSON."""


class Outcome(StrEnum):
    """Say what became of one step."""

    INJECTED = "injected"
    KEPT = "kept"
    SKIPPED = "skipped"
    WARNED = "warned"
    DENIED = "denied"


class Reason(StrEnum):
    """Code each reason of a decision: a metric label and a log field, so the set is closed."""

    ADDED = "added"
    RAISED = "raised"
    ALREADY_THERE = "already-there"
    USER_VALUE = "user-value"
    DISAGREES = "disagrees"
    INVALID_POD = "invalid-pod"
    TOO_LARGE = "too-large"

    NO_PROFILE = "no-profile"
    UNKNOWN_PROFILE = "unknown-profile"
    AMBIGUOUS_PROFILE = "ambiguous-profile"
    OPTED_OUT = "opted-out"
    NAMESPACE_NOT_ALLOWED = "namespace-not-allowed"
    NOT_TRAINING = "not-training"
    ROLE = "role"
    TPU = "tpu"

    BAD_NETWORKS = "bad-networks"
    NETWORK_ABSENT = "network-absent"
    NETWORK_ISOLATED = "network-isolated"
    INTERFACE_CONFLICT = "interface-conflict"
    HOST_NETWORK = "host-network"

    BAD_RESOURCE = "bad-resource"
    DRA_CLAIM = "dra-claim"
    CLAIMS_UNSERVED = "claims-unserved"
    OWN_DEVICE = "own-device"
    HOST_DEVICES = "host-devices"
    POD_SECURITY = "pod-security"
    NOT_ROOT = "not-root"
    USER_NAMESPACE = "user-namespace"
    PRIVILEGED = "privileged"
    OVERSIZED = "oversized"
    HOST_IPC = "host-ipc"
    HUGEPAGES = "hugepages"
    WINDOWS = "windows"
    NODE_SELECTOR_CONFLICT = "node-selector-conflict"
    NO_VOLUME = "no-volume"
    UNKNOWN_QUANTITY = "unknown-quantity"
    OTHER_ACCELERATORS = "other-accelerators"

    UNKNOWN_SYSTEM = "unknown-system"
    NO_PROCESS_GROUP = "no-process-group"
    SINGLE_NODE = "single-node"
    NO_MASTER = "no-master"
    NO_SIZE = "no-size"
    NO_IPAM = "no-ipam"
    NO_ADDRESS = "no-address"
    DISABLED = "disabled"
    KEEPS_NAME = "keeps-name"
    STALE_MANIFEST = "stale-manifest"

    ISTIO_INIT = "istio-init"


@dataclass(slots=True)
class Decision:
    """State what one step did to the pod and why.

    *step*: a file name of ``injection/``. *message*: one sentence.
    """

    step: str
    outcome: Outcome
    reason: Reason
    message: str


@dataclass(frozen=True, slots=True)
class Namespace:
    """Hold what is known of a namespace; where it *is_ending*, no pod is created in it any more."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    is_ending: bool = False


@dataclass(frozen=True, slots=True)
class NetworkDefinition:
    """Hold what is kept of a NetworkAttachmentDefinition.

    *resources*: the resourceName annotation, comma list split, ``("nvidia.com/hostdev",)``.
    *node_selector*: its nodeSelector annotation as a map. *annotations*: the others, which
    ``multus.resourceNameKeys`` may name. *has_ipam*: the CNI configuration gives addresses.
    *ipv6_only*: its IPAM names IPv6 ranges and no IPv4.
    *problem*: why its node selector cannot be used, else empty. *resource_problem*: why its
    resourceName cannot be, which matters only where a profile names no resource in its place.
    *config_problem*: why Multus cannot read its configuration.
    """

    namespace: str
    name: str
    resources: tuple[str, ...] = ()
    node_selector: Mapping[str, str] = field(default_factory=dict)
    annotations: Mapping[str, str] = field(default_factory=dict)
    has_ipam: bool = False
    ipv6_only: bool = False
    problem: str = ""
    resource_problem: str = ""
    config_problem: str = ""


class World(Protocol):
    """Answer what the cluster looks like now; ``None`` means that it does not exist.

    Each method raises Unavailable where the answer cannot be known: "absent" and "cannot ask" are
    different answers.
    """

    def namespace(self, name: str, /) -> Namespace | None:
        """Look a namespace up by name."""

    def fresh_namespace(self, name: str, /) -> Namespace | None:
        """Look it up live, where the cached labels contradict the API server's selector."""

    def network(self, namespace: str, name: str, /) -> NetworkDefinition | None:
        """Look a NetworkAttachmentDefinition up."""

    def has_profile(self, name: str, /) -> bool:
        """Tell whether a profile can be used that those at hand lack, because it is new."""
