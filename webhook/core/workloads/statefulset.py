"""Recognise StatefulSets whose user wrote the address of rank 0.

Source: kubernetes pkg/controller/statefulset: hostname = name = ``<statefulset>-<ordinal>``, subdomain = serviceName.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import find_addresses
from webhook.core.workloads.rank_zero import describe_training_pod, names_rank_zero, numbered
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
    belongs = numbered(name)
    addresses = find_addresses(pod)
    if not names_rank_zero(pod, addresses, belongs):
        message = f"no variable or argument of this StatefulSet's pod names a pod of {name} as rank 0"
        return NotTraining(Reason.NOT_TRAINING, message, SYSTEM)
    return describe_training_pod(
        pod, system=SYSTEM, name=name, job_id=owner.get("uid") or name, belongs=belongs, addresses=addresses
    )
