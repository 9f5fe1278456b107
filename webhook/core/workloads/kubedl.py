"""Recognise KubeDL's PyTorchJobs.

The master's own MASTER_ADDR is ``localhost``; the workers name the master's pod.
Source: kubedl-io/kubedl pkg/job_controller/api/v1/constants.go, controllers/pytorch.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.replica_types import describe
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "kubedl"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a KubeDL job; None for other pods."""
    if labels.get("group-name") != "training.kubedl.io" or "job-name" not in labels:
        return None
    kind = podspec.controller(pod).get("kind") or "PyTorchJob"
    if kind != "PyTorchJob":
        return TrainingPod(SYSTEM, None, None, Reason.NO_PROCESS_GROUP, f"{kind} forms no torch process group")
    role = labels.get("replica-type", "").lower()
    if role == "aimaster":
        return NotTraining(Reason.ROLE, "the AIMaster is no rank of the job", SYSTEM)
    return describe(pod, system=SYSTEM, container="pytorch", job=labels["job-name"], is_rank_zero=role == "master")
