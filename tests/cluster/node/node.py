"""A cluster of one node or more that run pods: control plane, kubelets, containerd, Multus."""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from tests.cluster.assets import cache_folder
from tests.cluster.controlplane import API_ADDRESS, ROUTED, ControlPlane
from tests.cluster.relay import Relay

from .cni import GATEWAY, SERVICES, configure, links
from .containerd import Containerd, running_containerd
from .images import archive
from .kubelet import NAME, kubelet
from .names import names
from .private import private, run


class Node:
    """A running cluster, from entering the `with` block until it is left; one on a machine.

    `containerd` is that of the first node, `containerds` are all by name. The API server calls
    webhooks at the endpoints of their Service. It listens on loopback only, so the address of its
    own Service is a relay's on the pods' bridge.
    """

    def __init__(
        self, folder: Path, *, collects_garbage: bool = False, containerd: Path | None = None
    ) -> None:
        """Prepare one that keeps data, keys and logs in the folder.

        *collects_garbage*: what has lost its owner goes, as operators need; else pods may name
        owners that do not exist. *containerd*: the folder of the one to run, None: the machine's.
        """
        self.folder = folder
        self.operators: list[str] = []
        """Namespaces whose pods are described where a test fails."""
        self.containerds: dict[str, Containerd] = {}
        self._programs = containerd
        left_out = "" if collects_garbage else ",-garbage-collector-controller"
        self._controllers = f"--controllers=*{left_out}"
        self.control_plane = ControlPlane(
            folder / "control-plane",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range={SERVICES}",
            ROUTED,
        )
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start everything; return once the node is Ready and knows the images."""
        (self.folder / "control-plane").mkdir(parents=True)
        with self._stack as stack:
            lock = stack.enter_context((cache_folder() / "node.lock").open("w"))
            fcntl.flock(lock, fcntl.LOCK_EX)  # the links of another cluster have the same names
            plane = stack.enter_context(self.control_plane)
            plane.start_controller_manager(self._controllers)
            plane.start_scheduler()
            stack.enter_context(links())
            self.api = plane.api
            stack.enter_context(names(self.api, GATEWAY))
            stack.callback(Relay(plane.port, (API_ADDRESS, 443)).close)
            self.containerd = stack.enter_context(self.another(NAME))
            stack.callback(self._end_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    @contextmanager
    def another(self, name: str) -> Iterator[Containerd]:
        """Run a node of this name, with the images; when the block is left, its power is off."""
        folder = self.folder / name
        configure(self.control_plane, folder)
        with ExitStack() as stack:
            inside = stack.enter_context(private(folder, self.folder / "addresses"))
            running = running_containerd(inside, folder, self._programs)
            containerd = self.containerds[name] = stack.enter_context(running)
            containerd.import_images(archive())
            stack.enter_context(kubelet(self.control_plane, inside, folder, name))
            yield containerd

    def inside(self, *command: str) -> list[str]:
        """Give what runs the command among the first node's own programs, whose files it shares."""
        return [*self.containerd.inside, *command]

    def run(self, *command: str) -> str:
        """Run a command there to its end, and give its output."""
        return run(self.inside(*command))

    def end_pods(self, namespace: str) -> None:
        """Remove all pods of the namespace at once, finalizers or not."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        for pod in self.api.expect("GET", path)["items"]:
            one = f"{path}/{pod['metadata']['name']}"
            self.api.request("PATCH", one, {"metadata": {"finalizers": None}})
            self.api.request("DELETE", f"{one}?gracePeriodSeconds=0")

    def _end_all(self) -> None:
        self.control_plane.stop("kube-controller-manager")
        for namespace in self.api.expect("GET", "/api/v1/namespaces")["items"]:
            self.end_pods(namespace["metadata"]["name"])
        self.containerd.wait_until_idle()
