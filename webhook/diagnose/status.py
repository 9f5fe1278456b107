"""Judge all jobs of a cluster as `explain` judges one, and say of each what comes first."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from webhook.core import names, podspec
from webhook.core.decide import looks_like_training
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.explain.job import observe
from webhook.diagnose.explain.judge import NOTHING, judge, shown_address, shown_phase
from webhook.diagnose.explain.queues import hold_of, owner_of, owner_of_group, waiting_groups
from webhook.diagnose.finding import WEIGHT, Finding
from webhook.diagnose.jobs import Job, concerns, expected_members, is_injected
from webhook.diagnose.snapshot import UNREAD, Snapshot
from webhook.diagnose.wording import duration, event_time
from webhook.kube.resource import Key

Labels = Mapping[str, Mapping[str, str]]

_FEW = 2
_SERVICES = ("ReplicaSet", "DaemonSet", "Deployment", "Node", "Pod")
_MOST_ALIKE = 2
"""For how many pods of one job, role and injection admission is asked about today."""
_MOST_LOOKED_AT = 4
"""Pods of one owner that are looked at for a sign of training, where none was injected."""


class JobStatus(NamedTuple):
    """Hold what is shown of one job. *first*: its first finding, where that is no ``ok``.

    *expected*: how many members it is to have, 0 where that is not known. *waits_seconds*: how long
    a wait step has run, None for none.
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
        is_lacking = self.expected > self.members
        of = f"{self.members}/{self.expected}" if is_lacking else str(self.members)
        waits = NOTHING if self.waits_seconds is None else duration(self.waits_seconds)
        return (self.namespace, self.name, self.phase, of, waits, self.address or NOTHING)

    def as_json(self) -> Object:
        """Return the entry of the document: null for what is not known, or is not there."""
        waits = None if self.waits_seconds is None else round(self.waits_seconds)
        told: dict[str, Any] = {**self._asdict(), "waits_seconds": waits}
        for key in ("phase", "expected", "address"):
            told[key] = told[key] if told[key] not in (NOTHING, "", 0) else None
        told["first"] = self.first.as_json() if self.first else None
        return told


def look_at_all(snapshot: Snapshot, jobs: Sequence[Job]) -> list[JobStatus]:
    """Look at each job that is injected or should be: failures first, then warnings, then by name.

    A job without a live pod is left out, unless its pods are refused, or a queue holds it back.
    """
    labels = snapshot.readable(snapshot.labels)
    shown = [job for job in jobs if job.is_live and _is_shown(job, labels)]
    often = Counter((job.namespace, job.name) for job in shown)
    named = [
        job if often[job.namespace, job.name] == 1 else job._replace(name=job.key or job.name)
        for job in shown
    ]
    newest = {(job.namespace, job.owner): job.newest for job in jobs}
    idle = _without_pods(snapshot, labels or {}, shown, newest)
    found = [_status(snapshot, job) for job in (*named, *idle)]
    found.sort(key=lambda one: (WEIGHT[one.first.level if one.first else "ok"], *one[:2]))
    return found


def _is_shown(job: Job, labels: Labels | None) -> bool:
    if any(map(is_injected, job.pods)):
        return True
    is_asked = labels is None or names.PROFILE in labels.get(job.namespace, {})
    is_asked = is_asked or any(names.PROFILE in podspec.labels(pod) for pod in job.pods)
    live = [pod for pod in job.pods if not podspec.is_ending(pod)]
    return is_asked and any(map(_shows_training, live[:_MOST_LOOKED_AT]))


def _shows_training(pod: Object) -> bool:
    """Tell a pod that trains, or looks as if it did and did not opt out."""
    found = recognise(pod)
    is_out = podspec.labels(pod).get(names.PROFILE) == names.PROFILE_NONE
    return isinstance(found, TrainingPod) or (not is_out and bool(looks_like_training(pod, found)))


def _status(snapshot: Snapshot, job: Job) -> JobStatus:
    observed = observe(snapshot, job, most=_MOST_ALIKE)
    findings, names_of_masters = judge(snapshot, observed)
    pods = observed.pods
    masters = [pod for pod in observed.live if pod.name in names_of_masters]
    masters.sort(key=lambda pod: pod.created, reverse=True)
    waits = [
        seconds for pod in observed.live if (seconds := observed.seconds_waited(pod)) is not None
    ]
    wrong = (one for one in findings if one.level != "ok" and one.code is not UNREAD)
    return JobStatus(
        job.namespace,
        job.name,
        ", ".join(_counted(Counter(map(shown_phase, pods)))) or NOTHING,
        sum(pod.phase != "Terminating" for pod in pods),
        max(map(expected_members, pods), default=0),
        max(waits, default=None),
        next(filter(None, map(shown_address, masters)), ""),
        next(wrong, None),
    )


def _without_pods(
    snapshot: Snapshot, labels: Labels, jobs: Sequence[Job], newest: Mapping[Key, str]
) -> Iterator[Job]:
    """Yield owners that have no live pod, in namespaces that ask for a profile.

    *newest*: when each owner's newest pod was created, also one that has ended.
    """
    owners: dict[str, set[str]] = {}
    for job in jobs:
        owners.setdefault(job.namespace, set()).add(job.owner)
    for space, given in labels.items():
        if names.PROFILE in given:
            known = owners.get(space, set())
            for name in dict.fromkeys(_idle(snapshot, space, known, newest)):
                if name and name not in known:
                    yield Job(space, name, name, "", ())


def _idle(
    snapshot: Snapshot, space: str, known: Iterable[str], newest: Mapping[Key, str]
) -> Iterator[str]:
    """Yield the names of owners whose pods are refused since the newest, or held back."""
    events = snapshot.readable(partial(snapshot.events, space)) or ()
    for event in events:
        subject, reason = event.get("involvedObject") or {}, str(event.get("reason") or "")
        if event.get("type") != "Normal" and subject.get("kind") not in _SERVICES:
            is_of_job = any(concerns(event, owner, frozenset([owner])) for owner in known)
            name = str(subject.get("name") or "")
            is_last = event_time(event) >= newest.get((space, name), "")
            if reason.startswith("FailedCreate") and is_last and not is_of_job:
                yield name
    for workload in snapshot.readable(partial(snapshot.workloads, space)) or ():
        if hold_of(workload, snapshot.now) is not None:
            yield owner_of(workload)
    yield from map(owner_of_group, waiting_groups(events))


def _counted(phases: Counter[str]) -> list[str]:
    if len(phases) == 1:
        return list(phases)
    told = [f"{number} {phase}" for phase, number in phases.most_common()]
    return told if len(told) <= _FEW else [*told[:_FEW], "…"]
