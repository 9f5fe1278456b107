"""Nodes of a cluster, each with a kubelet that keeps its Lease and its pods' status, and runs what stands for their containers."""

import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from types import TracebackType
from typing import Any, Protocol, Self

import urllib3

from tests.waiting import wait_until

from .client import Client, RequestFailed
from .objects import made

LEASE_SECONDS = 10.0
"""How often a kubelet renews its Lease, by default."""
PERIOD_SECONDS = 0.1
LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases"
STRATEGIC = {"Content-Type": "application/strategic-merge-patch+json"}


class Container(Protocol):
    """What runs for a pod."""

    def is_ready(self) -> bool:
        """Tell whether its readiness probe would succeed."""

    def end(self) -> None:
        """End it as a kubelet does, and return once it has ended."""

    def freeze(self) -> None:
        """Let it answer nobody from now on, as on a node without power."""


class Idle:
    """A container that is ready at once and does nothing."""

    def is_ready(self) -> bool:
        """Give true."""
        return True

    def end(self) -> None:
        """Do nothing."""

    def freeze(self) -> None:
        """Do nothing."""


Run = Callable[[Mapping[str, Any], str], Container]
"""Starts what stands for the container of a pod, with the pod's address."""


class Node:
    """A node and its kubelet, from entering the `with` block until it is left or the node dies."""

    def __init__(
        self,
        api: Client,
        number: int,
        labels: Mapping[str, str] | None = None,
        cpu: str = "16",
        run: Run = lambda pod, address: Idle(),
    ) -> None:
        """Prepare it; its name and its pods' addresses follow from the number."""
        self.name = f"node-{number}"
        self._api, self._number, self._cpu, self._run = api, number, cpu, run
        self._labels = {
            "kubernetes.io/hostname": self.name,
            "kubernetes.io/os": "linux",
            **(labels or {}),
        }
        self._containers: dict[str, tuple[str, Container]] = {}
        self._ready: dict[str, bool] = {}
        self._ending: dict[str, threading.Thread] = {}
        self._made = 0
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

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Remove the node, and its pods, as the garbage collector does some time later; its containers end."""
        self._stop()
        for _, container in list(self._containers.values()):
            container.end()
        for path in (
            f"{LEASES}/{self.name}",
            f"/api/v1/nodes/{self.name}",
            *map(_path, self._pods()),
        ):
            self._api.request("DELETE", f"{path}?gracePeriodSeconds=0")

    def die(self) -> None:
        """Lose its power: nothing of it answers or writes any more."""
        self._ended.set()
        for _, container in list(self._containers.values()):
            container.freeze()
        self._stop()

    def _stop(self) -> None:
        self._ended.set()
        for thread in (*self._threads, *self._ending.values()):
            if thread.ident is not None:
                thread.join(60)

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
                if uid not in self._ending:
                    self._ending[uid] = threading.Thread(
                        target=self._end, args=(uid, path), daemon=True
                    )
                    self._ending[uid].start()
                continue
            if uid not in self._containers:
                self._made += 1
                address = f"10.244.{self._number}.{self._made}"
                self._containers[uid] = address, self._run(pod, address)
            address, container = self._containers[uid]
            ready = container.is_ready()
            if self._ready.get(uid) != ready and not self._ended.is_set():
                self._api.expect(
                    "PATCH",
                    f"{path}/status",
                    {"status": _status(pod, address, ready=ready)},
                    STRATEGIC,
                )
                self._ready[uid] = ready

    def _pods(self) -> list[dict[str, Any]]:
        found = self._api.expect("GET", f"/api/v1/pods?fieldSelector=spec.nodeName={self.name}")
        return list(found["items"])

    def _end(self, uid: str, path: str) -> None:
        _, container = self._containers.pop(uid, ("", Idle()))
        container.end()
        if not self._ended.is_set():
            self._api.request(
                "DELETE", path, {"gracePeriodSeconds": 0, "preconditions": {"uid": uid}}
            )


def _path(pod: Mapping[str, Any]) -> str:
    return f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"


def _status(pod: Mapping[str, Any], address: str, *, ready: bool) -> dict[str, Any]:
    now = _now()
    condition = {"status": str(ready), "lastTransitionTime": now}
    container = {"ready": ready, "started": True, "restartCount": 0}
    states = [
        {
            **container,
            "name": each["name"],
            "image": each["image"],
            "imageID": each["image"],
            "state": {"running": {"startedAt": now}},
        }
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
        self._api = api
        self._path = (
            f"/apis/apps/v1/namespaces/fabric-injector/deployments/fabric-injector-{component}"
        )
        self._component = component
        self._rolled = 0

    def nodes(self) -> list[str]:
        """Give the node of each of its pods that is not being deleted."""
        selector = f"app.kubernetes.io/component%3D{self._component}"
        pods = self._api.expect(
            "GET", f"/api/v1/namespaces/fabric-injector/pods?labelSelector={selector}"
        )["items"]
        return [
            each["spec"].get("nodeName", "")
            for each in pods
            if not each["metadata"].get("deletionTimestamp")
        ]

    def wait(self, seconds: float = 60) -> list[str]:
        """Wait until the newest version alone runs, whole; give its pods' nodes."""
        wait_until(self._is_complete, f"{self._component} to be rolled out", seconds)
        return self.nodes()

    def roll(self) -> list[str]:
        """Replace its pods as `kubectl rollout restart` does; give the nodes of the new ones."""
        self.begin()
        return self.wait()

    def begin(self) -> None:
        """Begin to replace its pods."""
        self._rolled += 1
        annotations = {"kubectl.kubernetes.io/restartedAt": f"{_now()}-{self._rolled}"}
        self._api.expect(
            "PATCH", self._path, {"spec": {"template": {"metadata": {"annotations": annotations}}}}
        )

    def _is_complete(self) -> bool:
        found = self._api.expect("GET", self._path)
        status, wanted = found.get("status", {}), found["spec"]["replicas"]
        counts = [
            status.get(key, 0) for key in ("replicas", "updatedReplicas", "availableReplicas")
        ]
        current = status.get("observedGeneration") == found["metadata"]["generation"]
        return current and counts == [wanted] * 3 and len(self.nodes()) == wanted
