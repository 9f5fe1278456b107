"""Recognise AIBrix' StormServices whose user started several nodes in them.

A StormService makes RoleSets; a role's replica is one pod, or with ``podGroupSize`` a PodSet of several, which is a job of its own.
Users compose the name of rank 0 from the variables that it sets, ``${PODSET_NAME}-0.${STORM_SERVICE_NAME}``.
Source: vllm-project/aibrix pkg/controller/constants/stormservice.go, pkg/controller/roleset/utils.go, pkg/controller/podset.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "stormservice"
PREFIX = "stormservice.orchestration.aibrix.ai/"
NAME = "storm-service-name"
ROLESET = "roleset-name"
ROLE = "role-name"
REPLICA_INDEX = PREFIX + "role-replica-index"
PODSET = "stormservice.orchestration.aibrix.ai/podset-name"
POD_INDEX = PREFIX + "pod-group-index"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a StormService; None for other pods."""
    name, roleset = labels.get(NAME), labels.get(ROLESET)
    if name is None or roleset is None:
        return None
    if podset := labels.get(PODSET):
        return describe_training_pod(
            pod,
            system=SYSTEM,
            name=podset,
            job_id=podset,
            rank_zero=f"{podset}-0",
            is_rank_zero=labels.get(POD_INDEX) == "0",
            belongs=numbered(podset),
            kind=f"StormService {name}",
        )
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=roleset,
        job_id=roleset,
        is_candidate=bool(podspec.own_name(pod)) and labels.get(REPLICA_INDEX) == "0",
        belongs=numbered(roleset, ".+-"),
        kind=f"StormService {name}",
    )
