"""Recognise the PyTorchJobs of Kubeflow's training operator v1, with the labels of all its versions, and its other jobs.

Source: kubeflow/trainer release-1.9 pkg/apis/kubeflow.org/v1/common_types.go, pkg/controller.v1/pytorch.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads import replica_types
from webhook.core.workloads.training_pod import TrainingPod

SYSTEM = "pytorchjob"
PREFIX = "training.kubeflow.org/"
JOB_NAME = "training.kubeflow.org/job-name"
_ELASTIC_ENDPOINT = frozenset(("PET_RDZV_ENDPOINT",))


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | None:
    """Describe a pod of the training operator; None for pods of other systems."""
    job = labels.get(JOB_NAME) or labels.get("pytorch-job-name")
    if job is None and labels.get(replica_types.GROUP_NAME) == "kubeflow.org":
        job = labels.get(replica_types.JOB_NAME)
    if job is None:
        return None
    operator = labels.get(PREFIX + "operator-name") or ""
    kind = podspec.controller(pod).get("kind") or ""
    if (kind and kind != "PyTorchJob") or (operator and operator != "pytorchjob-controller"):
        message = f"{kind or operator} forms no torch process group"
        return TrainingPod("kubeflow", None, None, Reason.NO_PROCESS_GROUP, message)
    return replica_types.describe(
        pod,
        system=SYSTEM,
        container="pytorch",
        job=job,
        rank_zero="worker-0",  # a job with a Master has its address on every pod
        is_rank_zero=_is_rank_zero(labels),
        kept_on_master=_ELASTIC_ENDPOINT,
    )


def _is_rank_zero(labels: Mapping[str, str]) -> bool:
    """Apply the operator's rule: ``job-role=master`` is on the Master, else on Worker 0; MPI launchers carry it too."""
    for prefix in (PREFIX, "", "pytorch-"):
        kind = labels.get(prefix + "replica-type", "").lower()
        if kind == "master":
            return True
        if kind:
            return kind == "worker" and "master" in (labels.get(PREFIX + "job-role"), labels.get("job-role"))
    return False
