"""Describe the pods of operators that name them ``<job>-master-0`` and ``<job>-worker-<n>``: Kubeflow v1, KubeDL, torch-on-k8s."""

from __future__ import annotations

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import TrainingPod

GROUP_NAME = "group-name"
"""Label that names the operator, not the job."""
JOB_NAME = "job-name"


def describe(
    pod: Object,
    *,
    system: str,
    container: str,
    job: str,
    rank_zero: str = "master-0",
    is_rank_zero: bool,
    kept_on_master: frozenset[str] = frozenset(),
) -> TrainingPod:
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
        kept_on_master=kept_on_master,
    )
