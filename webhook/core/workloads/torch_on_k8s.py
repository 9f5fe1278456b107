"""Recognise the TorchJobs of torch-on-k8s.

Rank 0 is known by ``task-type`` alone: forks share one label map, so that workers carry ``task-role=master`` too.
Source: hliangzhao/torch-on-k8s apis/train/v1alpha1/constants.go, controllers/train.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object, Reason
from webhook.core.workloads.replica_types import GROUP_NAME, JOB_NAME, describe
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "torch-on-k8s"
GROUP = "train.distributed.io"
PREFIX = "distributed.io/"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a TorchJob; None for other pods."""
    if labels.get(GROUP_NAME) != GROUP or JOB_NAME not in labels:
        return None
    role = labels.get("task-type", "").lower()
    if role == "aimaster":
        return NotTraining(Reason.ROLE, "the AIMaster is not a rank of the job", SYSTEM)
    return describe(
        pod, system=SYSTEM, container="torch", job=labels[JOB_NAME], is_rank_zero=role == "master"
    )
