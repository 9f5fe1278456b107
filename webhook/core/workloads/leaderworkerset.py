"""Recognise LeaderWorkerSets: each group is a job of its own, its leader rank 0.

Half of the labels and all variables come from LeaderWorkerSet's own pod webhook, which runs before ours.
Source: kubernetes-sigs/lws api/leaderworkerset/v1/leaderworkerset_types.go, pkg/webhooks/pod_webhook.go, pkg/utils/pod/pod_utils.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import find_addresses
from webhook.core.workloads.rank_zero import describe_training_pod, names_rank_zero, numbered
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
    belongs = numbered(name)
    addresses = find_addresses(pod)
    is_rank_zero = labels.get(WORKER_INDEX) == "0"
    if not names_rank_zero(pod, addresses, belongs, is_rank_zero=is_rank_zero):
        message = f"no variable or argument of this LeaderWorkerSet's pod names a leader of {name}"
        return NotTraining(Reason.NOT_TRAINING, message, SYSTEM)
    if podspec.annotations(pod).get(SIZE) == "1":
        message = "the group has one pod: its ranks need no network to meet"
        return TrainingPod(SYSTEM, None, None, Reason.SINGLE_NODE, message)
    group = labels.get(GROUP_INDEX, "")
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=f"{name}-{group}",
        job_id=f"{name}/{group}",
        is_rank_zero=is_rank_zero,
        belongs=belongs,
        addresses=addresses,
    )
