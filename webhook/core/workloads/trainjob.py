"""Recognise the TrainJobs of Kubeflow Trainer v2.

A TrainJob becomes a JobSet of its name; none of its own labels reaches the pods, so it is known by the names that Trainer reserves.
Source: kubeflow/trainer pkg/constants/constants.go, pkg/runtime/framework/plugins/torch/torch.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.accelerators import find_accelerator
from webhook.core.model import Object, Reason
from webhook.core.workloads import jobset
from webhook.core.workloads.addresses import find_addresses
from webhook.core.workloads.arguments import command_text
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "trainjob"
_NODE = "node"
_INITIALIZERS = frozenset(("dataset-initializer", "model-initializer"))


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a TrainJob; None for other JobSets and other pods."""
    role = labels.get(jobset.REPLICATED_JOB)
    if role is None or jobset.NAME not in labels:
        return None
    containers = podspec.containers(pod)
    if not any(container.get("name") == role for container in containers):
        return None
    if role in _INITIALIZERS:
        return NotTraining(Reason.ROLE, f"the {role} prepares files and is not a rank of the job", SYSTEM)
    if role == "launcher":
        if not any(find_accelerator(container) for container in containers):
            return NotTraining(
                Reason.ROLE, "the MPI launcher asks for no accelerator: it only starts the nodes", SYSTEM
            )
    elif role != _NODE:
        return None
    addresses = find_addresses(pod)
    if not addresses and not _is_torch(pod):
        message = "the TrainJob's runtime names no torch address of rank 0"
        return TrainingPod(SYSTEM, role, None, Reason.NO_PROCESS_GROUP, message)
    return jobset.describe(pod, labels, SYSTEM, _NODE, addresses, jobset.completion_index(pod) == "0")


def _is_torch(pod: Object) -> bool:
    return "torchrun" in command_text(pod) or any(
        podspec.has_env(container, "PET_NNODES") for container in podspec.containers(pod)
    )
