"""Nodes of a cluster, and what calls their pods ready as kubelets do; nothing runs in them."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from tests.waiting import wait_until

from .client import Client
from .mounts import again_and_again
from .objects import made

READY = {"type": "Ready", "status": "True"}


def make_node(
    api: Client, name: str, offered: dict[str, str], labels: Mapping[str, str] | None = None
) -> str:
    """Register a node to which pods may be bound at once; give its path."""
    node, path = made("v1 Node", name), f"/api/v1/nodes/{name}"
    own = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    node["metadata"]["labels"] = own | dict(labels or {})
    api.expect("POST", "/api/v1/nodes", node)
    status = {"capacity": offered, "allocatable": offered, "conditions": [READY]}
    api.expect("PATCH", f"{path}/status", {"status": status})
    api.expect("PATCH", path, {"spec": {"taints": None}})
    return path


@contextmanager
def kubelets(api: Client) -> Iterator[None]:
    """Call the pods that are bound to nodes ready, and let those that are deleted end."""

    def look() -> None:
        for pod in api.expect("GET", "/api/v1/pods")["items"]:
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            if not pod["spec"].get("nodeName"):
                continue
            if metadata.get("deletionTimestamp"):
                gone = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
                api.request("DELETE", path, gone)
            elif pod["status"]["phase"] == "Pending":
                status = {"phase": "Running", "conditions": [READY]}
                api.request("PATCH", f"{path}/status", {"status": status})

    with again_and_again(look, 0.1):
        yield


class Deployed:
    """One of our Deployments on these nodes."""

    def __init__(self, api: Client, component: str) -> None:
        deployments = "/apis/apps/v1/namespaces/fabric-injector/deployments"
        self._api, self._component = api, component
        self._path = f"{deployments}/fabric-injector-{component}"

    def begin(self) -> None:
        """Begin to replace its pods, as `kubectl rollout restart` does."""
        annotations = {"kubectl.kubernetes.io/restartedAt": str(time.time_ns())}
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
