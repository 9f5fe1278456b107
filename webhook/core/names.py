"""Name every label, annotation, variable and volume that fabric-injector reads or writes.

These names are an interface between versions (tests/core/test_names.py pins them): a change serves
both forms for one minor version.
"""

from typing import Final

PREFIX: Final = "fabric-injector.io/"

PROFILE: Final = "fabric-injector.io/profile"
"""Label on a namespace or pod (admin, user): name of the profile. A pod's overrides its
namespace's; ``none`` leaves the pod, or the namespace's pods, as they are."""
PROFILE_NONE: Final = "none"
MODE: Final = "fabric-injector.io/mode"
"""Label on a namespace (admin): ``observe`` decides, logs, counts and warns, but changes and denies
nothing: for a first roll-out."""
MODE_OBSERVE: Final = "observe"
CONTAINER: Final = "fabric-injector.io/container"
"""Annotation on a pod (user, else webhook): name of the training container."""
JOB: Final = "fabric-injector.io/job"
"""Label on a pod (webhook): the job's key, equal on all members of one process group."""
RENDEZVOUS: Final = "fabric-injector.io/rendezvous"
"""Label on a pod (webhook): ``master`` or ``worker``."""
CLAIMS: Final = "fabric-injector.io/claims"
"""Label on a pod (webhook): ``referenced``, where it names ResourceClaimTemplates of ours; the
controller finds such pods by it."""
CLAIMS_REFERENCED: Final = "referenced"
LEFT_ALONE: Final = "fabric-injector.io/left-alone"
"""Label and annotation on a pod (webhook): that a number was not certain, and what to write; the
controller finds such pods by it."""
CLAIM: Final = "fabric-injector.io/claim"
"""Label on a ResourceClaimTemplate (controller): which claim of a profile it is the template of."""
STATUS: Final = "fabric-injector.io/status"
"""Annotation on a pod (webhook): one line of JSON for people: profile and its revision, version,
what was injected, what was left and why."""
CHOSEN_BY_NAMESPACE: Final = "namespace"
"""chosenBy of the status, where the namespace's label names the profile."""
RENDEZVOUS_NETWORK: Final = "fabric-injector.io/rendezvous-network"
"""Annotation on a pod (webhook): ``namespace/name@interface/family`` whose address counts;
``name@interface/family`` of GKE's networks, which are in no namespace."""
ADDRESS_SOURCE: Final = "fabric-injector.io/address-source"
"""Annotation on a pod (webhook): the source of its secondary address, ``gke`` or ``claim``; missing
where that is Multus' network-status."""
WAITS_FOR: Final = "fabric-injector.io/waits-for"
"""Annotation on a pod (webhook): what its wait step needs,
``master-addr,local-addr,nccl-ib-hca,ucx-net-devices``. The controller publishes rank 0's address to
every pod of the job. It publishes the pod's own address and devices where this names them."""
MASTER_ADDR: Final = "fabric-injector.io/master-addr"
"""Annotation on a pod (controller; webhook where known): rank 0's secondary address, bare."""
MASTER_HOST: Final = "fabric-injector.io/master-host"
"""Annotation on a pod (controller; webhook where known): the same, in brackets if IPv6, for use
before ``:port``."""
LOCAL_ADDR: Final = "fabric-injector.io/local-addr"
"""Annotation on a pod (controller): the pod's own secondary address, bare."""
NCCL_IB_HCA: Final = "fabric-injector.io/nccl-ib-hca"
"""Annotation on a pod (controller): the pod's own RDMA devices as NCCL_IB_HCA takes them,
``=mlx5_4,mlx5_7``; where none is named ``=``, by which NCCL takes all."""
UCX_NET_DEVICES: Final = "fabric-injector.io/ucx-net-devices"
"""Annotation on a pod (controller): the same as UCX_NET_DEVICES takes them, ``mlx5_4:1,mlx5_7:1``;
``all`` where none is named."""

MASTER_NAME: Final = "fabric-injector.io/master-name"
"""Annotation on a pod (webhook): the name of rank 0 that its variables held. The controller
publishes it in place of an address where rank 0 has no pod."""
UNREACHABLE: Final = "fabric-injector.io/unreachable"
"""Annotation on a pod (webhook, where the profile says so): ``fail`` ends the wait for a rank 0
that does not appear."""
UNREACHABLE_FAIL: Final = "fail"
WAIT_ENDS: Final = "fabric-injector.io/wait-ends"
"""Annotation on a pod (controller): why its wait step is to end without an address; empty once that
no longer holds."""

