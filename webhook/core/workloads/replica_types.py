"""Describe the pods of operators that name them ``<job>-master-0`` and ``<job>-worker-<n>``: Kubeflow v1, KubeDL, torch-on-k8s."""

from __future__ import annotations

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.model import Object, Reason
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

GROUP_NAME = "group-name"
"""Label that names the operator, not the job."""
JOB_NAME = "job-name"
_HELPERS = {
    "ps": "the parameter server",
    "server": "the parameter server",
    "scheduler": "the scheduler",
    "launcher": "the MPI launcher",
}
"""Replica types that store weights or start others, and train only with an accelerator of their own."""


def describe(
    pod: Object,
    *,
    system: str,
    container: str,
    job: str,
    rank_zero: str = "master-0",
    is_rank_zero: bool,
) -> TrainingPod | NotTraining:
    """Describe a member whose job is owned by a custom resource that is the pod's controller.

    *rank_zero*: the pod that leads where none holds an address, ``master-0``.
    """
    return describe_training_pod(
        pod,
        system=system,
        name=job,
        job_id=podspec.controller(pod).get("uid") or job,
        container=container,
        rank_zero=f"{job}-{rank_zero}",
        is_rank_zero=is_rank_zero,
        belongs=numbered(job, "[a-z]+-"),
        by_operator=True,
    )


def why_no_rank(pod: Object, *, system: str, replica_type: str) -> NotTraining | None:
    """Say of a replica that only helps the ranks, and asks for no accelerator, why it is left alone; None for others."""
    helper = _HELPERS.get(replica_type)
    if helper is None or find_pod_accelerator(pod):
        return None
    return NotTraining(
        Reason.ROLE, f"{helper} asks for no accelerator: it is not a rank of the job", system
    )
