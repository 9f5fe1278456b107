"""Recognise the TrainJobs of Kubeflow Trainer v2.

A TrainJob becomes a JobSet of its name, and none of its own labels reaches the pods. Users name the Jobs and containers of their own
JobSets ``node`` too, so it is known by what only Trainer writes: the variable that holds a node's index, or the volume of MPI's keys.
Source: kubeflow/trainer pkg/constants/constants.go, pkg/runtime/framework/plugins/{torch,jax,xgboost,mpi}.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Object, Reason
from webhook.core.workloads import jobset
from webhook.core.workloads.addresses import find_addresses
from webhook.core.workloads.indexed_job import COMPLETION_INDEX
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "trainjob"
_NODE = "node"
_LAUNCHER = "launcher"
_INITIALIZERS = frozenset(("dataset-initializer", "model-initializer"))
_INDEX_VARIABLES = frozenset(("PET_NODE_RANK", "JAX_PROCESS_ID", "DMLC_TASK_ID"))
_INDEX_PATH = f"metadata.annotations['{COMPLETION_INDEX}']"
_MPI_KEYS = "mpi-ssh-auth"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a TrainJob; None for other JobSets and other pods."""
    role = labels.get(jobset.REPLICATED_JOB)
    if role is None or jobset.NAME not in labels:
        return None
    containers = podspec.containers(pod)
    present = [container.get("name") for container in containers]
    if role in _INITIALIZERS and role in present:
        return NotTraining(
            Reason.ROLE, f"the {role} prepares files and is not a rank of the job", SYSTEM
        )
    if role not in (_NODE, _LAUNCHER) or not _is_of_trainer(pod):
        return None
    if role == _LAUNCHER and _NODE not in present:
        if role not in present:
            return None
        if not find_pod_accelerator(pod):
            message = "the MPI launcher asks for no accelerator: it only starts the nodes"
            return NotTraining(Reason.ROLE, message, SYSTEM)
    elif _NODE not in present:
        return None
    else:  # with runLauncherAsNode the launcher trains too, in a container that is named as those of the nodes
        role = _NODE
    if not find_addresses(pod) and not any(
        podspec.has_env(container, "PET_NNODES") for container in containers
    ):
        message = "the TrainJob's runtime names no torch address of rank 0"
        return TrainingPod(SYSTEM, role, None, Reason.NO_PROCESS_GROUP, message)
    return jobset.describe(pod, labels, SYSTEM, _NODE, by_operator=True)


def _is_of_trainer(pod: Object) -> bool:
    for volume in podspec.volumes(pod):
        if volume.get("name") == _MPI_KEYS:
            return True
    for container in podspec.containers(pod):
        for entry in podspec.env(container):
            if entry.get("name") in _INDEX_VARIABLES:
                field = (entry.get("valueFrom") or {}).get("fieldRef") or {}
                if field.get("fieldPath") == _INDEX_PATH:
                    return True
    return False
