"""Recognise the PyTorchJobs of Kubeflow's training operator v1, with the labels of all its versions, and its other jobs.

Source: kubeflow/trainer release-1.9 pkg/apis/kubeflow.org/v1/common_types.go, pkg/controller.v1/pytorch.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads import replica_types
from webhook.core.workloads.replica_types import GROUP_NAME, describe, why_no_rank
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "pytorchjob"
PREFIX = "training.kubeflow.org/"
JOB_NAME = "training.kubeflow.org/job-name"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of the training operator; None for pods of other systems."""
    job = labels.get(JOB_NAME) or labels.get("pytorch-job-name")
    if job is None and labels.get(GROUP_NAME) == "kubeflow.org":
        job = labels.get(replica_types.JOB_NAME)
    if job is None:
        return None
    operator = labels.get(PREFIX + "operator-name") or ""
    kind = podspec.controller(pod).get("kind") or ""
    if (kind and kind != "PyTorchJob") or (operator and operator != "pytorchjob-controller"):
        message = f"{kind or operator} forms no torch process group"
        return why_no_rank(
            pod, system="kubeflow", replica_type=_replica_type(labels)
        ) or TrainingPod("kubeflow", None, None, Reason.NO_PROCESS_GROUP, message)
    return describe(
        pod,
        system=SYSTEM,
        container="pytorch",
        job=job,
        rank_zero="worker-0",  # a job with a Master has its address on every pod
        is_rank_zero=_is_rank_zero(labels),
    )


def _is_rank_zero(labels: Mapping[str, str]) -> bool:
    """Apply the operator's rule: ``job-role=master`` is on the Master, else on Worker 0; MPI launchers carry it too."""
    kind = _replica_type(labels)
    return kind == "master" or (
        kind == "worker" and "master" in (labels.get(PREFIX + "job-role"), labels.get("job-role"))
    )


def _replica_type(labels: Mapping[str, str]) -> str:
    """Return ``master``, ``worker``, ``ps``…, whichever generation of the operator wrote it; empty where none has."""
    kinds = (labels.get(prefix + "replica-type", "").lower() for prefix in (PREFIX, "", "pytorch-"))
    return next(filter(None, kinds), "")
