"""Recognise JobSets whose user wrote the address of rank 0.

JobSet itself sets no rendezvous variable; its pods are Jobs' pods, so that the ownerReference is not the JobSet's.
Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go, pkg/controllers/jobset_controller.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.endpoint import first_label
from webhook.core.workloads.indexed_job import COMPLETION_INDEX
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "jobset"
PREFIX = "jobset.sigs.k8s.io/"
NAME = "jobset.sigs.k8s.io/jobset-name"
UID = "jobset.sigs.k8s.io/jobset-uid"
REPLICATED_JOB = PREFIX + "replicatedjob-name"
_JOB = ".+-[0-9]+-"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a JobSet; None for other pods."""
    return describe(pod, labels, SYSTEM, None) if NAME in labels else None


def describe(
    pod: Object,
    labels: Mapping[str, str],
    system: str,
    container: str | None,
    *,
    by_operator: bool = False,
) -> TrainingPod | NotTraining:
    """Describe a member of a JobSet, also of one that another controller made.

    Rank 0 is the coordinator, where the JobSet names one, or the first pod of the only role; else the first pod of each role may be.
    """
    jobset = labels[NAME]
    coordinator = first_label(labels.get(PREFIX + "coordinator", ""))
    is_first = labels.get(PREFIX + "job-index") == "0" and completion_index(pod) == "0"
    replicas = labels.get(PREFIX + "global-replicas")
    has_one_role = by_operator or (
        replicas is not None and replicas == labels.get(PREFIX + "replicatedjob-replicas")
    )
    return describe_training_pod(
        pod,
        system=system,
        name=jobset,
        job_id=labels.get(UID) or jobset,
        attempt=labels.get(PREFIX + "restart-attempt", ""),
        container=container,
        rank_zero=coordinator or None,
        is_rank_zero=coordinator == podspec.own_name(pod)
        if coordinator
        else is_first and has_one_role,
        is_candidate=is_first and not coordinator,
        belongs=numbered(jobset, _JOB),
        by_operator=by_operator,
        kind="" if by_operator else f"JobSet {jobset}",
    )


def completion_index(pod: Object) -> str | None:
    """Return the index that the Job gave the pod: always an annotation, since Kubernetes 1.28 a label too."""
    return podspec.annotations(pod).get(COMPLETION_INDEX)
