"""A cluster of one node or more that run pods: control plane, kubelets, containerd, Multus."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Self

from tests.cluster.client import Client
from tests.cluster.controlplane import ROUTED, ControlPlane
from tests.cluster.processes import Server
from tests.cluster.relay import Relay

from .cni import configure
from .containerd import Containerd, running_containerd
from .images import archive
from .kubelet import NAME, kubelet
from .links import Links
from .linux_namespaces import LinuxNamespaces
from .names import names


class Node:
    """A running cluster, from entering the `with` block until it is left.

    `api` is the administrator's client; `containerds` are those of its nodes, by name, `containerd`
    that of the first. The API server calls webhooks at the endpoints of their Service. It listens
    on loopback only, so the address of its own Service is a relay's on the pods' bridge.
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
        """LinuxNamespaces whose pods are described where a test fails."""
        self.containerds: dict[str, Containerd] = {}
        self._containerd_programs = containerd
        self._controllers = (
            [] if collects_garbage else ["--controllers=*,-garbage-collector-controller"]
        )
        self.links = Links()
        self.control_plane = ControlPlane(
            folder / "control-plane",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range={self.links.services}",
            ROUTED,
            addresses=[self.links.api_service],
        )
        self.namespaces = LinuxNamespaces(folder / "private")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start everything; return once the node is Ready and knows the images."""
        (self.folder / "control-plane").mkdir(parents=True)
        with self._stack as stack:
            plane = stack.enter_context(self.control_plane)
            plane.start_controller_manager(*self._controllers)
            plane.start_scheduler()
            stack.enter_context(self.links)
            stack.enter_context(names(self.api, self.links.gateway))
            stack.callback(Relay(plane.port, (self.links.api_service, 443)).close)
            self._start_worker(stack, self.namespaces, self.folder, NAME)
            stack.callback(self._end_all)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """End all pods, then stop everything and remove links and mounts."""
        self._stack.close()

    @contextmanager
    def another(self, name: str) -> Iterator[Containerd]:
        """Run one more node of this name; when the block is left, it is gone, as with its power."""
        folder = self.folder / name
        folder.mkdir()
        with ExitStack() as stack:
            yield self._start_worker(stack, LinuxNamespaces(folder / "private"), folder, name)

    @property
    def api(self) -> Client:
        """Give the administrator's client."""
        return self.control_plane.api

    @property
    def containerd(self) -> Containerd:
        """Give the container runtime of the first node."""
        return self.containerds[NAME]

    def start(self, command: Sequence[str], log: str) -> Server:
        """Start a server among the node's own programs, whose files it shares."""
        return self.namespaces.start(command, self.folder / log)

    def run(self, *command: str) -> str:
        """Run a command where the node's own programs run, to its end, and give its output."""
        return self.namespaces.run(*command)

    def end_pods(self, namespace: str) -> None:
        """Remove all pods of the namespace at once, finalizers or not."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        for pod in self.api.expect("GET", path)["items"]:
            one = f"{path}/{pod['metadata']['name']}"
            self.api.request("PATCH", one, {"metadata": {"finalizers": None}})
            self.api.request("DELETE", f"{one}?gracePeriodSeconds=0")

    def _start_worker(
        self, stack: ExitStack, namespaces: LinuxNamespaces, folder: Path, name: str
    ) -> Containerd:
        """Start what runs pods; return once the node is Ready and knows the images."""
        plane, links = self.control_plane, self.links
        stack.enter_context(namespaces)
        cni = configure(plane, links, folder / "cni", self.folder / "addresses")
        containerd = stack.enter_context(
            running_containerd(namespaces, folder / "containerd", cni, self._containerd_programs)
        )
        self.containerds[name] = containerd
        containerd.import_images(archive())
        place = folder / "kubelet"
        stack.enter_context(kubelet(plane, namespaces, links, containerd, place, name))
        return containerd

    def _end_all(self) -> None:
        self.control_plane.stop_controller_manager()
        for namespace in self.api.expect("GET", "/api/v1/namespaces")["items"]:
            self.end_pods(namespace["metadata"]["name"])
        self.containerd.wait_until_idle()
