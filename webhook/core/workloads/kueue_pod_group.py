"""Recognise Kueue's groups of plain pods whose user wrote the address of rank 0.

Source: kubernetes-sigs/kueue pkg/controller/jobs/pod/constants/constants.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "kueue-pod-group"
GROUP_NAME = "kueue.x-k8s.io/pod-group-name"
GROUP_SIZE = "kueue.x-k8s.io/pod-group-total-count"
_INDEX = "kueue.x-k8s.io/pod-group-pod-index"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a plain pod group; None for other pods."""
    group = labels.get(GROUP_NAME)
    if group is None or podspec.controller(pod):
        return None

    def belongs(name: str) -> bool:
        return name == group or name.startswith(group + "-")

    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=group,
        job_id=group,
        is_rank_zero=labels.get(_INDEX) == "0",
        belongs=belongs,
        kind=f"pod group {group}",
    )
