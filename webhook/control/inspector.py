"""Look periodically for pods whose wait will never end: end it, let them meet by name, and send their owners an Event."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, Protocol

from webhook.control.events import PodRef
from webhook.core.reconcile import Fate, Member, Suspect
from webhook.core.reconcile.complaint import BOUND_SECONDS, EXCESSIVE, Complaint, about_address, about_status
from webhook.core.reconcile.rank_zero import Survey
from webhook.kube.catalogue import PODS, UNFINISHED
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader

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
LIST_SECONDS = 20.0
"""How long one namespace is listed, whatever its pods weigh: the others wait meanwhile. What is read until then counts."""
LIVE_PODS = PODS.select(fields=UNFINISHED)


class EventSink(Protocol):
    """Record Events, as EventRecorder does."""

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        """Queue an Event about the pod."""


class _Case(NamedTuple):
    """A suspect, and when it is due."""

    suspect: Suspect
    due: float

    @property
    def key(self) -> tuple[str, bool]:
        """Return what its due time is remembered by: one that gets stuck is looked at sooner."""
        return self.suspect.member.uid, self.suspect.is_stuck


class Inspector:
    """Inspect in rounds what *suspects* returns, with one list of each namespace for all its jobs; only while *may_write*.

    *settle* gets what becomes of the members of one job, by uid, and the rank 0 that this was decided about.
    """

    def __init__(
        self,
        connection: Connection,
        recorder: EventSink,
        *,
        suspects: Callable[[], Iterable[Suspect]],
        settle: Callable[[tuple[str, str], Member | None, Mapping[str, Fate]], None],
        may_write: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader, self._recorder = Reader(connection, REQUEST_SECONDS), recorder
        self._suspects, self._settle, self._may_write = suspects, settle, may_write
        self._monotonic, self._now = monotonic, now
        self._look_at: dict[tuple[str, bool], float] = {}
        self._rests_until: dict[str, float] = {}
        self._asked = 0

    def run(self, stopped: threading.Event) -> None:
        """Inspect until *stopped*."""
        pause = PERIOD_SECONDS
        while not stopped.wait(pause):
            begin = self._monotonic()
            try:
                self.inspect()
            except Exception:  # the next round may succeed
                log.exception("inspection of waiting pods failed unexpectedly")
            pause = max(1.0, PERIOD_SECONDS - (self._monotonic() - begin))

    def inspect(self) -> None:
        """Inspect the namespaces whose suspects are due, the stuck ones first, as many as MOST_REQUESTS allow."""
        if not self._may_write():
            self._look_at.clear()
            return
        begin, former, self._asked = self._monotonic(), self._look_at, 0
        self._look_at = {}
        self._rests_until = {name: until for name, until in self._rests_until.items() if begin < until}
        namespaces: dict[str, list[_Case]] = {}
        for suspect in self._suspects():
            case = _Case(suspect, 0.0)
            case = case._replace(due=former.get(case.key) or self._first_look(suspect, begin))
            self._look_at[case.key] = case.due
            namespaces.setdefault(suspect.member.namespace, []).append(case)
        due = {
            name: min((not case.suspect.is_stuck, case.due) for case in cases if case.due <= begin)
            for name, cases in namespaces.items()
            if name not in self._rests_until and any(case.due <= begin for case in cases)
        }
        for name in sorted(due, key=due.__getitem__):  # the longest due first, so that each gets its turn
            if self._asked >= MOST_REQUESTS:
                return
            self._inspect_namespace(name, namespaces[name], begin)

    def _first_look(self, suspect: Suspect, now: float) -> float:
        """Choose when to look at a pod that is new here; no pod has been bound for longer than it has existed."""
        if suspect.is_stuck:
            return now + FIRST_LOOK_SECONDS
        if about_status(suspect.member):
            return now
        try:
            age = (self._now() - datetime.fromisoformat(suspect.member.created)).total_seconds()
        except (ValueError, TypeError):
            age = 0.0
        return now + min(BOUND_SECONDS, max(0.0, BOUND_SECONDS - age))

    def _inspect_namespace(self, namespace: str, cases: list[_Case], begin: float) -> None:
        """Judge the suspects of a namespace: all by one list of it, once one of them needs that. A list that fails is tried again."""
        cases.sort(
            key=lambda case: (not case.suspect.member.is_master, case.suspect.member.created, case.suspect.member.name)
        )
        survey = None
        if any(case.due <= begin and _needs_list(case.suspect) for case in cases):
            survey = Survey((case.suspect for case in cases), self._now())
            try:
                self._list(namespace, survey)
            except RequestFailed as error:
                log.warning("namespace %s: pods wait, and cannot be looked at: %s", namespace, error)
                return
        told: set[tuple[str, str]] = set()
        fates: dict[str, tuple[Member | None, dict[str, Fate]]] = {}
        for case in cases:
            if case.due <= begin or survey is not None:
                self._look_at[case.key] = begin + AGAIN_SECONDS
                try:
                    self._look_at[case.key] = begin + self._judge(case.suspect, survey, told, fates)
                except Exception:  # the others are to be judged
                    log.exception("pod %s/%s: cannot be judged", namespace, case.suspect.member.name)
        for job, (rank_zero, decided) in fates.items():
            self._settle((namespace, job), rank_zero, decided)

    def _judge(
        self,
        suspect: Suspect,
        survey: Survey | None,
        told: set[tuple[str, str]],
        fates: dict[str, tuple[Member | None, dict[str, Fate]]],
    ) -> float:
        """Judge one member; return the seconds after which to look again. *told*: of what each job's owner knows by now."""
        member = suspect.member
        outcome: Complaint | float | None = about_status(member)
        if outcome is None and survey is not None and not member.secondary.address:
            outcome = about_address(member, survey.placement(member))
        again = BOUND_SECONDS
        if isinstance(outcome, Complaint):
            again = AGAIN_SECONDS
            if outcome.reason != EXCESSIVE or ("", EXCESSIVE) not in told:  # one owner of the namespace is enough
                told.add(("", outcome.reason))
                self._recorder.record(PodRef(member.namespace, member.name, member.uid), *outcome)
        elif outcome is not None:
            again = outcome
        if survey is not None and member.waits_for_rank_zero:
            fate, complaint, after = survey.rule(suspect)
            fates.setdefault(member.job, (suspect.rank_zero, {}))[1][member.uid] = fate
            if complaint is not None and (member.job, complaint.reason) not in told:
                told.add((member.job, complaint.reason))
                self._recorder.record(PodRef(member.namespace, member.name, member.uid), *complaint)
            again = min(again, after)
        return max(PERIOD_SECONDS, again)

    def _list(self, namespace: str, survey: Survey) -> None:
        """Show the survey every live pod of the namespace. Raises RequestFailed."""
        began = self._monotonic()
        for page in self._reader.pages(LIVE_PODS, survey.add, namespace, most=MOST_PAGES, size=PAGE_SIZE):
            self._asked += 1
            survey.is_partial = page.more
            if self._monotonic() - began > LIST_SECONDS:
                break
        ended = self._monotonic()
        self._rests_until[namespace] = ended + (ended - began) / LIST_SHARE


def _needs_list(suspect: Suspect) -> bool:
    """Tell whether more than a member's own metadata is needed to judge it."""
    return suspect.is_stuck or not (suspect.member.secondary.address or about_status(suspect.member))
