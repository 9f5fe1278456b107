"""Write the Job by which the fabric is tested: an indexed Job as users write them, that ends and goes by itself."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from webhook.core.model import Object

CONTAINER = "rank"
JOB_NAME = "batch.kubernetes.io/job-name"
_HOSTNAME = "kubernetes.io/hostname"
_QUEUE = "kueue.x-k8s.io/queue-name"
_GRACE_SECONDS = 60
"""Between the end of the test and the Job's deadline, at which pods go: the command asks first why they do not start."""
_KEPT_SECONDS = 60
"""How long a Job that is over stays where the command that made it has died."""


@dataclass(frozen=True, slots=True)
class JobSettings:
    """Say how to test: *image* of the pods, the Secrets that pull it, Kueue's *queue*, and how many *seconds* a Job may take."""

    image: str
    pull_secrets: tuple[str, ...] = ()
    queue: str = ""
    seconds: int = 180


def make_job(name: str, nodes: Sequence[str], ranks: int, settings: JobSettings) -> Object:
    """Return a Job of so many ranks, each on another of these nodes; on any nodes where none is named.

    The nodes are asked for by affinity: a pod with nodeName never passes the scheduler, which takes devices into account. The words
    after test-rank are those of a torch launcher, by which the webhook knows a training pod that asks for no accelerator.
    """
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    apart = {"labelSelector": {"matchLabels": {JOB_NAME: name}}, "topologyKey": _HOSTNAME}
    affinity: Object = {"podAntiAffinity": {required: [apart]}}
    if nodes:
        chosen = {"key": _HOSTNAME, "operator": "In", "values": list(nodes)}
        affinity["nodeAffinity"] = {required: {"nodeSelectorTerms": [{"matchExpressions": [chosen]}]}}
    words = ["test-rank", f"--seconds={settings.seconds // 2}", "torchrun", f"--nnodes={ranks}"]
    container = {
        "name": CONTAINER,
        "image": settings.image,
        "command": ["fabric-injector", *words, "--master_addr=$(MASTER_ADDR)"],
        "env": [
            {"name": "MASTER_ADDR", "value": f"{name}-0.{name}"},
            {"name": "POD_IP", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}},
        ],
        "resources": {
            "requests": {"cpu": "100m", "memory": "64Mi"},
            "limits": {"cpu": "2", "memory": "256Mi"},
        },
        "securityContext": {
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "terminationMessagePolicy": "FallbackToLogsOnError",
    }
    pod: Object = {
        "restartPolicy": "Never",
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "terminationGracePeriodSeconds": 1,
        "securityContext": {"runAsNonRoot": True, "seccompProfile": {"type": "RuntimeDefault"}},
        "affinity": affinity,
        "containers": [container],
    }
    if settings.pull_secrets:
        pod["imagePullSecrets"] = [{"name": each} for each in settings.pull_secrets]
    metadata: Object = {"name": name, "labels": {_QUEUE: settings.queue}} if settings.queue else {"name": name}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": metadata,
        "spec": {
            "completionMode": "Indexed",
            "completions": ranks,
            "parallelism": ranks,
            "backoffLimit": 0,
            "activeDeadlineSeconds": settings.seconds + _GRACE_SECONDS,
            "ttlSecondsAfterFinished": _KEPT_SECONDS,
            "template": {"metadata": {}, "spec": pod},
        },
    }
