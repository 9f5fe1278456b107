"""An operator in the cluster as it ships: its manifests, accounts and webhooks, its program in a pod."""

import base64
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from socket import create_connection
from typing import Any

import yaml

from tests.cluster.client import RequestFailed
from tests.cluster.node.archive import Image, docker_archive, layer
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.pki import Authority
from tests.waiting import NotReady, wait_until
from webhook.core.model import Object

from .builds import built, source
from .programs import VOLCANO, Operator

SECONDS = 180
ADMISSION_OF_VOLCANO = "volcano-admission-service.volcano-system.svc"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
LEFT_OUT = ("Job", "APIService")
"""Volcano's Job that makes a certificate by a script of its image; what Kueue would tell of its queues beside the API."""


class Installer:
    """Installs operators on one node."""

    def __init__(self, node: Node, folder: Path) -> None:
        self._node = node
        self._folder = folder
        self._installed: dict[str, Operator] = {}

    def install(self, operator: Operator) -> None:
        """Install the operator unless it is there, and return once its pods are ready: its webhooks are then served."""
        if operator.name in self._installed:
            return
        programs = built(operator)
        self._node.containerd.import_images(
            docker_archive(tuple(_image(name, path) for name, path in programs.items()))
        )
        manifests = list(self._manifests(operator))
        first = [
            one for one in manifests if one["kind"] in ("Namespace", "CustomResourceDefinition")
        ]
        self._apply(first)
        if operator is VOLCANO:
            self._give_certificate(operator.namespace)
        self._apply([self._runnable(one, operator) for one in manifests if one not in first])
        for deployment in operator.programs:
            self._wait_until_ready(operator.namespace, deployment)
        for service in _webhook_services(manifests):
            self._wait_until_served(operator.namespace, service)
        if operator is VOLCANO:
            wait_until(
                self._is_queue_open, "the queue that Volcano makes to be open for jobs", SECONDS
            )
        self._installed[operator.name] = operator

    def describe(self) -> list[str]:
        """Give what the operators' pods wrote last."""
        return [self.logs(operator.namespace) for operator in self._installed.values()]

    def _manifests(self, operator: Operator) -> Iterator[Object]:
        path = source(operator) / operator.manifests
        text = (
            self._node.control_plane.kubectl("kustomize", str(path)).stdout
            if path.is_dir()
            else path.read_text()
        )
        for shipped, edited in operator.edits.items():
            assert text.count(shipped) == 1, (
                f"{operator.name} {operator.version} has another {shipped!r}"
            )
            text = text.replace(shipped, edited)
        folder = source(operator) / operator.definitions
        texts = (
            [path.read_text() for path in sorted(folder.glob("*.yaml"))]
            if operator.definitions
            else []
        )
        for manifest in (one for each in (*texts, text) for one in yaml.safe_load_all(each)):
            if manifest and manifest["kind"] not in LEFT_OUT:
                yield manifest

    def _apply(self, manifests: list[Object]) -> None:
        arguments = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        self._node.control_plane.kubectl(*arguments, input=yaml.safe_dump_all(manifests))

    def _give_certificate(self, namespace: str) -> None:
        folder = Authority("volcano's admission").write(
            self._folder / "volcano", [ADMISSION_OF_VOLCANO]
        )
        data = {
            name: base64.b64encode((folder / name).read_bytes()).decode()
            for name in ("tls.crt", "tls.key", "ca.crt")
        }
        metadata = {"name": "volcano-admission-secret", "namespace": namespace}
        self._node.api.ensure(
            {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        )

    def _runnable(self, manifest: Object, operator: Operator) -> Object:
        """Let a Deployment run the program that was built, once."""
        if manifest["kind"] != "Deployment":
            return manifest
        manifest["spec"]["replicas"] = 1
        pod = manifest["spec"]["template"]["spec"]
        pod["nodeSelector"] = {"kubernetes.io/hostname": NAME}  # its image is on no other node
        for container in pod["containers"]:
            container |= {
                "image": _name(manifest["metadata"]["name"]),
                "imagePullPolicy": "IfNotPresent",
            }
            container.pop("resources", None)
            container["args"] = [*container.get("args", []), *operator.arguments]
        return manifest

    def _wait_until_ready(self, namespace: str, deployment: str) -> None:
        api = self._node.api
        path = f"/apis/apps/v1/namespaces/{namespace}/deployments/{deployment}"
        rounds = iter(range(1_000_000))

        def ready() -> bool:
            found = api.expect("GET", path)
            self._touch_pods(namespace, str(next(rounds)))
            return bool(found.get("status", {}).get("readyReplicas"))

        try:
            wait_until(ready, f"{deployment} to be ready", SECONDS, interval=3)
        except NotReady as problem:
            raise NotReady(f"{problem}\n{self.logs(namespace)}") from None

    def _is_queue_open(self) -> bool:
        found = self._node.api.request("GET", QUEUE)
        return found.status == 200 and found.json.get("status", {}).get("state") == "Open"

    def _wait_until_served(self, namespace: str, service: str) -> None:
        """Wait until a Service accepts connections: a pod may be ready before its webhooks have a certificate."""
        wait_until(
            lambda: self._is_served(namespace, service),
            f"webhooks at {service}",
            SECONDS,
            interval=1,
        )

    def _is_served(self, namespace: str, service: str) -> bool:
        found = self._node.api.expect("GET", f"/api/v1/namespaces/{namespace}/services/{service}")[
            "spec"
        ]
        self._touch_pods(namespace, service)
        with suppress(OSError):
            create_connection((found["clusterIP"], found["ports"][0]["port"]), timeout=1).close()
            return True
        return False

    def _touch_pods(self, namespace: str, value: str) -> None:
        """Let the kubelet look at the pods again: it brings a changed Secret, such as a new certificate, only then."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        for pod in self._node.api.expect("GET", path)["items"]:
            annotations: dict[str, Any] = {
                "metadata": {"annotations": {"fabric-injector.test/round": value}}
            }
            self._node.api.request("PATCH", f"{path}/{pod['metadata']['name']}", annotations)

    def logs(self, namespace: str) -> str:
        """Give the statuses and the last lines of all pods of an operator's namespace."""
        path = f"/api/v1/namespaces/{namespace}/pods"
        lines = []
        try:
            for pod in self._node.api.expect("GET", path)["items"]:
                name = pod["metadata"]["name"]
                log = str(self._node.api.request("GET", f"{path}/{name}/log?tailLines=30").json)
                lines.append(f"--- {name} {pod['status']}\n{log}")
        except RequestFailed as problem:
            lines.append(str(problem))
        return "\n".join(lines)


def _webhook_services(manifests: list[Object]) -> list[str]:
    """Give the Services that webhooks are called at."""
    found = [one for one in manifests if one["kind"].endswith("WebhookConfiguration")]
    services = (
        webhook["clientConfig"]["service"]["name"] for one in found for webhook in one["webhooks"]
    )
    return [*dict.fromkeys(services)]


def _image(deployment: str, program: Path) -> Image:
    return Image(_name(deployment), (layer({"manager": program}),), ("/manager",), user="65532")


def _name(deployment: str) -> str:
    return f"fabric-injector.test/{deployment}:1"
