"""Recognise KubeDL's PyTorchJobs.

The master's own MASTER_ADDR is ``localhost``; the workers name the master's pod.
Source: kubedl-io/kubedl pkg/job_controller/api/v1/constants.go, controllers/pytorch.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.replica_types import GROUP_NAME, JOB_NAME, describe, why_no_rank
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "kubedl"
GROUP = "training.kubedl.io"
PREFIX = "kubedl.io/"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a KubeDL job; None for other pods."""
    if labels.get(GROUP_NAME) != GROUP or JOB_NAME not in labels:
        return None
    kind = podspec.controller(pod).get("kind") or "PyTorchJob"
    role = labels.get("replica-type", "").lower()
    if kind != "PyTorchJob":
        return why_no_rank(pod, system=SYSTEM, replica_type=role) or TrainingPod(
            SYSTEM, None, None, Reason.NO_PROCESS_GROUP, f"{kind} forms no torch process group"
        )
    if role == "aimaster":
        return NotTraining(Reason.ROLE, "the AIMaster is not a rank of the job", SYSTEM)
    return describe(
        pod, system=SYSTEM, container="pytorch", job=labels[JOB_NAME], is_rank_zero=role == "master"
    )
