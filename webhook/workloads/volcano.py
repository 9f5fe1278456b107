"""Recognise plain Volcano Jobs, with the pytorch plugin or with an address that the user wrote.

A Volcano Job is known by the label ``volcano.sh/job-name`` only: pods that merely use Volcano's gang scheduling lack it.
Source: volcano pkg/controllers/job/job_controller_util.go, plugins/distributed-framework/pytorch.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook import podspec
from webhook.model import Object, Reason
from webhook.workloads.addresses import find_addresses
from webhook.workloads.meeting import meet, names_rank_zero, numbered
from webhook.workloads.member import Member, NotTraining

SYSTEM = "volcano"


def recognise(pod: Object, labels: Mapping[str, str]) -> Member | NotTraining | None:
    """Describe a pod of a Volcano Job; None for other pods."""
    job = labels.get("volcano.sh/job-name")
    if job is None:
        return None
    annotations = podspec.annotations(pod)
    belongs = numbered(job)
    addresses = find_addresses(pod)
    if not names_rank_zero(pod, addresses, belongs):
        message = f"no variable or argument of this Volcano Job's pod names a pod of {job} as rank 0"
        return NotTraining(Reason.NOT_TRAINING, message, SYSTEM)
    return meet(
        pod,
        system=SYSTEM,
        name=job,
        job_id=annotations.get("scheduling.k8s.io/group-name") or podspec.controller(pod).get("uid") or job,
        attempt=annotations.get("volcano.sh/job-version", ""),
        container=labels.get("volcano.sh/task-spec"),
        belongs=belongs,
        addresses=addresses,
    )
