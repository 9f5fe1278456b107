"""Recognise the pods of training systems: one file for each system, tried in the order in which their labels overlap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from webhook.core import podspec
from webhook.core.accelerators import find_tpu
from webhook.core.model import Object, Reason
from webhook.core.workloads import (
    grove,
    indexed_job,
    jobset,
    kubedl,
    kueue_pod_group,
    leaderworkerset,
    mpijob,
    pytorchjob,
    ray,
    replica_types,
    slurm,
    statefulset,
    stormservice,
    torch_on_k8s,
    torchx,
    trainjob,
    volcano,
)
from webhook.core.workloads.training_pod import NotTraining, Rendezvous, TrainingPod

__all__ = ["SIBLING_LABELS", "SYSTEMS", "NotTraining", "Rendezvous", "TrainingPod", "recognise"]


class System(Protocol):
    """Describe the interface of each file of this folder."""

    def recognise(self, pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
        """Say what part the pod plays, None where it is not one of this system's."""


SYSTEMS: tuple[System, ...] = (
    torchx,  # its replicas are Volcano tasks
    leaderworkerset,  # its pods are StatefulSets' pods
    trainjob,  # its pods are JobSets' pods
    jobset,  # its pods are Jobs' pods
    mpijob,  # its launcher is a Job's pod, and shares the training operator's labels
    pytorchjob,  # with gang scheduling its pods carry Volcano's annotations
    kubedl,  # shares the unprefixed job-name with Jobs
    torch_on_k8s,
    volcano,
    ray,
    slurm,
    grove,
    stormservice,
    indexed_job,
    statefulset,
    kueue_pod_group,  # only for pods that no controller owns
)
"""Precedence where one pod carries the labels of several systems."""


SIBLING_LABELS = (
    jobset.UID,
    jobset.NAME,
    pytorchjob.JOB_NAME,
    leaderworkerset.NAME,
    grove.PODGANG,
    stormservice.PODSET,
    stormservice.ROLESET,
    stormservice.NAME,
    "app.kubernetes.io/instance",
    volcano.JOB_NAME,
    kubedl.PREFIX + "job-name",
    torch_on_k8s.PREFIX + "job-name",
    indexed_job.CONTROLLER_UID,
    indexed_job.JOB_NAME,
    kueue_pod_group.GROUP_NAME,
    replica_types.GROUP_NAME,
    replica_types.JOB_NAME,
    "app.kubernetes.io/name",
    "app",
    grove.PODCLIQUESET,
)
"""Labels by which a training system finds the pods of one job, the most telling first."""


def recognise(pod: Object) -> TrainingPod | NotTraining:
    """Say what part the pod plays in which training system, or why it plays none."""
    labels = podspec.labels(pod)
    found: TrainingPod | NotTraining | None = None
    for system in SYSTEMS:
        found = system.recognise(pod, labels)
        if found is not None:
            break
    if tpu := find_tpu(pod):
        name = found.system if found is not None else ""
        return NotTraining(
            Reason.TPU, f"the pod asks for {tpu}: TPUs have a network of their own", name
        )
    if found is not None:
        return found
    owner = podspec.controller(pod).get("kind")
    of = f"a pod of a {owner}" if owner else "a plain pod"
    return NotTraining(Reason.UNKNOWN_SYSTEM, f"{of}, of no training system that is known")
