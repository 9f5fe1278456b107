"""Tell whether a pod has the fabric already: injected, by its owner's own hand, or by the node's network."""

from __future__ import annotations

import re
from collections.abc import Collection
from enum import StrEnum
from functools import lru_cache

from webhook.core import names, podspec
from webhook.core.accelerators import is_accelerator
from webhook.core.injection.devices import claims_of_devices
from webhook.core.model import Object
from webhook.diagnose.injected import is_injected

_DEVICE = re.compile(
    r".*(?:rdma|roce|sriov|hostdev|infiniband|mlnx)"  # rdma/hca_a, openshift.io/mlnxnics
    r"|vpc\.amazonaws\.com/efa"
    r"|networking\.gke\.io\.networks/"
    r"|[^/]+/(?:.*[^a-z])?(?:hca|nic|vf|ib|rail|hfi|efa)s?(?:[^a-z].*)?$",
    re.IGNORECASE,
)
_FOLDER = "/dev/infiniband"


class Transport(StrEnum):
    """Say by what a job reaches other nodes; a word of the JSON document, so the set is closed."""

    POD_NETWORK = "pod-network"
    INJECTED = "injected"
    OWN_FABRIC = "own-fabric"
    CLAIMS = "claims"
    HOST_NETWORK = "host-network"
    OPTED_OUT = "opted-out"


PRECEDENCE = (
    Transport.INJECTED,
    Transport.OPTED_OUT,
    Transport.OWN_FABRIC,
    Transport.HOST_NETWORK,
    Transport.CLAIMS,
    Transport.POD_NETWORK,
)
"""What a job uses whose pods differ: what the first of these does that any of them does."""


def find_transport(pod: Object, known: Collection[str] = ()) -> Transport:
    """Say what one pod uses, by what it asks for; *known*: resources that networks and profiles of the cluster name."""
    if is_injected(pod):
        return Transport.INJECTED
    if podspec.labels(pod).get(names.PROFILE) == names.PROFILE_NONE:
        return Transport.OPTED_OUT
    if podspec.annotations(pod).get(names.NETWORKS) or any(
        _has_device(container, known) for container in podspec.running_containers(pod)
    ):
        return Transport.OWN_FABRIC
    if _opens_host_devices(pod):
        return Transport.OWN_FABRIC
    if podspec.is_host_network(pod):
        return Transport.HOST_NETWORK
    if any(claims_of_devices(pod, container) for container in podspec.containers(pod)):
        return Transport.CLAIMS
    return Transport.POD_NETWORK


@lru_cache(maxsize=1024)
def is_fabric_device(resource: str) -> bool:
    """Tell whether a resource name is that of a network card for RDMA: ``rdma/hca_shared``, ``vpc.amazonaws.com/efa``."""
    return "/" in resource and _DEVICE.match(resource) is not None and not is_accelerator(resource)


def _has_device(container: Object, known: Collection[str]) -> bool:
    asked = {**podspec.limits(container), **podspec.requests(container)}
    return any(
        quantity not in ("0", 0) and (resource in known or is_fabric_device(resource))
        for resource, quantity in asked.items()
    )


def _opens_host_devices(pod: Object) -> bool:
    """Tell whether a privileged container mounts the node's RDMA devices: it needs nobody to give it one."""
    mounted = {
        volume.get("name")
        for volume in podspec.volumes(pod)
        if str((volume.get("hostPath") or {}).get("path") or "").startswith(_FOLDER)
    }
    return bool(mounted) and any(
        (container.get("securityContext") or {}).get("privileged")
        and any(mount.get("name") in mounted for mount in podspec.mounts(container))
        for container in podspec.containers(pod)
    )
