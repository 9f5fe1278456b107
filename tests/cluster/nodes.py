"""Nodes of a cluster, and what calls their pods ready as kubelets do; nothing runs in them."""

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from .client import Client
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
        for pod in api.expect("GET", "/api/v1/pods?fieldSelector=spec.nodeName%21%3D")["items"]:
            metadata = pod["metadata"]
            path = f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
            if metadata.get("deletionTimestamp"):
                gone = {"gracePeriodSeconds": 0, "preconditions": {"uid": metadata["uid"]}}
                api.request("DELETE", path, gone)
            elif pod["status"]["phase"] == "Pending":
                status = {"phase": "Running", "conditions": [READY]}
                api.request("PATCH", f"{path}/status", {"status": status})

    with again_and_again(look, 0.1):
        yield


@contextmanager
def again_and_again(work: Callable[[], None], period: float) -> Iterator[None]:
    """Do the work in a thread until the block is left, with pauses of *period* seconds."""
    ended = threading.Event()

    def run() -> None:
        while not ended.wait(period):
            work()

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(30)
