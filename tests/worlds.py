"""Make clusters for tests: namespaces, networks and masters from a few words."""

from __future__ import annotations

import json
from collections.abc import Mapping

from tests.profiles import profiles
from webhook.core import names
from webhook.core.model import Object
from webhook.world.objects import ObjectsWorld

PROFILES = profiles("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
rails:
  networks: [{network: rails/rail-0}, {network: rails/rail-1}]
everything:
  pods: all
  networks: [{network: default/rdma-net, resource: rdma/hca}]
here-only:
  allowedNamespaces: [here]
""")


def namespace(name: str = "train", profile: str | None = "shared", **labels: str) -> Object:
    """Return a Namespace with the profile label; *labels* with dots and dashes as ``mode="observe"`` of our own prefix."""
    found = {f"{names.PREFIX}{key}": value for key, value in labels.items()}
    if profile is not None:
        found[names.PROFILE] = profile
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": found}}


def network(name: str, resource: str = "", ipam: Mapping[str, str] | None = None) -> Object:
    """Return a NetworkAttachmentDefinition; *name* is ``namespace/name``."""
    space, _, short = name.partition("/")
    config = {
        "type": "macvlan",
        "ipam": {"type": "nv-ipam", "poolName": "pool"} if ipam is None else ipam,
    }
    annotations = {names.RESOURCE_NAME: resource} if resource else {}
    metadata = {"name": short, "namespace": space, "annotations": annotations}
    spec = {"config": json.dumps(config)}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": metadata,
        "spec": spec,
    }


def world(*more: Object, profile: str | None = "shared", **labels: str) -> ObjectsWorld:
    """Return a cluster with namespace ``train`` and the networks that PROFILES names."""
    rails = [network(f"rails/rail-{number}", f"nvidia.com/rail_{number}") for number in range(2)]
    return ObjectsWorld(
        [namespace("train", profile, **labels), network("default/rdma-net"), *rails, *more]
    )
