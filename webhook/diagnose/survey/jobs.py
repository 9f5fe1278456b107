"""Put the pods of a cluster together into jobs: of one process group where all of its pods say which, else of one owner."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple

from webhook.core.model import Reason
from webhook.diagnose.survey.fabric import PRECEDENCE, Transport
from webhook.diagnose.survey.pod import SurveyedPod

MOST_ROLES = 8
"""Different pods of one job that are judged each by itself."""
_SERVICES = frozenset(("ReplicaSet", "DaemonSet", "Node", "Pod", ""))
"""Owners of pods that are alike and serve, or of single ones: such pods are no job unless they show that they train."""


class JobRole(NamedTuple):
    """Hold the pods of a job that are alike: *name* ``master``, ``worker`` or empty, *pods* how many, *example* the first of them."""

    name: str
    likeness: bytes
    pods: int
    example: str


@dataclass(frozen=True, slots=True)
class SurveyedJob:
    """Hold a job of several pods, at least one of which asks for an accelerator.

    *size*: how many pods it has at least, by what they are told. *why*: why it is not known to train; empty for one that does.
    *unjudged*: pods of more than MOST_ROLES different kinds.
    """

    namespace: str
    kind: str
    resource: str
    name: str
    workload: str
    system: str
    pods: int
    size: int
    accelerators: Mapping[str, int]
    transport: Transport
    roles: tuple[JobRole, ...]
    why: str = ""
    unjudged: int = 0


@dataclass(frozen=True, slots=True)
class FoundJobs:
    """Hold the jobs that train, *others* of several pods that are not known to, and how many jobs of a single pod there are."""

    training: tuple[SurveyedJob, ...] = ()
    others: tuple[SurveyedJob, ...] = ()
    single: int = 0


def find_jobs(pods: Iterable[SurveyedPod]) -> FoundJobs:
    """Group the pods of a cluster; jobs are in the order of namespace, kind and name."""
    owners: dict[tuple[str, str], list[SurveyedPod]] = {}
    for pod in pods:
        owners.setdefault((pod.namespace, pod.owner), []).append(pod)
    training: list[SurveyedJob] = []
    others: list[SurveyedJob] = []
    single = 0
    for members in owners.values():
        groups = _split(members)
        for group in groups:
            if not any(pod.computes for pod in group):
                continue
            trains = any(pod.trains for pod in group)
            size = max(len(group), *(pod.size for pod in group))
            if size < 2 or all(pod.is_alone for pod in group):
                single += trains
            elif trains:
                training.append(_job(group, size, is_part=len(groups) > 1))
            elif _may_be_a_job(group):
                others.append(_job(group, size, is_part=False))
    order = attrgetter("namespace", "kind", "name")
    return FoundJobs(tuple(sorted(training, key=order)), tuple(sorted(others, key=order)), single)


def _split(pods: Sequence[SurveyedPod]) -> list[list[SurveyedPod]]:
    """Split the pods of one owner into its process groups, where each pod says which is its own."""
    groups: dict[str, list[SurveyedPod]] = {}
    for pod in pods:
        groups.setdefault(pod.job, []).append(pod)
    return [list(pods)] if "" in groups else list(groups.values())


def _may_be_a_job(pods: Sequence[SurveyedPod]) -> bool:
    """Tell pods of a job from those of a service."""
    first = pods[0]
    return first.reason != Reason.ROLE and (first.kind not in _SERVICES or any(pod.shows for pod in pods))


def _job(pods: Sequence[SurveyedPod], size: int, *, is_part: bool) -> SurveyedJob:
    """Describe a job; *is_part*: its owner has several, so that its key is its name."""
    first = next((pod for pod in pods if pod.trains), pods[0])
    accelerators: Counter[str] = Counter()
    for pod in pods:
        accelerators.update(pod.accelerators)
    used = {pod.transport for pod in pods if pod.computes}
    roles = _roles([pod for pod in pods if pod.trains] or pods)
    why = "" if first.trains else first.why
    return SurveyedJob(
        first.namespace,
        first.kind,
        first.resource,
        first.job if is_part else "-".join(filter(None, (first.workload, first.group))),
        first.workload,
        first.system,
        len(pods),
        size,
        dict(accelerators),
        next(each for each in PRECEDENCE if each in used),
        tuple(roles[:MOST_ROLES]),
        why,
        sum(role.pods for role in roles[MOST_ROLES:]),
    )


def _roles(pods: Iterable[SurveyedPod]) -> list[JobRole]:
    """Return the roles, rank 0 first, then those of most pods."""
    found: dict[tuple[str, bytes], list[SurveyedPod]] = {}
    for pod in pods:
        found.setdefault((pod.role, pod.likeness), []).append(pod)
    roles = [
        JobRole(name, likeness, len(alike), min(pod.name for pod in alike)) for (name, likeness), alike in found.items()
    ]
    return sorted(roles, key=lambda role: (role.name != "master", -role.pods, role.example))
