"""Look for pods whose wait will never end: end it, let them meet by name, send an Event."""

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from webhook.control.events import PodRef
from webhook.control.leader_loop import LeaderLoop
from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Member, Suspect
from webhook.core.reconcile.complaint import (
    BOUND_SECONDS,
    EXCESSIVE,
    Complaint,
    about_address,
    about_status,
    sibling_selector,
)
from webhook.core.reconcile.rank_zero import Survey
from webhook.core.workloads.endpoint import first_label
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
FIRST_LOOK_SECONDS = 10.0
"""How long a member waits until it is looked at: most jobs' pods are created within seconds."""
REQUEST_SECONDS = 4.0
JOBS_AT_ONCE = 20
"""Jobs whose members one list asks for."""
PAGE_SIZE = 100
"""Whole pods of one answer: few at a time, so that they take little memory."""
MOST_SIBLING_PAGES = 10
ROUND_SECONDS = 10.0
"""How long after its beginning a round goes on to another namespace: the next one does the rest,
and rests for as long before."""
LIST_SECONDS = 20.0
"""How long the lists of one namespace may take in a round: the others wait meanwhile."""
LIST_SHARE = 0.05
"""Part of the time that lists of one namespace may take: it rests after one that took long."""


@dataclass(slots=True)
class _Case:
    """A suspect, when it is due, and since when it has been seen on its node."""

    suspect: Suspect
    due: float
    since: float | None = None


