"""The node with operators on it: jobs are submitted, and their pods looked at as they run."""

import json
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.client import RequestFailed
from tests.cluster.node.containerd import Containerd
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, Report
from tests.cluster.webhook import Webhook, installed_command
from tests.waiting import NotReady, wait_until
from webhook.core.model import Object

from . import torchx
from .builds import built
from .install import Installer
from .programs import Operator
from .recorder import Reviews
from .torch_image import NoWheel, servers_installed, torch_archive, torch_installed

SECONDS = 480
NEWEST = "2.15.0"


class Cluster:
    """One node, our webhook, and the operators that tests have installed. `reviews` are of all pods so far."""

    def __init__(
        self,
        node: Node,
        reviews: Reviews,
        folder: Path,
        webhook: Webhook,
        capture: Any,
        unavailable: Callable[[str], NoReturn],
    ) -> None:
        self.node, self.api, self.reviews = node, node.api, reviews
        self._folder = folder
        self._webhook = webhook
        self._capture = capture
        self._unavailable = unavailable
        self._installer = Installer(node, folder)
        self._images: set[str] = set()

    def install(self, operator: Operator) -> None:
        """Build and install the operator unless it is there; skip where it cannot be had."""
        with self._told(), self._or_skip():
            built(operator)
        self._installer.install(operator)

    def torch(self, version: str = NEWEST) -> str:
        """Give the image with this version of torch, on the node; skip where it cannot be had."""
        name = f"fabric-injector.test/torch:{version}"
        if name not in self._images:
            self.bring_torch(self.node.containerd, version)
            self._images.add(name)
        return name

    def bring_torch(self, containerd: Containerd, version: str) -> None:
        """Bring the image with this version of torch to a node; skip where it cannot be had."""
        with self._told(), self._or_skip():
            folders = torch_installed(version), servers_installed()
        containerd.import_images(torch_archive(f"fabric-injector.test/torch:{version}", *folders))

    def submit(self, manifest: Object, namespace: str) -> str:
        """Create the object of an operator; give its path."""
        path = self.api.path(manifest, namespace)
        response = self.api.create(manifest, namespace)
        if response.status != 201:
            raise RequestFailed("POST", path, response)
        return f"{path}/{response.json['metadata']['name']}"

    def torchx(self, namespace: str, *arguments: str, options: Sequence[str] = ()) -> str:
        """Do `torchx run` of dist.ddp with these arguments; give what it prints. Skip where TorchX cannot be had."""
        with self._told(), self._or_skip():
            torchx.torchx()
        return torchx.run(self.kubeconfig(), namespace, *arguments, options=options)

    def kubeconfig(self) -> Path:
        """Give the administrator's kubeconfig."""
        return self.node.control_plane.kubeconfig(self._folder / "admin.kubeconfig")

    def pods(self, namespace: str, count: int) -> list[Pod]:
        """Wait until the namespace has this many pods that do not end, and give them by name."""
        found: list[Pod] = []

        def are_there() -> bool:
            found[:] = self._living(namespace)
            return len(found) == count

        try:
            wait_until(are_there, f"{count} pods", SECONDS, interval=0.5)
        except NotReady as problem:
            raise AssertionError(f"{problem}\n{self.describe(namespace)}") from None
        return found

    def reports(
        self, namespace: str, count: int, accept: Callable[[Report], bool] = lambda _: True
    ) -> list[Report]:
        """Wait until as many pods tell that they have trained, in a way that is acceptable; give what they tell, by rank."""
        found: list[Report] = []

        def told() -> bool:
            found[:] = [
                report
                for pod in self._living(namespace)
                for report in _reports(pod)
                if accept(report)
            ]
            return len(found) == count

        try:
            wait_until(told, f"{count} pods to have trained", SECONDS, interval=1)
        except NotReady as problem:
            raise AssertionError(f"{problem}\n{self.describe(namespace)}") from None
        return sorted(found, key=lambda report: int(report.train["rank"]))

    def describe(self, namespace: str) -> str:
        """Give what the namespace's pods and the operators wrote, for the message of a failed assertion."""
        pods = [f"=== {pod.name}\n{pod.describe()}" for pod in self._all(namespace)]
        return "\n".join([*pods, *self._installer.describe()])

    def kill(self, pod: Pod) -> None:
        """Kill what runs in the pod's containers, as the kernel does where memory ends; its operator sees it fail."""
        self.node.containerd.kill_containers(pod.uid)

    def predicted(self, manifest: Object, namespace: str) -> list[Object]:
        """Give what `fabric-injector dry-run` says about the manifest."""
        done = self._run(
            "dry-run",
            "-f",
            "-",
            "-o",
            "json",
            "--namespace",
            namespace,
            "--profiles",
            str(self._webhook.profiles),
            text=json.dumps(manifest),
        )
        assert done.returncode == 0, done.stdout + done.stderr
        pods: list[Object] = json.loads(done.stdout)["pods"]
        return pods

    def explained(self, target: str, namespace: str) -> Object:
        """Give what `fabric-injector explain` says about the job."""
        done = self._run("explain", target, "--namespace", namespace, "-o", "json")
        assert done.returncode in (0, 1), done.stdout + done.stderr
        found: Object = json.loads(done.stdout)
        return found

    def checked(self, namespace: str) -> list[Object]:
        """Give what `fabric-injector check` finds, looking at the pods of this namespace alone."""
        done = self._run(
            "check",
            "--profiles",
            str(self._webhook.profiles),
            "--namespace",
            namespace,
            "-o",
            "json",
        )
        assert done.returncode in (0, 1), done.stdout + done.stderr
        found: list[Object] = json.loads(done.stdout)["findings"]
        return found

    def _run(self, *arguments: str, text: str | None = None) -> subprocess.CompletedProcess[str]:
        command = installed_command()
        assert command is not None
        environment = {"KUBECONFIG": str(self.kubeconfig())}
        return subprocess.run(
            [*command, *arguments],
            input=text,
            capture_output=True,
            text=True,
            env=environment,
            timeout=60,
        )

    def _living(self, namespace: str) -> list[Pod]:
        pods = self._all(namespace)
        return [
            pod
            for pod in pods
            if "deletionTimestamp" not in pod.created["metadata"]
            and pod.created["status"]["phase"] != "Failed"
        ]

    def _all(self, namespace: str) -> list[Pod]:
        items = self.api.expect("GET", f"/api/v1/namespaces/{namespace}/pods")["items"]
        return [Pod(self.api, one, _created(one)) for one in items]

    def _told(self) -> AbstractContextManager[None]:
        told: AbstractContextManager[None] = (
            self._capture.global_and_fixture_disabled() if self._capture else nullcontext()
        )
        return told

    @contextmanager
    def _or_skip(self) -> Iterator[None]:
        try:
            yield
        except NoWheel as problem:
            pytest.skip(str(problem))
        except AssetsUnavailable as problem:
            self._unavailable(str(problem))


def _created(pod: Object) -> float:
    return datetime.fromisoformat(pod["metadata"]["creationTimestamp"]).timestamp()


def _reports(pod: Pod) -> list[Report]:
    try:
        return [pod.told()]
    except (AssertionError, RequestFailed):
        return []
