"""Jobs as their operators create them: the pods of tests/fixtures, with images of this node."""

import json
from typing import Any

from tests import pods as fixtures
from tests.cluster import objects
from tests.cluster.jobs import as_sent
from tests.cluster.objects import made
from webhook.core.model import Object

from .images import DASH
from .namespace import Namespace
from .pods import HOLD, Pod

JOBS = {
    "torchx": ("torchx-volcano", "trainer-d4q9zxk1tw"),
    "pytorchjob": ("kubeflow-pytorchjob", "bert"),
    "jobset": ("jobset", "ddp"),
    "statefulset": ("statefulset", "ddp"),
}
"""By the system: the name of its files, and that of the job in them."""


def pod(name: str, command: list[str], **container: Any) -> Object:
    """Give a pod of no job that runs the command; *container*: more fields of its container."""
    spec: Object = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 1}
    own = {"image": DASH, "command": command, **container}
    return objects.pod(name, {"app": name}, container=own, **spec)


def members(system: str, name: str = "", **changes: Any) -> list[Object]:
    """Give the manifests of a job of two pods, rank 0 first; *name*: another than the fixture's.

    *changes* are fields of their containers; ``env`` is a mapping, added to what is there.
    """
    file, own_name = JOBS[system]
    loaded = fixture_pods(file)
    pods: list[Object] = json.loads(json.dumps(loaded).replace(own_name, name or own_name))
    for each in pods:
        each["spec"]["terminationGracePeriodSeconds"] = 1
        for container in (*each["spec"].get("initContainers", []), *each["spec"]["containers"]):
            container["image"] = DASH
        for variable, value in changes.get("env", {}).items():
            fixtures.add_env(each, variable, value)
        fields = {key: value for key, value in changes.items() if key != "env"}
        each["spec"]["containers"][0].update(fields)
    return pods


def fixture_pods(file: str) -> list[Object]:
    """Give two pods of tests/fixtures as they are created, for a scheduler that runs."""
    pods = [as_sent(fixtures.load(f"pods/{file}-{rank}.yaml")) for rank in range(2)]
    for pod in pods:
        pod["spec"]["schedulerName"] = "default-scheduler"
    return pods


def start(namespace: Namespace, system: str, name: str = "") -> list[Pod]:
    """Create a job of the system, the worker first; give its pods, rank 0 first."""
    if system == "torchx":
        namespace.submit(_hosts_of_torchx(name or JOBS[system][1]))
    return namespace.start(*members(system, name))


def pytorchjob(**changes: Any) -> list[Object]:
    """Give Master and Worker of a PyTorchJob, without the init container that looks up a name."""
    master, worker = members("pytorchjob", **changes)
    del worker["spec"]["initContainers"]
    return [master, worker]


def holding(**changes: Any) -> list[Object]:
    """Give Master and Worker of a PyTorchJob that run on once they have met."""
    return pytorchjob(**{**changes, "env": {HOLD: "600", **changes.get("env", {})}})


def shells(system: str, rank_zero: str, worker: str = "") -> list[Object]:
    """Give the two pods of a job in which bash runs these texts; POD_NAME is their own name."""
    pods = members(system)
    for pod, text in zip(pods, (rank_zero, worker or rank_zero), strict=True):
        fixtures.set_command(pod, "bash", "-c", text)
        own_name = {"fieldRef": {"fieldPath": "metadata.name"}}
        pod["spec"]["containers"][0]["env"].append({"name": "POD_NAME", "valueFrom": own_name})
        pod["spec"].pop("initContainers", None)
        pod["spec"]["restartPolicy"] = "Never"  # a StatefulSet's pods would never end
    return pods


def _hosts_of_torchx(app: str) -> Object:
    """Give the ConfigMap that Volcano's svc plugin makes, to which the pods' variables refer."""
    data = {f"VC_TRAINER_{rank}_HOSTS": f"{app}-trainer-{rank}-0.{app}" for rank in range(2)}
    data |= {f"VC_TRAINER_{rank}_NUM": "1" for rank in range(2)}
    return made("v1 ConfigMap", f"{app}-svc", data=data)
