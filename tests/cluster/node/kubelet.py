"""A kubelet for one node, and the devices that it says to have."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cluster.assets import binary
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server, free_port
from tests.waiting import wait_until

from .cni import GATEWAY

NAME = "node1"
DEVICES = {
    "rdma/rdma_shared_device_a": "100",
    "rdma/rdma_shared_device_eth": "100",
    "nvidia.com/gpu": "800",
    "vpc.amazonaws.com/efa": "100",
    "networking.gke.io.networks/rdma-0": "100",
}
"""What no device plugin owns: a kubelet keeps such names of its node's status as they are."""
CONFIGURATION = Path(__file__).with_name("kubelet.yaml")


@contextmanager
def kubelet(plane: ControlPlane, inside: Sequence[str], folder: Path, name: str) -> Iterator[None]:
    """Run one; its node is Ready and has its devices on entry. Its pods run on when it ends."""
    command = [
        *(*inside, binary("kubelet"), f"--config={CONFIGURATION}", f"--port={free_port()}"),
        f"--kubeconfig={plane.admin}",
        f"--cert-dir={folder / 'pki'}",
        f"--hostname-override={name}",
        f"--node-ip={GATEWAY}",
    ]
    path = f"/api/v1/nodes/{name}"
    with Server(command, folder / "kubelet.log", lambda: _is_ready(plane.api, path)):
        status = {"capacity": DEVICES, "allocatable": DEVICES}
        plane.api.expect("PATCH", f"{path}/status", {"status": status})
        wait_until(lambda: _has_devices(plane.api, path), f"{name} to keep its devices", 120)
        yield


def _is_ready(api: Client, path: str) -> bool:
    found = api.request("GET", path)
    conditions = found.json["status"].get("conditions", []) if found.status == 200 else []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _has_devices(api: Client, path: str) -> bool:
    """Tell whether the node has them and has lost the taint of one that is not ready."""
    node = api.expect("GET", path)
    taints = {taint["key"] for taint in node["spec"].get("taints", [])}
    has_devices = DEVICES.items() <= node["status"]["allocatable"].items()
    return has_devices and "node.kubernetes.io/not-ready" not in taints
