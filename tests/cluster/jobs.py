"""Bare pods of a job as the webhook leaves them, and what Multus writes on them."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests import pods
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.core import names

from .client import Client

NETWORK = "default/rdma-net"
LABELLED = {names.PROFILE: "shared"}
"""Labels of a namespace in which the controller serves jobs."""
PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
""")


class Told(NamedTuple):
    """The annotations of addresses on one pod; None where missing."""

    master: str | None
    host: str | None
    local: str | None


class Job:
    """Pods of one namespace that carry one job label. ``name-0`` is rank 0."""

    def __init__(self, api: Client, namespace: str, name: str = "train") -> None:
        self.api, self.namespace, self.name = api, namespace, name
        self.master, self.key = f"{name}-0", f"{name}-0123456789"
        self._pods = f"/api/v1/namespaces/{namespace}/pods"

    def create(self, size: int) -> list[str]:
        """Create so many pods, rank 0 first; give their names."""
        return [self.create_pod(f"{self.name}-{rank}")["metadata"]["name"] for rank in range(size)]

    def create_pod(self, name: str, **metadata: Any) -> dict[str, Any]:
        """Create one pod; give it as it was created."""
        role = "master" if name == self.master else "worker"
        marks = pods.member_metadata(name, role, self.key, network=f"{NETWORK}@net1/any")
        own = {"namespace": self.namespace, **marks, **metadata}
        pod = pods.minimal_pod(metadata=own, restartPolicy="OnFailure")
        created: dict[str, Any] = self.api.expect("POST", self._pods, pod)
        return created

    def attach(self, name: str, *addresses: str) -> None:
        """Write network-status as Multus does when the pod's sandbox has been made."""
        own = {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.7"], "default": True}
        attached = {"name": NETWORK, "interface": "net1", "ips": addresses}
        status = json.dumps([own | {"dns": {}}, attached | {"dns": {}}], indent=4)
        changed = {"metadata": {"annotations": {names.NETWORK_STATUS: status}}}
        self.api.expect("PATCH", f"{self._pods}/{name}/status", changed)

    def delete(self, name: str) -> None:
        """Delete the pod at once."""
        self.api.expect("DELETE", f"{self._pods}/{name}?gracePeriodSeconds=0")

    def told(self) -> dict[str, Told]:
        """Give what each pod of the job is told, by name."""
        listed = self.api.expect("GET", f"{self._pods}?labelSelector={names.JOB}%3D{self.key}")
        keys = (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR)
        found = (pod["metadata"] for pod in listed["items"])
        return {each["name"]: Told(*map(each["annotations"].get, keys)) for each in found}

    def wait_until_told(
        self, address: str, pods: Iterable[str] | None = None, seconds: float = 60
    ) -> None:
        """Wait until the pods (all of the job) are told that rank 0 is at the address."""

        def all_told() -> bool:
            found = self.told()
            return all(found[name].master == address for name in pods or found)

        where = f"{address} on all pods of {self.namespace}/{self.name}"
        wait_until(all_told, where, seconds, interval=0.05)


def as_sent(pod: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """Give a pod of a fixture, or as it was saved, as it is created, with this *metadata* too."""
    sent = ("name", "generateName", "labels", "annotations", "ownerReferences", "finalizers")
    kept = {key: value for key, value in pod["metadata"].items() if key in sent}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": kept | metadata, "spec": spec}
