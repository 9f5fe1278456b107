"""Jobs as their operators create them: the pods of tests/fixtures, with images that this node has."""

import json
from typing import Any

from tests import pods as fixtures
from tests.cluster.client import Client
from webhook.core.model import Object

from .images import DASH
from .pods import Pod, create

FILES = {
    "torchx": "torchx-volcano",
    "pytorchjob": "kubeflow-pytorchjob",
    "jobset": "jobset",
    "statefulset": "statefulset",
}
NAMES = {
    "torchx": "trainer-d4q9zxk1tw",
    "pytorchjob": "bert",
    "jobset": "ddp",
    "statefulset": "ddp",
}
"""The jobs of the fixtures."""


def members(system: str, name: str = "") -> list[Object]:
    """Give the manifests of a job of two pods, rank 0 first; under another name than the fixture's, where one is given."""
    manifests = [_runnable(fixtures.load(f"pods/{FILES[system]}-{rank}.yaml")) for rank in range(2)]
    renamed: list[Object] = json.loads(
        json.dumps(manifests).replace(NAMES[system], name or NAMES[system])
    )
    return renamed


def start(api: Client, system: str, namespace: str, name: str = "") -> list[Pod]:
    """Create a job of the system, the worker first, as happens in most jobs; give its pods, rank 0 first."""
    if system == "torchx":
        api.ensure(_hosts_of_torchx(name or NAMES[system]), namespace)
    return start_pods(api, members(system, name), namespace)


def start_pods(api: Client, manifests: list[Object], namespace: str) -> list[Pod]:
    """Create the pods, the last first; give them in the order of the manifests."""
    return [create(api, manifest, namespace) for manifest in reversed(manifests)][::-1]


def pytorchjob(**changes: Any) -> tuple[Object, Object]:
    """Give Master and Worker of a PyTorchJob; the worker without the init container that waits for the operator's name.

    *changes* are fields of their containers; ``env`` is a mapping, added to what is there.
    """
    master, worker = members("pytorchjob")
    del worker["spec"]["initContainers"]
    for pod in (master, worker):
        for variable, value in changes.get("env", {}).items():
            fixtures.add_env(pod, variable, value)
        pod["spec"]["containers"][0].update(
            {key: value for key, value in changes.items() if key != "env"}
        )
    return master, worker


def shells(system: str, rank_zero: str, worker: str = "") -> list[Object]:
    """Give the two pods of a job in which bash runs these texts, or one text on both.

    Each knows its own name as POD_NAME, as people write it.
    """
    pods = members(system)
    for pod, text in zip(pods, (rank_zero, worker or rank_zero), strict=True):
        fixtures.set_command(pod, "bash", "-c", text)
        own_name = {"fieldRef": {"fieldPath": "metadata.name"}}
        pod["spec"]["containers"][0]["env"].append({"name": "POD_NAME", "valueFrom": own_name})
        pod["spec"].pop("initContainers", None)
        pod["spec"]["restartPolicy"] = "Never"  # a StatefulSet's pods would never end
    return pods


def _runnable(pod: Object) -> Object:
    """Name an image that is here and a scheduler that runs; the namespace is the test's."""
    del pod["metadata"]["namespace"]
    pod["apiVersion"], pod["kind"] = "v1", "Pod"
    pod["spec"]["schedulerName"] = "default-scheduler"
    for container in (*pod["spec"].get("initContainers", []), *pod["spec"]["containers"]):
        container["image"] = DASH
    return pod


def _hosts_of_torchx(app: str) -> Object:
    """Give the ConfigMap that Volcano's svc plugin makes, to which the pods' variables refer."""
    hosts = {f"VC_TRAINER_{rank}_HOSTS": f"{app}-trainer-{rank}-0.{app}" for rank in range(2)}
    numbers = {f"VC_TRAINER_{rank}_NUM": "1" for rank in range(2)}
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": f"{app}-svc"},
        "data": hosts | numbers,
    }