ADDED_DEVICES: Final = "fabric-injector.io/added-devices"
"""Annotation on a pod (webhook, with ``existingDevices: add``): ``rdma/a=2,rdma/b=1``, so that a
later pass adds nothing more."""

NETWORKS: Final = "k8s.v1.cni.cncf.io/networks"
"""Annotation on a pod (user, webhook): the networks that Multus attaches."""
DEFAULT_NETWORK: Final = "v1.multus-cni.io/default-network"
"""Annotation on a pod (user): the network that replaces the cluster network on eth0."""
NETWORK_STATUS: Final = "k8s.v1.cni.cncf.io/network-status"
"""Annotation on a pod (Multus): what was attached, with addresses."""
NETWORKS_STATUS: Final = "k8s.v1.cni.cncf.io/networks-status"
"""Annotation on a pod (Multus up to v3.9.3): the older key of network-status."""
GKE_NETWORKING: Final = "networking.gke.io/"
"""Beginning of the annotations on a pod by which GKE is asked for interfaces."""
GKE_INTERFACES: Final = "networking.gke.io/interfaces"
"""Annotation on a pod (user, profile): the interfaces that GKE makes, ``[{"interfaceName": "eth1",
"network": "rdma-0"}]``."""
GKE_DEFAULT_INTERFACE: Final = "networking.gke.io/default-interface"
"""Annotation on a pod (user, profile): which of them has the default route; without it GKE makes
none."""
GKE_POD_IPS: Final = "networking.gke.io/pod-ips"
"""Annotation on a pod (GKE): the addresses on them, ``[{"networkName": "rdma-0", "ip":
"10.128.0.7"}]``."""
RESOURCE_NAME: Final = "k8s.v1.cni.cncf.io/resourceName"
"""Annotation on a NetworkAttachmentDefinition (network operator): device resource of an attachment;
comma lists split."""
NODE_SELECTOR: Final = "k8s.v1.cni.cncf.io/nodeSelector"
"""Annotation on a NetworkAttachmentDefinition (admin): nodes that have the network."""
INSTANCE_TYPE: Final = "node.kubernetes.io/instance-type"
"""Label on a node (cloud provider): its type, ``p5.48xlarge``."""
POD_SECURITY_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
"""Label on a namespace (admin): PodSecurity level that refuses pods."""
ISTIO_EXCLUDE_INTERFACES: Final = "traffic.sidecar.istio.io/excludeInterfaces"
"""Annotation on a pod (user, webhook): interfaces that Istio's redirection leaves alone."""
ISTIO_INJECT: Final = "sidecar.istio.io/inject"
"""Label or annotation on a pod (user): ``true`` or ``false``, asks for Istio's sidecar."""
ISTIO_INJECTION: Final = "istio-injection"
"""Label on a namespace (admin): ``enabled`` asks for Istio's sidecar."""
ISTIO_REVISION: Final = "istio.io/rev"
"""Label on a namespace or pod: asks for the sidecar of that Istio revision."""

WAIT_CONTAINER: Final = "fabric-injector-wait"
"""Init container (webhook): waits until the published addresses have reached the pod."""
WAIT_VOLUME: Final = "fabric-injector-addresses"
"""Downward-API volume (webhook): one file for each published address."""
WAIT_MOUNT_PATH: Final = "/etc/fabric-injector"
NCCL_CONF_VOLUME: Final = "fabric-injector-nccl-conf"
"""emptyDir volume (webhook): the wait container writes nccl.conf there, the training container
mounts it at /etc/nccl.conf."""
NCCL_CONF_PATH: Final = "/etc/nccl.conf"
NCCL_CONF_WRITE_PATH: Final = "/etc/fabric-injector-nccl"
INTERFACES_OF_EVERY_POD: Final = ("lo", "eth0")
"""What every pod with a network of its own has, whatever is attached."""
SHM_VOLUME: Final = "fabric-injector-shm"
"""emptyDir volume (webhook): tmpfs at /dev/shm."""
SHM_MOUNT_PATH: Final = "/dev/shm"
ISTIO_INIT_CONTAINER: Final = "istio-init"
"""Init container (Istio): writes the redirection rules, with the excluded interfaces that it was
made with."""
ISTIO_PROXY_CONTAINER: Final = "istio-proxy"
"""Container or sidecar (Istio): the proxy."""

