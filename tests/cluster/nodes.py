"""Nodes of a cluster, each with a kubelet that keeps its Lease and calls its pods ready; nothing runs in them."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Self

import urllib3

from tests.waiting import wait_until

from .client import Client, RequestFailed
from .objects import made

LEASE_SECONDS = 10.0
"""How often a kubelet renews its Lease, by default."""
PERIOD_SECONDS = 0.1
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}


class Node:
    """A node and its kubelet, from entering the `with` block until it is left."""

    def __init__(
        self,
        api: Client,
        number: int,
        labels: Mapping[str, str] | None = None,
        cpu: str = "16",
    ) -> None:
        """Prepare it; its name and its pods' addresses follow from the number."""
        self.name = f"node-{number}"
        self._api, self._number, self._cpu = api, number, cpu
        own = {"kubernetes.io/hostname": self.name, "kubernetes.io/os": "linux"}
        self._labels = {**own, **(labels or {})}
        self._ready: set[str] = set()
        self._ended = threading.Event()
        self._threads = [
            threading.Thread(target=self._repeat, args=each, daemon=True)
            for each in ((self._renew, LEASE_SECONDS), (self._sync, PERIOD_SECONDS))
        ]

    def __enter__(self) -> Self:
        """Register the node, and return once pods may be bound to it."""
        now, path = _now(), f"/api/v1/nodes/{self.name}"
        resources = {"cpu": self._cpu, "memory": "64Gi", "pods": "110"}
        node = {"metadata": {"name": self.name, "labels": self._labels}}
        self._api.expect("POST", "/api/v1/nodes", {"apiVersion": "v1", "kind": "Node", **node})
        ready = {"type": "Ready", "status": "True", "reason": "KubeletReady"}
        conditions = [{**ready, "lastHeartbeatTime": now}]
        status = {"capacity": resources, "allocatable": resources, "conditions": conditions}
        self._api.expect("PATCH", f"{path}/status", {"status": status}, STRATEGIC)
        spec = {"holderIdentity": self.name, "leaseDurationSeconds": 40, "renewTime": now}
        lease = made("coordination.k8s.io/v1 Lease", self.name, spec=spec)
        self._api.expect("POST", LEASES, lease)
        for thread in self._threads:
            thread.start()
        wait_until(
            lambda: not self._api.expect("GET", path)["spec"].get("taints"),
            "the node to lose its taints",
        )
        return self

    def __exit__(self, *_: object) -> None:
        """Remove the node, and its pods, as the garbage collector does some time later."""
        self._ended.set()
        for thread in self._threads:
            if thread.ident is not None:
                thread.join(60)
        paths = (f"{LEASES}/{self.name}", f"/api/v1/nodes/{self.name}", *map(_path, self._pods()))
        for path in paths:
            self._api.request("DELETE", f"{path}?gracePeriodSeconds=0")

    def _repeat(self, work: Callable[[], None], period: float) -> None:
        while not self._ended.wait(period):
            with suppress(urllib3.exceptions.HTTPError, RequestFailed):  # a kubelet tries again
                work()

    def _renew(self) -> None:
        self._api.expect("PATCH", f"{LEASES}/{self.name}", {"spec": {"renewTime": _now()}})

    def _sync(self) -> None:
        for pod in self._pods():
            uid, path = pod["metadata"]["uid"], _path(pod)
            if pod["metadata"].get("deletionTimestamp"):
                options = {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
                self._api.request("DELETE", path, options)
            elif uid not in self._ready:
                address = f"10.244.{self._number}.{len(self._ready) + 1}"
                status = {"status": _status(pod, address)}
                self._api.expect("PATCH", f"{path}/status", status, STRATEGIC)
                self._ready.add(uid)

    def _pods(self) -> list[dict[str, Any]]:
        found = self._api.expect("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")
        return list(found["items"])


def _path(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _status(pod: Mapping[str, Any], address: str) -> dict[str, Any]:
    now = _now()
    condition = {"status": "True", "lastTransitionTime": now}
    running: dict[str, Any] = {"ready": True, "started": True, "restartCount": 0}
    running |= {"state": {"running": {"startedAt": now}}}
    states = [
        {**running, "name": each["name"], "image": each["image"], "imageID": each["image"]}
        for each in pod["spec"]["containers"]
    ]
    return {
        "phase": "Running",
        "podIP": address,
        "podIPs": [{"ip": address}],
        "startTime": now,
        "conditions": [{"type": kind, **condition} for kind in ("Ready", "ContainersReady")],
        "containerStatuses": states,
    }


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


class Deployed:
    """One of our Deployments on these nodes."""

    def __init__(self, api: Client, component: str) -> None:
        deployments = "/apis/apps/v1/namespaces/fabric-injector/deployments"
        self._api, self._component, self._rolled = api, component, 0
        self._path = f"{deployments}/fabric-injector-{component}"

    def begin(self) -> None:
        """Begin to replace its pods, as `kubectl rollout restart` does."""
        self._rolled += 1
        annotations = {"kubectl.kubernetes.io/restartedAt": f"{_now()}-{self._rolled}"}
        template = {"metadata": {"annotations": annotations}}
        self._api.expect("PATCH", self._path, {"spec": {"template": template}})

    def wait(self, seconds: float = 60) -> list[str]:
        """Wait until the newest version alone runs, whole; give its pods' nodes."""
        wait_until(self._is_complete, f"{self._component} to be rolled out", seconds)
        return self._nodes()

    def _nodes(self) -> list[str]:
        selector = f"app.kubernetes.io/component%3D{self._component}"
        path = f"/api/v1/namespaces/fabric-injector/pods?labelSelector={selector}"
        return [
            each["spec"].get("nodeName", "")
            for each in self._api.expect("GET", path)["items"]
            if not each["metadata"].get("deletionTimestamp")
        ]

    def _is_complete(self) -> bool:
        found = self._api.expect("GET", self._path)
        status, wanted = found.get("status", {}), found["spec"]["replicas"]
        counts = [
            status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
        ]
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return current and counts == [wanted] * 3 and len(self._nodes()) == wanted
