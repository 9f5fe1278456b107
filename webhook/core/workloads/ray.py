"""Recognise the nodes of Ray clusters; ranks inside Ray find each other at run time.

Source: ray-project/kuberay ray-operator/controllers/ray/utils/constant.go, common/pod.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Object, Reason
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "raycluster"
NODE_TYPE = "ray.io/node-type"
CLUSTER = "ray.io/cluster"
ORIGIN = "ray.io/originated-from-cr-name"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a head or worker of a RayCluster; None for other pods."""
    node_type = labels.get(NODE_TYPE)
    if node_type == "head" and not find_pod_accelerator(pod):
        return NotTraining(
            Reason.ROLE, "the Ray head asks for no accelerator: it only manages the workers", SYSTEM
        )
    if (
        node_type == "worker"
        and not find_pod_accelerator(pod)
        and not any(map(podspec.claims, podspec.containers(pod)))
    ):
        message = (
            "the Ray worker asks for no accelerator: nothing says that what Ray runs on it trains"
        )
        return NotTraining(Reason.ROLE, message, SYSTEM)
    if node_type in ("head", "worker"):
        message = "Ray chooses MASTER_ADDR at run time from the node addresses that it registered"
        return TrainingPod(SYSTEM, f"ray-{node_type}", None, Reason.NO_PROCESS_GROUP, message)
    if ORIGIN in labels or CLUSTER in labels:
        return NotTraining(Reason.ROLE, "the Ray submitter runs no rank of the job", SYSTEM)
    return None