class Inspector(LeaderLoop):
    """Inspect in rounds what *suspects* returns, by lists of the members of their jobs.

    *tell* gets a pod, a reason and a message. *settle* gets what becomes of the members of one
    job, by uid, and the rank 0 that this was decided about.
    """

    fault = "pods that wait are not looked at"

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[PodRef, str, str], None],
        may_write: Callable[[], bool],
        *,
        suspects: Callable[[], Iterable[Suspect]],
        settle: Callable[[tuple[str, str], Member | None, Mapping[str, Fate]], None],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(may_write, monotonic)
        self._reader, self._tell = Reader(connection, REQUEST_SECONDS), tell
        self._suspects, self._settle = suspects, settle
        self._cases: dict[object, _Case] = {}
        self._rests_until: dict[str, float] = {}
        self._told: set[tuple[str, str]] = set()

    def lost(self) -> None:
        """Forget since when pods wait: another replica leads, and its clock counts then."""
        self._cases.clear()

    def turn(self) -> float:
        """Inspect the namespaces whose suspects are due, the stuck and longest due ones first."""
        now = self._monotonic()
        self._rests_until = {name: end for name, end in self._rests_until.items() if now < end}
        self._collect(now)
        by_job: dict[tuple[str, str], list[_Case]] = {}
        for case in self._cases.values():
            member = case.suspect.member
            by_job.setdefault((member.namespace, member.job), []).append(case)
        jobs: dict[str, dict[str, list[_Case]]] = {}
        for case in sorted(
            self._cases.values(), key=lambda one: (not one.suspect.is_stuck, one.due)
        ):
            namespace, job = case.suspect.member.namespace, case.suspect.member.job
            if case.due <= now and namespace not in self._rests_until:
                jobs.setdefault(namespace, {})[job] = by_job[namespace, job]
        for namespace, cases in jobs.items():
            if self._monotonic() - now < ROUND_SECONDS:
                self._inspect(namespace, cases, now)
        return max(PERIOD_SECONDS, self._monotonic() - now)

    def _collect(self, now: float) -> None:
        """Take what is suspect now; keep of those known before when they are due."""
        known, self._cases = self._cases, {}
        for suspect in self._suspects():
            zero = suspect.rank_zero
            # one that gets stuck is looked at sooner, and its wait counts for each rank 0
            key = suspect.member.uid, suspect.is_stuck, zero.uid if zero is not None else ""
            case = known.get(key) or _Case(suspect, now + FIRST_LOOK_SECONDS)
            case.suspect = suspect
            if case.since is None and suspect.is_stuck:  # its wait step runs
                case.since = now
            self._cases[key] = case

    def _inspect(self, namespace: str, jobs: Mapping[str, list[_Case]], now: float) -> None:
        """Judge the suspects of these jobs of a namespace, by lists of the jobs' members."""
        self._told.clear()
        began, keys = self._monotonic(), list(jobs)
        for first in range(0, len(keys), JOBS_AT_ONCE):
            some = keys[first : first + JOBS_AT_ONCE]
            cases = [case for job in some for case in jobs[job]]
            survey = Survey(case.suspect for case in cases)
            try:
                self._show_jobs(namespace, some, cases, survey)
            except RequestFailed as error:
                log.warning("namespace %s: its pods cannot be looked at: %s", namespace, error)
                for case in cases:  # in a later round, after those that have been due for longer
                    case.due = now + PERIOD_SECONDS
            else:
                self._judge(namespace, cases, survey, now)
            if self._monotonic() - began > LIST_SECONDS:
                break
        ended = self._monotonic()
        self._rests_until[namespace] = ended + (ended - began) / LIST_SHARE

    def _show_jobs(
        self, namespace: str, jobs: Iterable[str], cases: Iterable[_Case], survey: Survey
    ) -> None:
        """Show the survey the members of these jobs.

        Where rank 0 is missing, also the job's pods without our label, and the pod of its name.
        Raises RequestFailed.
        """
        selectors: dict[str, str] = {}

        def add(pod: Object) -> None:
            survey.add(pod)
            selectors[podspec.labels(pod)[names.JOB]] = sibling_selector(pod)

        self._show(namespace, add, labels=f"{names.JOB} in ({','.join(jobs)})")
        missing = {
            suspect.member.job: suspect.name
            for suspect in (case.suspect for case in cases)
            if suspect.rank_zero is None and suspect.is_stuck
        }
        # none of these publishes: the first ones are enough
        for selector in {selectors.get(job) or "" for job in missing}:
            labels = f"{selector},!{names.JOB}".removeprefix(",")
            self._show(namespace, survey.add, labels=labels, most=MOST_SIBLING_PAGES)
        for name in {first_label(name) for name in missing.values() if name}:
            self._show(namespace, survey.add, fields=f"metadata.name={name},")

    def _show(
        self,
        namespace: str,
        add: Callable[[Object], None],
        *,
        labels: str = "",
        fields: str = "",
        most: int = 1000,
    ) -> None:
        """Pass on live pods. Raises RequestFailed, also where that takes LIST_SECONDS."""
        began = self._monotonic()
        resource = PODS.select(labels=labels, fields=f"{fields}{UNFINISHED}")
        for page in self._reader.pages(resource, add, namespace, most=most, size=PAGE_SIZE):
            if page.more and self._monotonic() - began > LIST_SECONDS:
                raise RequestFailed(f"they are not listed after {LIST_SECONDS:.0f} s", 0)

    def _judge(self, namespace: str, cases: list[_Case], survey: Survey, now: float) -> None:
        """Judge members, rank 0 first."""
        fates: dict[str, tuple[Member | None, dict[str, Fate]]] = {}
        for case in sorted(cases, key=lambda one: _precedence(one.suspect.member)):
            member, zero, _ = case.suspect
            case.due = now + BOUND_SECONDS
            try:
                fate = self._judge_one(case, survey, now)
            except Exception:  # the others are to be judged
                log.exception("pod %s/%s: cannot be judged", namespace, member.name)
            else:
                if fate is not None:
                    fates.setdefault(member.job, (zero, {}))[1][member.uid] = fate
        for job, (zero, decided) in fates.items():
            self._settle((namespace, job), zero, decided)

    def _judge_one(self, case: _Case, survey: Survey, now: float) -> Fate | None:
        """Judge one member, and choose when to look again; return its fate if it waits."""
        member, node = case.suspect.member, survey.node(case.suspect.member)
        if case.since is None and node:
            case.since = now
        seconds = 0.0 if case.since is None else now - case.since
        again, complaint = BOUND_SECONDS, about_status(member)
        if complaint is None and node and not member.secondary.address:
            if seconds >= BOUND_SECONDS:
                complaint = about_address(member, node, seconds)
            else:
                again = BOUND_SECONDS - seconds
        if complaint is not None:
            # of too much metadata one owner of the namespace is told
            self._tell_of("" if complaint.reason == EXCESSIVE else member.uid, member, complaint)
        fate = None
        if member.waits:
            ruling = survey.rule(case.suspect, seconds)
            fate, again = ruling.fate, min(again, ruling.again)
            if ruling.complaint is not None:
                self._tell_of(member.job, member, ruling.complaint)
        case.due = now + max(PERIOD_SECONDS, again)
        return fate

    def _tell_of(self, owner: str, member: Member, complaint: Complaint) -> None:
        """Tell each owner once: a pod, a job, or the namespace."""
        if (owner, complaint.reason) not in self._told:
            self._told.add((owner, complaint.reason))
            self._tell(PodRef(member.namespace, member.name, member.uid), *complaint)


def _precedence(member: Member) -> tuple[bool, str, str]:
    return not member.is_master, member.created, member.name
