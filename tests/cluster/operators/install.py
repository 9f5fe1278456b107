"""An operator as it ships: its manifests, accounts and webhooks, its program in a pod."""

from collections.abc import Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from socket import create_connection

import yaml

from tests.cluster.assets import OPERATORS, operator_programs, operator_source
from tests.cluster.node.archive import Image, docker_archive, layer
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.cluster.pki import Authority
from webhook.core.model import Object

ADMISSION_OF_VOLCANO = "volcano-admission-service.volcano-system.svc"
SECRET_OF_VOLCANO = ("create", "secret", "generic", "volcano-admission-secret")
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/default"
FIRST = ("Namespace", "CustomResourceDefinition")
LEFT_OUT = ("Job", "APIService")
"""Volcano's Job that makes a certificate by a script; what Kueue tells beside the API."""
IMAGE = "fabric-injector.test/{}:1"
APPLY = ("apply", "--server-side", "--force-conflicts", "-f", "-")


def install(node: Node, name: str) -> None:
    """Install an operator; return once its webhooks are served."""
    operator, programs = OPERATORS[name], operator_programs(name)
    space, kubectl = Namespace(node, operator["namespace"]), node.control_plane.kubectl
    node.operators.append(space.name)
    for deployment, path in programs.items():
        manager = layer({"manager": path})
        image = Image(IMAGE.format(deployment), (manager,), ("/manager",), user="65532")
        node.containerd.import_images(docker_archive((image,)))
    manifests = list(_manifests(node, name))
    rest = [one for one in manifests if one["kind"] not in FIRST]
    for one in rest:
        if one["kind"] == "Deployment":
            _run_program(one, operator.get("arguments", []))
    kubectl(*APPLY, input=yaml.safe_dump_all(one for one in manifests if one not in rest))
    if name == "volcano":
        keys = Authority().write(node.folder / name, [ADMISSION_OF_VOLCANO])
        kubectl(*SECRET_OF_VOLCANO, f"--from-file={keys}", f"--namespace={space.name}")
    kubectl(*APPLY, input=yaml.safe_dump_all(rest))
    space.wait(partial(_are_ready, space), f"{', '.join(programs)} to be ready")
    configurations = (one for one in manifests if one["kind"].endswith("WebhookConfiguration"))
    for webhook in (webhook for one in configurations for webhook in one["webhooks"]):
        service = webhook["clientConfig"]["service"]["name"]
        space.wait(partial(_is_served, space, service), f"webhooks at {service}")
    if name == "volcano":
        space.wait(lambda: _is_queue_open(node), "the queue that Volcano makes to be open for jobs")


def _manifests(node: Node, name: str) -> Iterator[Object]:
    operator, source = OPERATORS[name], operator_source(name)
    own = Path(__file__).parent / operator["manifests"]
    path = own if own.exists() else source / operator["manifests"]
    kubectl = node.control_plane.kubectl
    text = kubectl("kustomize", str(path)).stdout if path.is_dir() else path.read_text()
    for shipped, edited in operator.get("edits", {}).items():
        assert text.count(shipped) == 1, f"{name} has another {shipped!r}"
        text = text.replace(shipped, edited)
    definitions = operator.get("definitions")
    files = (source / definitions).glob("*.yaml") if definitions else ()
    for each in (*(path.read_text() for path in sorted(files)), text):
        for manifest in yaml.safe_load_all(each):
            if manifest and manifest["kind"] not in LEFT_OUT:
                yield manifest


def _run_program(deployment: Object, arguments: list[str]) -> None:
    """Let a Deployment run the program that was built, once."""
    deployment["spec"]["replicas"] = 1
    pod = deployment["spec"]["template"]["spec"]
    pod["nodeSelector"] = {"kubernetes.io/hostname": NAME}  # its image is on no other node
    for container in pod["containers"]:
        image = IMAGE.format(deployment["metadata"]["name"])
        container |= {"image": image, "imagePullPolicy": "IfNotPresent", "resources": {}}
        container["args"] = [*container.get("args", []), *arguments]


def _is_queue_open(node: Node) -> bool:
    found = node.api.request("GET", QUEUE)
    return found.status == 200 and found.json.get("status", {}).get("state") == "Open"


def _are_ready(space: Namespace) -> bool:
    deployments = space.items("deployments", "apis/apps/v1")
    return all(one.get("status", {}).get("readyReplicas") for one in deployments)


def _is_served(space: Namespace, service: str) -> bool:
    """Tell whether a Service accepts connections: pods are ready before they have a certificate."""
    for found in space.items("endpointslices", "apis/discovery.k8s.io/v1"):
        if found["metadata"]["labels"]["kubernetes.io/service-name"] == service:
            for endpoint in found["endpoints"] or []:
                with suppress(OSError):
                    place = endpoint["addresses"][0], found["ports"][0]["port"]
                    create_connection(place, timeout=1).close()
                    return True
    return False
