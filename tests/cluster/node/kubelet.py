"""A kubelet for one node, and the devices that it says to have."""

from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server, free_port
from tests.waiting import wait_until

from .containerd import Containerd
from .links import Links
from .namespaces import Namespaces

NAME = "node1"
DEVICES = {
    "rdma/rdma_shared_device_a": "100",
    "rdma/rdma_shared_device_eth": "100",
    "nvidia.com/gpu": "800",
    "vpc.amazonaws.com/efa": "100",
    "networking.gke.io.networks/rdma-0": "100",
}
"""What no device plugin owns: a kubelet keeps such names of its node's status as they are."""


class Kubelet:
    """Runs from entering the `with` block until it is left; the node is Ready and has its devices on entry."""

    def __init__(
        self,
        program: Path,
        control_plane: ControlPlane,
        namespaces: Namespaces,
        links: Links,
        containerd: Containerd,
        folder: Path,
        name: str = NAME,
    ) -> None:
        """Prepare one that runs pods by the containerd and answers on the address of the pods' bridge; *name*: its node's."""
        self._name, self._path = name, f"/api/v1/nodes/{name}"
        self._program = program
        self._control_plane = control_plane
        self._namespaces = namespaces
        self._address = links.gateway
        self._folder = folder
        self._settings: dict[str, Any] = {
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            "address": self._address,
            "port": free_port(),
            "healthzPort": 0,
            "failCgroupV1": False,
            "cgroupDriver": "cgroupfs",
            "cgroupsPerQOS": False,  # else it would end the pods of another kubelet on this machine as orphans
            "enforceNodeAllocatable": [],
            "failSwapOn": False,
            "makeIPTablesUtilChains": False,
            "authentication": {"anonymous": {"enabled": True}, "webhook": {"enabled": False}},
            "authorization": {"mode": "AlwaysAllow"},
            "evictionHard": dict.fromkeys(
                ("nodefs.available", "imagefs.available", "nodefs.inodesFree"), "1%"
            ),
            "imageGCHighThresholdPercent": 100,
            "containerRuntimeEndpoint": f"unix://{containerd.socket}",
            "clusterDNS": [links.gateway],
            "clusterDomain": "cluster.local",
            "resolvConf": str(folder / "resolv.conf"),
        }

    def __enter__(self) -> Self:
        """Start it, wait until the node is Ready, and give the node its devices."""
        self._folder.mkdir(parents=True)
        (self._folder / "resolv.conf").write_text("")
        configuration = self._folder / "config.yaml"
        configuration.write_text(yaml.safe_dump(self._settings))
        command = [
            str(self._program),
            f"--config={configuration}",
            f"--kubeconfig={self._control_plane.kubeconfig(self._folder / 'kubeconfig')}",
            f"--cert-dir={self._folder}",
            f"--hostname-override={self._name}",
            f"--node-ip={self._address}",
        ]
        self._server = self._namespaces.start(command, self._folder.with_name("kubelet.log"))
        with self._server.starting():
            self._server.wait_ready(self._is_ready, 90)
            self._give_devices()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop it; its pods run on."""
        self._server.stop()

    @property
    def server(self) -> Server:
        """Give the process."""
        return self._server

    def _is_ready(self) -> bool:
        found = self._control_plane.api.request("GET", self._path)
        conditions = found.json["status"].get("conditions", []) if found.status == 200 else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def _give_devices(self) -> None:
        status = {"capacity": DEVICES, "allocatable": DEVICES}
        self._control_plane.api.expect("PATCH", f"{self._path}/status", {"status": status})

        def kept() -> bool:
            node = self._control_plane.api.expect("GET", self._path)
            tainted = any(
                taint["key"] == "node.kubernetes.io/not-ready"
                for taint in node["spec"].get("taints", [])
            )
            return DEVICES.items() <= node["status"]["allocatable"].items() and not tainted

        wait_until(kept, "the node to keep its devices and to lose its not-ready taint", 30)