ENV_MASTER_NAME: Final = "FABRIC_INJECTOR_MASTER_NAME"
"""Variable (webhook): the address that the operator or user had written, so that a later pass finds
the same rank 0."""
ENV_ADDRESS_ANNOTATION: Final = "FABRIC_INJECTOR_ADDRESS_ANNOTATION"
"""Variable (webhook) of the wait container: annotation or place to look at where no address comes,
unless that is network-status."""
ENV_NCCL_CONF: Final = "FABRIC_INJECTOR_NCCL_CONF"
"""Variable (webhook) of the wait container: the lines that it writes before those of the image's
own /etc/nccl.conf."""

ENV_NCCL_SOCKET_IFNAME: Final = "NCCL_SOCKET_IFNAME"
"""Variable (webhook, unless the user set it): comma list of prefixes; leading ``=`` exact, ``^``
excluded."""
ENV_GLOO_SOCKET_IFNAME: Final = "GLOO_SOCKET_IFNAME"
"""Variable (webhook, unless the user set it): comma list of exact interface names."""
ENV_NCCL_IB_HCA: Final = "NCCL_IB_HCA"
"""Variable (webhook, where the profile asks and the user set none): RDMA devices, a list of
prefixes with ``=`` and ``^`` as above."""
ENV_UCX_NET_DEVICES: Final = "UCX_NET_DEVICES"
"""Variable (webhook, where the profile asks and the user set none): RDMA devices with their port,
and interfaces; or ``all``."""
ENV_NCCL_IB_GID_INDEX: Final = "NCCL_IB_GID_INDEX"
"""Variable (user): which address of an RDMA device NCCL uses; it is never set by us, since it
differs from pod to pod."""
ENV_UCX_TLS: Final = "UCX_TLS"
"""Variable (user): the transports of UCX."""
ENV_NCCL_CONF_FILE: Final = "NCCL_CONF_FILE"
"""Variable (user): another file that NCCL reads before /etc/nccl.conf."""
ENV_NCCL_IB_DISABLE: Final = "NCCL_IB_DISABLE"
"""Variable (user): other than 0, NCCL uses no RDMA device."""
ENV_NCCL_NET: Final = "NCCL_NET"
"""Variable (user): the network plugin of NCCL; ``Socket`` uses no RDMA device."""

ROTATE: Final = "fabric-injector.io/rotate"
"""Annotation on the certificates' Secret (admin, by ``certs rotate``): ``serving`` or ``authority``
is to be renewed now."""
TLS_SECRET: Final = "fabric-injector-tls"  # noqa: S105  # a name
"""Secret (controller): authorities, serving certificate and keys."""
CONFIG_MAP: Final = "fabric-injector-config"
"""ConfigMap (admin) that webhook and controller mount where it exists: the Configuration."""
CONFIG_FILE: Final = "config.yaml"
"""Key of that ConfigMap, and name of the file."""
SERVICE: Final = "fabric-injector"
"""Service (admin) by which the API server calls the webhook."""
WEBHOOK_CONFIGURATION: Final = "zz-fabric-injector"
"""MutatingWebhookConfiguration (admin; caBundle by the controller); sorts after ``lws-``."""
MUTATE_PATH: Final = "/mutate"
"""Where the API server sends reviews of pods."""

OWN_LABELS = (JOB, RENDEZVOUS, CLAIMS, LEFT_ALONE)
"""Labels that are set or removed at CREATE, never trusted."""
OWN_ANNOTATIONS = (
    STATUS,
    RENDEZVOUS_NETWORK,
    ADDRESS_SOURCE,
    WAITS_FOR,
    MASTER_ADDR,
    MASTER_HOST,
    LOCAL_ADDR,
    NCCL_IB_HCA,
    UCX_NET_DEVICES,
    MASTER_NAME,
    UNREACHABLE,
    WAIT_ENDS,
    ADDED_DEVICES,
    LEFT_ALONE,
)
"""Annotations that are set or removed at CREATE, never trusted."""
FOREIGN_STALE_ANNOTATIONS = (NETWORK_STATUS, NETWORKS_STATUS)
"""Annotations that a manifest saved from a live pod carries and that only Multus may write: removed
at CREATE."""
