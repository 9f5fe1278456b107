"""Recognise indexed Jobs whose user wrote the address of rank 0.

Source: kubernetes pkg/controller/job/indexed_job_utils.go: hostname ``<job>-<index>``, no metadata.name before admission ends.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "job"
JOB_NAME = "batch.kubernetes.io/job-name"
CONTROLLER_UID = "batch.kubernetes.io/controller-uid"
COMPLETION_INDEX = "batch.kubernetes.io/job-completion-index"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a Job; None for other pods."""
    owner = podspec.controller(pod)
    job = labels.get(JOB_NAME)
    if (
        job is None
        and owner.get("kind") == "Job"
        and (owner.get("apiVersion") or "").startswith("batch/")
    ):
        job = owner.get("name")
    if job is None:
        return None
    if COMPLETION_INDEX not in labels and COMPLETION_INDEX not in podspec.annotations(pod):
        return NotTraining(
            Reason.NOT_TRAINING, f"Job {job} is not indexed: its pods have no rank", SYSTEM
        )
    uid = owner.get("uid") or labels.get(CONTROLLER_UID) or job
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=job,
        job_id=uid,
        is_rank_zero=labels.get(COMPLETION_INDEX, podspec.annotations(pod).get(COMPLETION_INDEX))
        == "0",
        belongs=numbered(job),
        kind=f"Job {job}",
    )
