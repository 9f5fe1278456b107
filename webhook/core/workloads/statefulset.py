"""Recognise StatefulSets whose user wrote the address of rank 0.

Source: kubernetes pkg/controller/statefulset: hostname = name = ``<statefulset>-<ordinal>``, subdomain = serviceName.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "statefulset"
POD_NAME = "statefulset.kubernetes.io/pod-name"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a StatefulSet; None for other pods."""
    owner = podspec.controller(pod)
    own = labels.get(POD_NAME)
    if owner.get("kind") != "StatefulSet" and own is None:
        return None
    name = owner.get("name") or (own or "").rpartition("-")[0]
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=name,
        job_id=owner.get("uid") or name,
        is_rank_zero=podspec.own_name(pod) == f"{name}-0",
        belongs=numbered(name),
        kind=f"StatefulSet {name}",
        names_own_pods=True,
    )
