"""Look periodically for pods whose wait will never end: end it, let them meet by name, and send their owners an Event."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, TypeAlias

from webhook.control.events import PodRef
from webhook.core import names
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
from webhook.kube.resource import Resource

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
FIRST_LOOK_SECONDS = 10.0
"""How long a member waits for a rank 0 that does not publish until it is looked at: most jobs' pods are created within seconds."""
AGAIN_SECONDS = 600.0
"""When a pod that has a complaint, or was found in order, is looked at again."""
MOST_REQUESTS = 200
"""Requests of one round: what is left is looked at in the next. At 40 a second 10,000 namespaces take less than five minutes."""
REQUEST_SECONDS = 4.0
PAGE_SIZE = 100
"""Whole pods of one answer: few at a time, so that they take little memory."""
LIST_SHARE = 0.05
"""Part of the time that listing one namespace may take: the larger it is, the rarer it is listed."""
MOST_PAGES = 100
"""Pages of one list: a namespace with more pods is not listed again for a while, but asked for each job by itself."""
MOST_SIBLING_PAGES = 10
LIST_SECONDS = 20.0
"""How long one list may take, whatever its pods weigh, before it counts as too long: the others wait meanwhile."""
LIVE_PODS = PODS.select(fields=UNFINISHED)


_CaseKey: TypeAlias = tuple[str, bool, str]


class _Case(NamedTuple):
    """A suspect, and when it is due."""

    suspect: Suspect
    due: float

    @property
    def key(self) -> _CaseKey:
        """Return what its times are remembered by: one that gets stuck is looked at sooner, and waits for each rank 0 anew."""
        member, zero, _ = self.suspect
        return member.uid, self.suspect.is_stuck, zero.uid if zero is not None else ""


