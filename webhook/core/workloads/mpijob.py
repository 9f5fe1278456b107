"""Recognise MPIJobs: of the mpi-operator (v2beta1) and of the training operator v1.

MPI passes its environment to the ranks by ``mpirun -x`` alone, so that no variable of the pod reaches them.
Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go; kubeflow/trainer release-1.9 pkg/controller.v1/mpi.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Object, Reason
from webhook.core.workloads.pytorchjob import JOB_NAME, PREFIX
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "mpijob"
_OPERATORS = frozenset(("mpi-operator", "mpijob-controller"))


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a launcher or worker of an MPIJob; None for other pods."""
    if JOB_NAME not in labels:
        return None
    if (
        labels.get(PREFIX + "operator-name") not in _OPERATORS
        and podspec.controller(pod).get("kind") != "MPIJob"
    ):
        return None
    roles = (labels.get(PREFIX + "job-role"), labels.get(PREFIX + "replica-type"))
    if "launcher" in roles and not find_pod_accelerator(pod):
        return NotTraining(
            Reason.ROLE,
            "the MPI launcher asks for no accelerator: it only starts the workers",
            SYSTEM,
        )
    message = "MPI ranks find each other by the hostfile; give them variables with mpirun -x"
    return TrainingPod(SYSTEM, None, None, Reason.NO_PROCESS_GROUP, message)
