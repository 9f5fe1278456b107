"""Say of all jobs of a cluster which train without the fabric, what a profile would change, and what stands in the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from shlex import quote
from typing import NamedTuple

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.listing import Unread
from webhook.diagnose.survey.fabric import Transport
from webhook.diagnose.survey.jobs import JobRole, SurveyedJob, find_jobs
from webhook.diagnose.survey.reading import ClusterReading
from webhook.diagnose.survey.trial import Barrier, Trial, Trials

_GRAVITIES = ("refused", "unplaced", "incomplete", "doubt")


class Prospect(StrEnum):
    """Say what a profile would make of a job; a word of the JSON document, so the set is closed.

    completed: each pod is allowed and gets what it lacks. refused: a pod is denied. unplaced: no node offers what a pod then asks
    for. incomplete: a pod is not given a device that the profile has for it. left-alone: nothing changes. unknown: nothing was
    decided, for want of a profile, or since the job is not on the pod network.
    """

    COMPLETED = "completed"
    REFUSED = "refused"
    UNPLACED = "unplaced"
    INCOMPLETE = "incomplete"
    LEFT_ALONE = "left-alone"
    UNKNOWN = "unknown"


class TriedRole(NamedTuple):
    """Hold the pods of a job that are alike, and what would become of one; None where no profile was chosen."""

    role: JobRole
    trial: Trial | None


class JobGroup(NamedTuple):
    """Hold jobs of one namespace and kind that would get the same changes, and have the same in their way; *tried*: of the first."""

    namespace: str
    kind: str
    transport: Transport
    prospect: Prospect
    profile: str
    jobs: tuple[SurveyedJob, ...]
    tried: tuple[TriedRole, ...]

    @property
    def pods(self) -> int:
        """Count the pods of all jobs."""
        return sum(job.pods for job in self.jobs)

    @property
    def accelerators(self) -> Mapping[str, int]:
        """Count what all pods ask for, by resource."""
        return added(self.jobs)

    @property
    def steps(self) -> tuple[str, ...]:
        """Name the steps that would change a pod, each once."""
        return tuple(dict.fromkeys(change.step for _, trial in self.tried if trial for change in trial.changes))

    @property
    def barriers(self) -> tuple[Barrier, ...]:
        """Return what stands in the way, each once."""
        return tuple(dict.fromkeys(barrier for _, trial in self.tried if trial for barrier in trial.barriers))

    @property
    def left_alone(self) -> str:
        """Say why nothing changes; empty where something does."""
        if self.prospect is not Prospect.LEFT_ALONE:
            return ""
        return next((trial.left_alone for _, trial in self.tried if trial and trial.left_alone), "")


@dataclass(frozen=True, slots=True)
class ClusterSurvey:
    """Hold the result. *groups*: the jobs that train; *others*: of several pods with accelerators, not known to train.

    *profiles_option*: what ``dry-run`` is to be told of where the profile is. *single*: jobs of one pod, which need no
    fabric. *left_out*: how many pods could not be read, or are too large to be. *labelled*: namespaces that name a profile already.
    """

    namespace: str
    profile: str
    source: str
    profiles_option: str
    groups: tuple[JobGroup, ...]
    others: tuple[SurveyedJob, ...]
    single: int
    left_out: int
    labelled: frozenset[str]
    unread: tuple[Unread, ...]

    def of(self, transport: Transport) -> tuple[JobGroup, ...]:
        """Return the groups of jobs that use this."""
        return tuple(group for group in self.groups if group.transport is transport)

    def count(self, transport: Transport, *prospects: Prospect) -> int:
        """Count the jobs that use this, with one of these prospects or any."""
        return sum(len(group.jobs) for group in self.of(transport) if not prospects or group.prospect in prospects)

    @property
    def jobs(self) -> int:
        """Count the jobs that train."""
        return sum(len(group.jobs) for group in self.groups)

    @property
    def is_free(self) -> bool:
        """Tell whether nothing keeps the profile from completing each job that trains over the pod network."""
        return not self.count(Transport.POD_NETWORK, Prospect.REFUSED, Prospect.UNPLACED, Prospect.INCOMPLETE)

    def barriers(self) -> list[tuple[Barrier, list[SurveyedJob]]]:
        """Return what stands in the way of jobs of the pod network, each with these jobs: what is worst and keeps most of them first.

        Sentences of one reason differ by names of containers and networks; the first is returned.
        """
        found: dict[tuple[str, str], tuple[Barrier, list[SurveyedJob]]] = {}
        for group in self.of(Transport.POD_NETWORK):
            for key in dict.fromkeys((each.gravity, each.reason) for each in group.barriers):
                barrier = next(each for each in group.barriers if (each.gravity, each.reason) == key)
                found.setdefault(key, (barrier, []))[1].extend(group.jobs)
        return sorted(found.values(), key=lambda each: (_GRAVITIES.index(each[0].gravity), -len(each[1])))

    def next_steps(self) -> tuple[str, ...]:
        """Return commands: look at one workload, then label its namespace if it is not; none where no profile would complete a job."""
        ready = [group for group in self.of(Transport.POD_NETWORK) if group.prospect is Prospect.COMPLETED]
        if not ready:
            return ()
        best = max(ready, key=lambda each: (each.namespace not in self.labelled, not each.barriers, len(each.jobs)))
        space, profile = quote(best.namespace), quote(best.profile)
        job = next((job for job in best.jobs if job.resource), None)
        steps = []
        if best.namespace not in self.labelled:
            steps.append(f"kubectl label namespace {space} {names.PROFILE}={profile}")
        if job is not None:
            look = f"kubectl get {quote(job.resource)} {quote(job.workload)} -n {space} -o yaml"
            steps.insert(
                0, f"{look} | fabric-injector dry-run -f - -n {space} --profile {profile}{self.profiles_option}"
            )
        return tuple(steps)

    def as_json(self) -> Object:
        """Return the document of ``-o json``."""
        return {
            "namespace": self.namespace,
            "profile": self.profile,
            "source": self.source,
            "summary": {
                "jobs": self.jobs,
                "namespaces": len({group.namespace for group in self.groups}),
                **{key_of(each): self.count(each) for each in Transport},
                **{key_of(each): self.count(Transport.POD_NETWORK, each) for each in Prospect},
                "others": len(self.others),
                "single": self.single,
                "left_out": self.left_out,
            },
            "groups": [_group_as_json(group) for group in self.groups],
            "others": [{**_job_as_json(job), "why": job.why} for job in self.others],
            "next": list(self.next_steps()),
            "unread": [{"what": each.what, "problem": each.problem} for each in self.unread],
        }


def survey(reading: ClusterReading) -> ClusterSurvey:
    """Judge what was read."""
    found, trials = find_jobs(reading.pods.items), Trials(reading)
    wanted: list[SurveyedJob] = []
    others: list[SurveyedJob] = []
    for job in found.others:
        (wanted if _is_wanted(job, trials) else others).append(job)
    return ClusterSurvey(
        reading.namespace,
        reading.profile,
        reading.source,
        reading.profiles_option,
        _groups([*found.training, *wanted], trials),
        tuple(others),
        found.single,
        reading.pods.broken + len(reading.oversized),
        frozenset(space.name for space in reading.namespaces.items if space.labels.get(names.PROFILE)),
        reading.unread,
    )


def _is_wanted(job: SurveyedJob, trials: Trials) -> bool:
    """Tell a job that is not known to train, and is injected since its pods or the profile ask for it."""
    tried = [trial for role in job.roles if (trial := trials.of(job.namespace, role.likeness))]
    is_refused = any(barrier.gravity == "refused" for trial in tried for barrier in trial.barriers)
    return job.transport is Transport.POD_NETWORK and (is_refused or any(trial.changes for trial in tried))


def added(jobs: Iterable[SurveyedJob]) -> Mapping[str, int]:
    """Add up the accelerators of jobs, by resource."""
    total: Counter[str] = Counter()
    for job in jobs:
        total.update(job.accelerators)
    return dict(total)


def key_of(word: Transport | Prospect) -> str:
    """Write a word as a key of the document, ``pod_network``."""
    return word.value.replace("-", "_")


def _groups(jobs: Iterable[SurveyedJob], trials: Trials) -> tuple[JobGroup, ...]:
    found: dict[tuple[object, ...], tuple[list[SurveyedJob], tuple[TriedRole, ...]]] = {}
    for job in jobs:
        is_tried = job.transport is Transport.POD_NETWORK
        tried = tuple(
            TriedRole(role, trials.of(job.namespace, role.likeness) if is_tried else None) for role in job.roles
        )
        prospect = _prospect(tried)
        profile = trials.profile_of(job.namespace) if is_tried else ""
        alike = tuple(dict.fromkeys(_alike(role, trial) for role, trial in tried))
        key = (job.namespace, job.kind, job.transport, prospect, profile, alike)
        found.setdefault(key, ([], tried))[0].append(job)
    return tuple(
        JobGroup(job.namespace, job.kind, job.transport, prospect, profile, (job, *more), tried)
        for ((job, *more), tried), prospect, profile in (
            (value, _prospect(value[1]), str(key[4])) for key, value in found.items()
        )
    )


def _prospect(tried: Sequence[TriedRole]) -> Prospect:
    trials = [trial for _, trial in tried if trial is not None]
    gravities = {barrier.gravity for trial in trials for barrier in trial.barriers}
    if not trials:
        return Prospect.UNKNOWN
    if "refused" in gravities:
        return Prospect.REFUSED
    if "unplaced" in gravities:
        return Prospect.UNPLACED
    if "incomplete" in gravities:
        return Prospect.INCOMPLETE
    return Prospect.COMPLETED if any(trial.changes for trial in trials) else Prospect.LEFT_ALONE


def _alike(role: JobRole, trial: Trial | None) -> tuple[object, ...]:
    """Return what of a trial is equal for jobs of other names."""
    if trial is None:
        return ()
    changes = frozenset((change.step, change.reason) for change in trial.changes)
    return role.name, changes, frozenset((each.gravity, each.reason) for each in trial.barriers), bool(trial.left_alone)


def _group_as_json(group: JobGroup) -> Object:
    return {
        "namespace": group.namespace,
        "kind": group.kind,
        "transport": str(group.transport),
        "prospect": str(group.prospect),
        "profile": group.profile,
        "pods": group.pods,
        "accelerators": group.accelerators,
        "steps": list(group.steps),
        "jobs": [_job_as_json(job) for job in group.jobs],
        "roles": [_role_as_json(role, trial) for role, trial in group.tried],
    }


def _job_as_json(job: SurveyedJob) -> Object:
    return {
        "namespace": job.namespace,
        "kind": job.kind,
        "name": job.name,
        "system": job.system,
        "pods": job.pods,
        "size": job.size,
        "accelerators": job.accelerators,
        "transport": str(job.transport),
        "unjudged": job.unjudged,
    }


def _role_as_json(role: JobRole, trial: Trial | None) -> Object:
    told: Object = {"role": role.name, "pods": role.pods, "pod": role.example}
    if trial is None:
        return told
    return {
        **told,
        "decided": trial.pod,
        "changes": [change._asdict() for change in trial.changes],
        "barriers": [barrier._asdict() for barrier in trial.barriers],
        "left_alone": trial.left_alone,
    }
