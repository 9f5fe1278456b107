"""A kubelet for one node, and the devices that it says to have."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.cluster.assets import binary
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import free_port
from tests.waiting import wait_until

from .containerd import Containerd
from .links import Links
from .linux_namespaces import LinuxNamespaces

NAME = "node1"
DEVICES = {
    "rdma/rdma_shared_device_a": "100",
    "rdma/rdma_shared_device_eth": "100",
    "nvidia.com/gpu": "800",
    "vpc.amazonaws.com/efa": "100",
    "networking.gke.io.networks/rdma-0": "100",
}
"""What no device plugin owns: a kubelet keeps such names of its node's status as they are."""
SECONDS = 120


@contextmanager
def kubelet(
    control_plane: ControlPlane,
    namespaces: LinuxNamespaces,
    links: Links,
    containerd: Containerd,
    folder: Path,
    name: str,
) -> Iterator[None]:
    """Run one for the node of this name; it is Ready and has its devices on entry.

    It answers on the address of the pods' bridge. Its pods run on when it ends.
    """
    folder.mkdir(parents=True)
    (folder / "resolv.conf").write_text("")
    settings = {
        "apiVersion": "kubelet.config.k8s.io/v1beta1",
        "kind": "KubeletConfiguration",
        "address": links.gateway,
        "port": free_port(),
        "healthzPort": 0,
        "failCgroupV1": False,
        "cgroupDriver": "cgroupfs",
        # else it would end the pods of another kubelet on this machine as orphans
        "cgroupsPerQOS": False,
        "enforceNodeAllocatable": [],
        "failSwapOn": False,
        "makeIPTablesUtilChains": False,
        "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
        "authorization": {"mode": "AlwaysAllow"},
        "evictionHard": {"nodefs.available": "1%", "imagefs.available": "1%"}
        | {"nodefs.inodesFree": "1%"},
        "imageGCHighThresholdPercent": 100,
        "containerRuntimeEndpoint": f"unix://{containerd.socket}",
        "clusterDNS": [links.gateway],
        "clusterDomain": "cluster.local",
        "resolvConf": str(folder / "resolv.conf"),
    }
    configuration = folder / "config.yaml"
    configuration.write_text(yaml.safe_dump(settings))
    command = [
        str(binary("kubelet")),
        f"--config={configuration}",
        f"--kubeconfig={control_plane.kubeconfig(folder / 'kubeconfig')}",
        f"--cert-dir={folder}",
        f"--hostname-override={name}",
        f"--node-ip={links.gateway}",
    ]
    path = f"/api/v1/nodes/{name}"
    server = namespaces.start(command, folder.with_name("kubelet.log"))
    try:
        server.wait_ready(lambda: _is_ready(control_plane.api, path), SECONDS)
        _give_devices(control_plane.api, path)
        yield
    finally:
        server.stop()


def _is_ready(api: Client, path: str) -> bool:
    found = api.request("GET", path)
    conditions = found.json["status"].get("conditions", []) if found.status == 200 else []
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _give_devices(api: Client, path: str) -> None:
    status = {"capacity": DEVICES, "allocatable": DEVICES}
    api.expect("PATCH", f"{path}/status", {"status": status})

    def kept() -> bool:
        node = api.expect("GET", path)
        taints = {taint["key"] for taint in node["spec"].get("taints", [])}
        has_devices = DEVICES.items() <= node["status"]["allocatable"].items()
        return has_devices and "node.kubernetes.io/not-ready" not in taints

    wait_until(kept, "the node to keep its devices and to lose its not-ready taint", SECONDS)
