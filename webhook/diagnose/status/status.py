"""Judge all jobs of a cluster as `explain` judges one, and say of each what comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import names, podspec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.events import concerns
from webhook.diagnose.explain.explanation import NOTHING, judge, shown_address, shown_phase
from webhook.diagnose.explain.kueue import hold_of, owner_of, workloads_of
from webhook.diagnose.explain.members import expected_members
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.explain.suspension import suspended_of
from webhook.diagnose.explain.waiting import seconds_waited
from webhook.diagnose.finding import Finding
from webhook.diagnose.listing import Unread
from webhook.diagnose.status.jobs import KeptPod, StatusJob, find_jobs
from webhook.diagnose.wording import duration

_FEW = 2
_SERVICES = ("ReplicaSet", "DaemonSet", "Deployment", "Node", "Pod")


class StatusReading(NamedTuple):
    """Hold what was read of the cluster; None, as in `Reading`, for what may not be read.

    *labels*: of each namespace; *labelled*: by namespace, when its profile label was written. *networks*,
    *configured* and *unread*: as in `Reading`. *workloads* and *suspended*: as there, but of all jobs.
    *claims* and *claim_templates*: by namespace, those of `Reading`; a namespace is missing where they may not be read.
    """

    now: datetime
    pods: Sequence[KeptPod]
    labels: Mapping[str, Mapping[str, str]] | None = None
    labelled: Mapping[str, str] = {}
    events: Sequence[Object] | None = None
    nodes: tuple[NodeOffer, ...] | None = None
    networks: Mapping[tuple[str, str], Object | None] = {}
    profiles: Profiles | None = None
    unusable: frozenset[str] = frozenset()
    generations: Mapping[str, int] = {}
    lease: Object | None = None
    lease_key: tuple[str, str] = ("fabric-injector", "fabric-injector")
    workloads: Sequence[Object] | None = ()
    claims: Mapping[str, Mapping[str, Object]] = {}
    claim_templates: Mapping[str, frozenset[str]] = {}
    device_offers: DeviceOffers = DeviceOffers()
    suspended: Sequence[Object] = ()
    configured: bool | None = None
    unread: tuple[Unread, ...] = ()


class JobStatus(NamedTuple):
    """Hold what is shown of one job. *first*: the first finding of ``explain``, where that is a warning or a failure.

    *expected*: how many members it is to have, 0 where that is not known. *waits_seconds*: how long a wait step has run, None for none.
    """

    namespace: str
    name: str
    phase: str
    members: int
    expected: int
    waits_seconds: float | None
    address: str
    first: Finding | None

    @property
    def is_failing(self) -> bool:
        """Tell whether something failed."""
        return self.first is not None and self.first.level == "fail"

    def cells(self) -> tuple[str, ...]:
        """Return the row of the table, without the finding."""
        of = (
            f"{self.members}/{self.expected}" if self.expected > self.members else str(self.members)
        )
        waits = NOTHING if self.waits_seconds is None else duration(self.waits_seconds)
        return (self.namespace, self.name, self.phase, of, waits, self.address or NOTHING)

    def as_json(self) -> Object:
        """Return the entry of the document: null for what is not known, or is not there."""
        told: dict[str, Any] = {
            **self._asdict(),
            "waits_seconds": self.waits_seconds and round(self.waits_seconds),
        }
        told |= {
            key: told[key] if told[key] not in (NOTHING, "", 0) else None
            for key in ("phase", "expected", "address")
        }
        if self.first is not None:
            told["first"] = self.first.as_json()
        return told


class Judge:
    """Judge jobs of one reading; what admission would decide about pods that are alike is decided once."""

    def __init__(self, reading: StatusReading) -> None:
        self._reading = reading
        self._events: dict[str, list[Object]] = {}
        for event in reading.events or ():
            space = str(
                (event.get("involvedObject") or {}).get("namespace")
                or event["metadata"].get("namespace")
                or ""
            )
            self._events.setdefault(space, []).append(event)
        self._workloads: dict[str, list[Object]] = {}
        for workload in reading.workloads or ():
            self._workloads.setdefault(str(workload["metadata"]["namespace"]), []).append(workload)
        self._suspended: dict[str, list[Object]] = {}
        for job in reading.suspended:
            self._suspended.setdefault(str(job["metadata"]["namespace"]), []).append(job)

    def events_of(self, namespace: str) -> Sequence[Object]:
        """Return the Events of a namespace."""
        return self._events.get(namespace, ())

    def of(self, job: StatusJob) -> JobStatus:
        """Look at one job."""
        reading = self._of(job)
        judged = judge(reading)
        parts = judged.parts
        phases = Counter(shown_phase(part) for part in parts)
        waits = [
            seconds
            for part in parts
            if part.is_live and (seconds := seconds_waited(reading, part)) is not None
        ]
        return JobStatus(
            job.namespace,
            job.name,
            ", ".join(_counted_phases(phases)) or NOTHING,
            sum(part.phase != "Terminating" for part in parts),
            max(map(expected_members, parts), default=0),
            max(waits, default=None),
            _address(parts, judged.masters),
            next(
                (
                    each
                    for each in judged.findings
                    if each.level != "ok" and each.code is not Code.UNREAD
                ),
                None,
            ),
        )

    def without_pods(self, jobs: Sequence[StatusJob]) -> list[JobStatus]:
        """Look at owners that have no pod, in namespaces that ask for a profile: by Events, Kueue's Workloads, or themselves."""
        owners: dict[str, list[str]] = {}
        for job in jobs:
            owners.setdefault(job.namespace, []).append(job.owner)
        found: list[JobStatus] = []
        for space in dict.fromkeys((*self._events, *self._workloads, *self._suspended)):
            if names.PROFILE not in (self._reading.labels or {}).get(space, {}):
                continue
            subjects = {
                str(subject.get("name") or ""): None
                for event in self.events_of(space)
                if event.get("type") != "Normal"
                and (subject := event.get("involvedObject") or {}).get("kind") not in _SERVICES
                and str(event.get("reason") or "").startswith("FailedCreate")
                and not any(concerns(event, owner, (owner,)) for owner in owners.get(space, ()))
            }
            held = (
                each
                for each in self._workloads.get(space, ())
                if hold_of(each, self._reading.now) is not None
            )
            idle = (
                *map(owner_of, held),
                *(str(job["metadata"]["name"]) for job in self._suspended.get(space, ())),
            )
            subjects |= {name: None for name in idle if name not in owners.get(space, ())}
            found += [self.of(StatusJob(space, name, name, ())) for name in filter(None, subjects)]
        return found

    def _of(self, job: StatusJob) -> Reading:
        """Return what was read of a job."""
        reading = self._reading
        pods = tuple(pod.read() for pod in job.pods)
        known = {pod.name for pod in job.pods}
        owners = {
            str(podspec.controller(pod).get("name")) for pod in pods if podspec.controller(pod)
        } | {job.owner}
        events = None
        if reading.events is not None:
            events = tuple(
                event
                for event in self._events.get(job.namespace, ())
                if (
                    event["involvedObject"].get("name") in known
                    if event["involvedObject"].get("kind") == "Pod"
                    else concerns(event, job.owner, owners)
                )
            )
        workloads: tuple[Object, ...] | None = None
        if reading.workloads is not None:
            of_space = self._workloads.get(job.namespace, ())
            is_placed = any(pod.is_live for pod in job.pods) and all(
                pod.is_bound for pod in job.pods if pod.is_live
            )
            workloads = (
                workloads_of(of_space, pods, job.owner) if of_space and not is_placed else ()
            )
        is_idle = not any(pod.is_live for pod in job.pods)
        suspended = suspended_of(self._suspended.get(job.namespace, ()), owners) if is_idle else ()
        labels = None if reading.labels is None else reading.labels.get(job.namespace)
        claims = reading.claims.get(job.namespace)
        return Reading(
            f"job/{job.name}",
            job.namespace,
            reading.now,
            pods=pods,
            owner=job.owner,
            labels=labels,
            labelled=reading.labelled.get(job.namespace, ""),
            events=events,
            nodes=reading.nodes,
            neighbours=None,
            networks=reading.networks,
            profiles=reading.profiles,
            unusable=reading.unusable,
            generations=reading.generations,
            claims=claims,
            claim_templates=reading.claim_templates.get(job.namespace),
            device_offers=reading.device_offers,
            lease=reading.lease,
            lease_key=reading.lease_key,
            workloads=workloads,
            suspended=suspended,
            configured=reading.configured,
            unread=reading.unread,
        )


def look_at_all(reading: StatusReading) -> list[JobStatus]:
    """Look at each job, those in trouble first, else by namespace and name."""
    judge_jobs = Judge(reading)
    jobs = find_jobs(reading.pods, reading.labels)
    return in_order([*map(judge_jobs.of, jobs), *judge_jobs.without_pods(jobs)])


def in_order(statuses: Iterable[JobStatus]) -> list[JobStatus]:
    """Sort jobs: failures first, then warnings, then by namespace and name."""
    weight = {"fail": 0, "warn": 1}
    return sorted(
        statuses,
        key=lambda each: (weight[each.first.level] if each.first else 2, each.namespace, each.name),
    )


def _counted_phases(phases: Counter[str]) -> list[str]:
    if len(phases) == 1:
        return list(phases)
    told = [f"{number} {phase}" for phase, number in phases.most_common()]
    return told if len(told) <= _FEW else [*told[:_FEW], "…"]


def _address(parts: Sequence[Part], masters: Iterable[str]) -> str:
    """Return rank 0's address."""
    chosen = [part for part in parts if part.name in masters and part.is_live]
    return next(
        filter(
            None, map(shown_address, sorted(chosen, key=lambda part: part.created, reverse=True))
        ),
        "",
    )
