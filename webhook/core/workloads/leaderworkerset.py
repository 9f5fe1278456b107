"""Recognise LeaderWorkerSets: each group is a job of its own, its leader rank 0.

Half of the labels and all variables come from LeaderWorkerSet's own pod webhook, which runs before ours.
Source: kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go, pkg/webhooks/pod_webhook.go, pkg/utils/pod/pod_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "leaderworkerset"
PREFIX = "leaderworkerset.sigs.k8s.io/"
NAME = "leaderworkerset.sigs.k8s.io/name"
GROUP_INDEX = PREFIX + "group-index"
WORKER_INDEX = PREFIX + "worker-index"
SIZE = PREFIX + "size"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a LeaderWorkerSet; None for other pods."""
    name = labels.get(NAME)
    if name is None:
        return None
    group = labels.get(GROUP_INDEX, "")
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=f"{name}-{group}",
        job_id=f"{name}/{group}",
        rank_zero=f"{name}-{group}",
        is_rank_zero=labels.get(WORKER_INDEX) == "0",
        belongs=numbered(name),
        kind=f"LeaderWorkerSet {name}",
        is_alone=podspec.annotations(pod).get(SIZE) == "1",
    )