class Inspector:
    """Inspect in rounds what *suspects* returns, with one list of each namespace for all its jobs; only while *may_write*.

    *settle* gets what becomes of the members of one job, by uid, and the rank 0 that this was decided about.
    """

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[PodRef, str, str], None],
        *,
        suspects: Callable[[], Iterable[Suspect]],
        settle: Callable[[tuple[str, str], Member | None, Mapping[str, Fate]], None],
        may_write: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader, self._tell = Reader(connection, REQUEST_SECONDS), tell
        self._suspects, self._settle, self._may_write = suspects, settle, may_write
        self._monotonic, self._now = monotonic, now
        self._look_at: dict[_CaseKey, float] = {}
        self._on_node_since: dict[_CaseKey, float] = {}
        self._rests_until: dict[str, float] = {}
        self._large_until: dict[str, float] = {}
        self._asked = 0

    def turn(self) -> float:
        """Inspect, and return the seconds until the next round."""
        begin = self._monotonic()
        self.inspect()
        return max(1.0, PERIOD_SECONDS - (self._monotonic() - begin))

    def forget(self) -> None:
        """Forget since when pods wait: another replica leads, and this one's clock counts from when it does."""
        self._look_at.clear()
        self._on_node_since.clear()

    def inspect(self) -> None:
        """Inspect the namespaces whose suspects are due, the stuck ones first, as many as MOST_REQUESTS allow."""
        if not self._may_write():
            self.forget()
            return
        begin, former, since, self._asked = self._monotonic(), self._look_at, self._on_node_since, 0
        self._look_at, self._on_node_since = {}, {}
        self._rests_until = {
            name: until for name, until in self._rests_until.items() if begin < until
        }
        self._large_until = {
            name: until for name, until in self._large_until.items() if begin < until
        }
        namespaces: dict[str, list[_Case]] = {}
        for suspect in self._suspects():
            case = _Case(suspect, 0.0)
            case = case._replace(due=former.get(case.key) or self._first_look(suspect, begin))
            self._look_at[case.key] = case.due
            if suspect.is_stuck or case.key in since:  # its wait step runs
                self._on_node_since[case.key] = since.get(case.key, begin)
            namespaces.setdefault(suspect.member.namespace, []).append(case)
        due = {
            name: min((not case.suspect.is_stuck, case.due) for case in cases if case.due <= begin)
            for name, cases in namespaces.items()
            if name not in self._rests_until and any(case.due <= begin for case in cases)
        }
        for name in sorted(
            due, key=due.__getitem__
        ):  # the longest due first, so that each gets its turn
            if self._asked >= MOST_REQUESTS:
                return
            self._inspect_namespace(name, namespaces[name], begin)

    def _server_time(self) -> datetime:
        """Return the time by the clock that wrote what pods carry, where an answer has told it."""
        return self._reader.answered or self._now()

    def _first_look(self, suspect: Suspect, now: float) -> float:
        """Choose when to look at a pod that is new here; no pod has been bound for longer than it has existed."""
        if suspect.is_stuck:
            return now + FIRST_LOOK_SECONDS
        if about_status(suspect.member):
            return now
        try:
            age = (
                self._server_time() - datetime.fromisoformat(suspect.member.created)
            ).total_seconds()
        except (ValueError, TypeError):
            age = 0.0
        return now + min(BOUND_SECONDS, max(0.0, BOUND_SECONDS - age))

    def _inspect_namespace(self, namespace: str, cases: list[_Case], begin: float) -> None:
        """Judge the suspects of a namespace: all by one list of it, once one of them needs that. A list that fails is tried again."""
        cases.sort(
            key=lambda case: (
                not case.suspect.member.is_master,
                case.suspect.member.created,
                case.suspect.member.name,
            )
        )
        survey = None
        judged = [case for case in cases if case.due <= begin]
        if any(_needs_list(case.suspect) for case in judged):
            survey = Survey((case.suspect for case in cases), self._server_time)
            try:
                if namespace not in self._large_until:
                    self._list(namespace, survey)
                if namespace in self._large_until:
                    jobs = self._ask_for_jobs(namespace, judged, survey)
                    judged = [case for case in cases if case.suspect.member.job in jobs]
                else:
                    judged = cases
            except RequestFailed as error:
                log.warning(
                    "namespace %s: pods wait, and cannot be looked at: %s", namespace, error
                )
                for case in (
                    judged
                ):  # again in the next round, but after those that have been due for longer
                    self._look_at[case.key] = begin + PERIOD_SECONDS
                return
        told: set[tuple[str, str]] = set()
        fates: dict[str, tuple[Member | None, dict[str, Fate]]] = {}
        for case in judged:
            self._look_at[case.key] = begin + AGAIN_SECONDS
            try:
                self._look_at[case.key] = begin + self._judge(case, survey, begin, told, fates)
            except Exception:  # the others are to be judged
                log.exception("pod %s/%s: cannot be judged", namespace, case.suspect.member.name)
        for job, (rank_zero, decided) in fates.items():
            self._settle((namespace, job), rank_zero, decided)

    def _judge(
        self,
        case: _Case,
        survey: Survey | None,
        begin: float,
        told: set[tuple[str, str]],
        fates: dict[str, tuple[Member | None, dict[str, Fate]]],
    ) -> float:
        """Judge one member; return the seconds after which to look again. *told*: of what each job's owner knows by now."""
        suspect, member = case.suspect, case.suspect.member
        outcome: Complaint | float | None = about_status(member)
        if outcome is None and survey is not None and not member.secondary.address:
            outcome = about_address(member, survey.placement(member))
        again = BOUND_SECONDS
        if isinstance(outcome, Complaint):
            again = AGAIN_SECONDS
            if (
                outcome.reason != EXCESSIVE or ("", EXCESSIVE) not in told
            ):  # one owner of the namespace is enough
                told.add(("", outcome.reason))
                self._tell(PodRef(member.namespace, member.name, member.uid), *outcome)
        elif outcome is not None:
            again = outcome
        if survey is not None and member.waits:
            if survey.placement(member) is not None:
                self._on_node_since.setdefault(case.key, begin)
            fate, complaint, after = survey.rule(
                suspect, begin - self._on_node_since.get(case.key, begin)
            )
            fates.setdefault(member.job, (suspect.rank_zero, {}))[1][member.uid] = fate
            if complaint is not None and (member.job, complaint.reason) not in told:
                told.add((member.job, complaint.reason))
                self._tell(PodRef(member.namespace, member.name, member.uid), *complaint)
            again = min(again, after)
        return max(PERIOD_SECONDS, again)

    def _list(self, namespace: str, survey: Survey) -> None:
        """Show the survey every live pod of the namespace, or find that it is too large for that. Raises RequestFailed."""
        began = self._monotonic()
        if self._show(LIVE_PODS, namespace, survey.add, MOST_PAGES):
            self._large_until[namespace] = began + AGAIN_SECONDS
            return
        ended = self._monotonic()
        self._rests_until[namespace] = ended + (ended - began) / LIST_SHARE

    def _ask_for_jobs(self, namespace: str, cases: Iterable[_Case], survey: Survey) -> set[str]:
        """Show the survey what is to be known of these members' jobs, the longest due first; return those of which all was shown.

        Half of a round's requests and LIST_SECONDS at most: other namespaces get their turn. Raises RequestFailed.
        """
        began, most = self._monotonic(), self._asked + MOST_REQUESTS // 2
        jobs: dict[str, bool] = {}
        for case in sorted(cases, key=lambda case: (not case.suspect.is_stuck, case.due)):
            job = case.suspect.member.job
            if self._asked >= most or self._monotonic() - began > LIST_SECONDS:
                break
            if job not in jobs:
                jobs[job] = self._ask_for_job(namespace, case.suspect, survey)
        ended = self._monotonic()
        if ended - began > LIST_SECONDS:
            self._rests_until[namespace] = ended + (ended - began) / LIST_SHARE
        return {job for job, whole in jobs.items() if whole}

    def _ask_for_job(self, namespace: str, suspect: Suspect, survey: Survey) -> bool:
        """Show the survey a job's members; where rank 0 is missing, also its other pods, without our label, and the one of its name.

        Return whether all members were shown, of whom one may be rank 0.
        """
        member, selector = suspect.member, ""

        def add(pod: Object) -> None:
            nonlocal selector
            survey.add(pod)
            selector = selector or sibling_selector(pod)

        members = PODS.select(labels=f"{names.JOB}={member.job}", fields=UNFINISHED)
        if self._show(members, namespace, add, MOST_PAGES):
            return False
        if suspect.rank_zero is not None:
            return True
        if selector:
            others = PODS.select(labels=f"{selector},!{names.JOB}", fields=UNFINISHED)
            # None of these publishes: the first ones are enough.
            self._show(others, namespace, survey.add, MOST_SIBLING_PAGES)
        if suspect.name:
            named = PODS.select(fields=f"metadata.name={first_label(suspect.name)},{UNFINISHED}")
            self._show(named, namespace, survey.add, 1)
        return True

    def _show(
        self, resource: Resource, namespace: str, add: Callable[[Object], None], most: int
    ) -> bool:
        """Pass on the first *most* pages of pods; return whether there are more. Raises RequestFailed."""
        self._asked += 1
        began, more = self._monotonic(), False
        for page in self._reader.pages(resource, add, namespace, most=most, size=PAGE_SIZE):
            more = page.more
            self._asked += more
            if self._monotonic() - began > LIST_SECONDS:
                break
        return more


def _needs_list(suspect: Suspect) -> bool:
    """Tell whether more than a member's own metadata is needed to judge it."""
    return suspect.is_stuck or not (
        suspect.member.secondary.address or about_status(suspect.member)
    )
