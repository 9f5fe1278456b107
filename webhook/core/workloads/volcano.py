"""Recognise plain Volcano Jobs, with the pytorch plugin or with an address that the user wrote.

A Volcano Job is known by the label ``volcano.sh/job-name`` only: pods that merely use Volcano's gang scheduling lack it.
Source: volcano pkg/controllers/job/job_controller_util.go, plugins/distributed-framework/pytorch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.addresses import RendezvousAddress, find_addresses
from webhook.core.workloads.endpoint import first_label
from webhook.core.workloads.rank_zero import describe_training_pod, numbered
from webhook.core.workloads.training_pod import NotTraining, TrainingPod

SYSTEM: Final = "volcano"
PREFIX: Final = "volcano.sh/"
JOB_NAME: Final = "volcano.sh/job-name"
TASK_SPEC: Final = PREFIX + "task-spec"
TASK_INDEX: Final = PREFIX + "task-index"
JOB_VERSION: Final = PREFIX + "job-version"
GROUP_NAME: Final = "scheduling.k8s.io/group-name"


def recognise(pod: Object, labels: Mapping[str, str]) -> TrainingPod | NotTraining | None:
    """Describe a pod of a Volcano Job; None for other pods."""
    job = labels.get(JOB_NAME)
    if job is None:
        return None
    annotations = podspec.annotations(pod)
    addresses = find_addresses(pod)
    task = labels.get(TASK_SPEC) or annotations.get(TASK_SPEC) or ""
    index = labels.get(TASK_INDEX) or podspec.own_name(pod).rpartition("-")[2]
    return describe_training_pod(
        pod,
        system=SYSTEM,
        name=job,
        job_id=annotations.get(GROUP_NAME) or podspec.controller(pod).get("uid") or job,
        attempt=annotations.get(JOB_VERSION, ""),
        container=task or None,
        is_candidate=index == "0",
        belongs=_belongs(job, addresses),
        addresses=addresses,
        kind=f"Volcano Job {job}",
        by_operator=_has_pytorch_plugin(pod),
    )


def _has_pytorch_plugin(pod: Object) -> bool:
    """Tell the plugin by the variables that it gives every container: all of them, as literals.

    An earlier pass may have made MASTER_ADDR a fieldRef, and a user's own fieldRef would look the same to the next pass.
    """
    for container in podspec.containers(pod):
        if all(
            podspec.env_value(container, name) for name in ("MASTER_PORT", "WORLD_SIZE", "RANK")
        ) and any(
            entry["name"] == "MASTER_ADDR"
            and (entry.get("value") or (entry.get("valueFrom") or {}).get("fieldRef"))
            for entry in podspec.env(container)
        ):
            return True
    return False


def _belongs(job: str, addresses: list[RendezvousAddress]) -> Callable[[str], bool]:
    """Return a test for names of the job's pods: ``<job>-<task>-<index>``, or a host name of a template below the job's Service."""
    is_pod = numbered(job, ".+-")
    chosen = frozenset(
        first_label(one.host) for one in addresses if one.host.split(".")[1:2] == [job]
    )
    return lambda name: is_pod(name) or name in chosen
