"""A one-node cluster: control plane with scheduler and controller manager, and a node that runs pods with Multus."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.assets import node_assets
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server
from tests.cluster.relay import Relay

from .cni import configure
from .containerd import Containerd
from .images import archive
from .kubelet import NAME, Kubelet
from .kubeproxy import KubeProxy
from .links import Links
from .names import Names
from .namespaces import Namespaces

SECONDS_TO_END_PODS = 40


class Node:
    """A running cluster, from entering the `with` block until it is left. `api` is the administrator's client.

    Services route by kube-proxy, for pods and for the API server, which calls webhooks at their Service's address as in life. It
    listens on loopback alone, so its Service leads to a relay on the pods' bridge.
    """

    def __init__(
        self, folder: Path, *, runs_operators: bool = False, containerd: Path | None = None
    ) -> None:
        """Prepare one that keeps data, keys and logs in the folder.

        For *runs_operators* what has lost its owner is collected as garbage; else pods may name owners that do not exist.
        *containerd*: the folder of the containerd to run, where it is not to be the machine's.
        """
        self.folder = folder
        self._containerd_programs = containerd
        self._controllers = (
            [] if runs_operators else ["--controllers=*,-garbage-collector-controller"]
        )
        self.links = Links()
        self.control_plane = ControlPlane(
            folder / "control-plane",
            "--kubelet-preferred-address-types=InternalIP",
            f"--service-cluster-ip-range={self.links.services}",
            f"--advertise-address={self.links.gateway}",
            addresses=[self.links.api_service, self.links.gateway],
        )
        self.namespaces = Namespaces(folder / "private")
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Start everything; return once the node is Ready and knows the images."""
        (self.folder / "control-plane").mkdir(parents=True)
        with self._stack as stack:
            stack.enter_context(self.control_plane)
            self.control_plane.start_controller_manager(*self._controllers)
            self.control_plane.start_scheduler()
            stack.enter_context(self.links)
            stack.enter_context(Names(self.api, self.links.gateway))
            port = self.control_plane.port
            stack.callback(Relay(port, (self.links.gateway, port)).close)
            self.containerd = self._start_worker(stack, self.namespaces, self.folder, NAME)
            stack.enter_context(
                KubeProxy(self.control_plane, self.links, self.folder / "kube-proxy")
            )
            stack.callback(self._end_all)
            self._stack = stack.pop_all()
        return self

    @contextmanager
    def another(self, name: str) -> Iterator[Containerd]:
        """Run one more node of this name in the cluster; when the block is left, the machine under it is gone, as its power is."""
        folder = self.folder / name
        folder.mkdir()
        with ExitStack() as stack:
            yield self._start_worker(stack, Namespaces(folder / "private"), folder, name)

    def _start_worker(
        self, stack: ExitStack, namespaces: Namespaces, folder: Path, name: str
    ) -> Containerd:
        """Start what runs pods, whose state lies in the folder, and return once the node is Ready and knows the images."""
        programs = node_assets()
        stack.enter_context(namespaces)
        cni = configure(
            self.control_plane,
            self.links,
            folder / "cni",
            programs["multus"],
            self.folder / "addresses",
        )
        containerd = stack.enter_context(
            Containerd(namespaces, folder / "containerd", cni, self._containerd_programs)
        )
        containerd.import_images(archive())
        plane, links = self.control_plane, self.links
        stack.enter_context(
            Kubelet(
                programs["kubelet"], plane, namespaces, links, containerd, folder / "kubelet", name
            )
        )
        return containerd

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End all pods, then stop everything and remove links and mounts."""
        self._stack.close()

    @property
    def api(self) -> Client:
        """Give the administrator's client."""
        return self.control_plane.api

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

    def _end_all(self) -> None:
        self.control_plane.stop_controller_manager()
        for namespace in self.api.expect("GET", "/api/v1/namespaces")["items"]:
            self.end_pods(namespace["metadata"]["name"])
        self.containerd.wait_until_idle(SECONDS_TO_END_PODS)
