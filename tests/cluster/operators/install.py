"""An operator as it ships: its manifests, accounts and webhooks, its program in a pod."""

import base64
import time
from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import create_connection

import yaml

from tests.cluster.node.archive import Image, docker_archive, layer
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.cluster.pki import Authority
from webhook.core.model import Object

from .builds import built, source
from .programs import VOLCANO, Operator

ADMISSION_OF_VOLCANO = "volcano-admission-service.volcano-system.svc"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
FIRST = ("Namespace", "CustomResourceDefinition")
LEFT_OUT = ("Job", "APIService")
"""Volcano's Job that makes a certificate by a script; what Kueue tells beside the API."""


class Installer:
    """Installs operators on one node."""

    def __init__(self, node: Node, folder: Path) -> None:
        self._node = node
        self._folder = folder
        self._installed: set[str] = set()

    def install(self, operator: Operator) -> None:
        """Install the operator unless it is there; return once its webhooks are served."""
        if operator.name in self._installed:
            return
        programs = built(operator)
        self._installed.add(operator.name)
        self._node.operators.append(operator.namespace)
        space = Namespace(self._node, operator.namespace)
        images = tuple(_image(name, path) for name, path in programs.items())
        self._node.containerd.import_images(docker_archive(images))
        manifests = list(self._manifests(operator))
        first = [one for one in manifests if one["kind"] in FIRST]
        self._apply(first)
        if operator is VOLCANO:
            self._give_certificate(operator.namespace)
        self._apply([self._runnable(one, operator) for one in manifests if one not in first])
        for deployment in operator.programs:
            space.wait(partial(_is_ready, space, deployment), f"{deployment} to be ready")
        for service in _webhook_services(manifests):
            space.wait(partial(_is_served, space, service), f"webhooks at {service}")
        if operator is VOLCANO:
            space.wait(self._is_queue_open, "the queue that Volcano makes to be open for jobs")

    def _manifests(self, operator: Operator) -> Iterator[Object]:
        path = source(operator) / operator.manifests
        kustomize = self._node.control_plane.kubectl
        text = kustomize("kustomize", str(path)).stdout if path.is_dir() else path.read_text()
        for shipped, edited in operator.edits.items():
            assert text.count(shipped) == 1, f"{operator.name} has another {shipped!r}"
            text = text.replace(shipped, edited)
        folder = source(operator) / operator.definitions
        files = sorted(folder.glob("*.yaml")) if operator.definitions else []
        texts = (*(path.read_text() for path in files), text)
        for manifest in (one for each in texts for one in yaml.safe_load_all(each)):
            if manifest and manifest["kind"] not in LEFT_OUT:
                yield manifest

    def _apply(self, manifests: list[Object]) -> None:
        arguments = ("apply", "--server-side", "--force-conflicts", "-f", "-")
        self._node.control_plane.kubectl(*arguments, input=yaml.safe_dump_all(manifests))

    def _give_certificate(self, namespace: str) -> None:
        authority = Authority("volcano's admission")
        folder = authority.write(self._folder / "volcano", [ADMISSION_OF_VOLCANO])
        files = (folder / name for name in ("tls.crt", "tls.key", "ca.crt"))
        data = {file.name: base64.b64encode(file.read_bytes()).decode() for file in files}
        metadata = {"name": "volcano-admission-secret", "namespace": namespace}
        secret = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": data}
        self._node.api.ensure(secret)

    def _runnable(self, manifest: Object, operator: Operator) -> Object:
        """Let a Deployment run the program that was built, once."""
        if manifest["kind"] != "Deployment":
            return manifest
        manifest["spec"]["replicas"] = 1
        pod = manifest["spec"]["template"]["spec"]
        pod["nodeSelector"] = {"kubernetes.io/hostname": NAME}  # its image is on no other node
        for container in pod["containers"]:
            image = _name(manifest["metadata"]["name"])
            container |= {"image": image, "imagePullPolicy": "IfNotPresent"}
            container.pop("resources", None)
            container["args"] = [*container.get("args", []), *operator.arguments]
        return manifest

    def _is_queue_open(self) -> bool:
        found = self._node.api.request("GET", QUEUE)
        return found.status == 200 and found.json.get("status", {}).get("state") == "Open"


def _is_ready(space: Namespace, deployment: str) -> bool:
    _touch_pods(space)
    found = space.api.expect(
        "GET", f"/apis/apps/v1/namespaces/{space.name}/deployments/{deployment}"
    )
    return bool(found.get("status", {}).get("readyReplicas"))


def _is_served(space: Namespace, service: str) -> bool:
    """Tell whether a Service accepts connections: pods are ready before they have a certificate."""
    _touch_pods(space)
    for found in space.items("endpointslices", "apis/discovery.k8s.io/v1"):
        if found["metadata"]["labels"]["kubernetes.io/service-name"] == service:
            for endpoint in found["endpoints"] or []:
                with suppress(OSError):
                    place = endpoint["addresses"][0], found["ports"][0]["port"]
                    create_connection(place, timeout=1).close()
                    return True
    return False


def _touch_pods(space: Namespace) -> None:
    """Let the kubelet look at the pods again: it brings a changed Secret only then."""
    for pod in space.pods():
        annotations = {"fabric-injector.test/round": str(time.monotonic())}
        space.api.request("PATCH", pod.path, {"metadata": {"annotations": annotations}})


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
