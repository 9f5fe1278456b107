"""Recognise JobSets whose user wrote the address of rank 0.

JobSet itself sets no rendezvous variable; its pods are Jobs' pods, so that the ownerReference is not the JobSet's.
Source: kubernetes-sigs/jobset api/jobset/v1alpha2/jobset_types.go, pkg/controllers/jobset_controller.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core import podspec
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import RendezvousAddress, find_addresses
from webhook.core.workloads.endpoint import first_label
from webhook.core.workloads.indexed_job import COMPLETION_INDEX
from webhook.core.workloads.rank_zero import describe_training_pod, leads, names_rank_zero, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM = "jobset"
PREFIX = "jobset.sigs.k8s.io/"
NAME = "jobset.sigs.k8s.io/jobset-name"
UID = "jobset.sigs.k8s.io/jobset-uid"
REPLICATED_JOB = PREFIX + "replicatedjob-name"
_JOB = ".+-[0-9]+-"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a JobSet; None for other pods."""
    jobset = labels.get(NAME)
    if jobset is None:
        return None
    addresses = find_addresses(pod)
    belongs = numbered(jobset, _JOB)
    coordinator = first_label(labels.get(PREFIX + "coordinator", ""))
    is_coordinator = coordinator != "" and coordinator == podspec.own_name(pod)
    is_rank_zero = is_coordinator or (not coordinator and _is_first_of_leaders(pod, labels))
    named = names_rank_zero(pod, addresses, belongs, is_rank_zero=is_rank_zero)
    if not named and not (is_coordinator and not addresses):
        message = f"no variable or argument of this JobSet's pod names a pod of {jobset} as rank 0"
        return NotTraining(Reason.NOT_TRAINING, message, SYSTEM)
    return describe(pod, labels, SYSTEM, None, addresses, is_rank_zero)


def describe(
    pod: Object,
    labels: Mapping[str, str],
    system: str,
    container: str | None,
    addresses: list[RendezvousAddress],
    is_rank_zero: bool,
) -> TrainingPod:
    """Describe a member of a JobSet, also of one that another controller made."""
    jobset = labels[NAME]
    return describe_training_pod(
        pod,
        system=system,
        name=jobset,
        job_id=labels.get(UID) or jobset,
        attempt=labels.get(PREFIX + "restart-attempt", ""),
        container=container,
        rank_zero=first_label(labels.get(PREFIX + "coordinator", "")) or None,
        is_rank_zero=is_rank_zero,
        belongs=numbered(jobset, _JOB),
        addresses=addresses,
    )


def completion_index(pod: Object) -> str | None:
    """Return the index that the Job gave the pod: always an annotation, since Kubernetes 1.28 a label too."""
    return podspec.annotations(pod).get(COMPLETION_INDEX)


def _is_first_of_leaders(pod: Object, labels: Mapping[str, str]) -> bool:
    indexes = (labels.get(PREFIX + "job-index"), completion_index(pod))
    return leads(labels.get(REPLICATED_JOB, ""), *indexes)
