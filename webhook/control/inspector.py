"""Look periodically for pods whose wait will never end, and send their owners an Event."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import Protocol

from webhook.control.events import PodRef
from webhook.core.model import Object
from webhook.core.reconcile import Member
from webhook.core.reconcile.complaint import (
    BOUND_SECONDS,
    Complaint,
    about_address,
    about_rank_zero,
    about_status,
    sibling_selector,
)
from webhook.kube.catalogue import PODS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import Reader, whole

log = logging.getLogger(__name__)

PERIOD_SECONDS = 5.0
AGAIN_SECONDS = 600.0
"""When a pod that has a complaint, or was found in order, is looked at again."""
MOST_REQUESTS = 40
"""Requests of one round: what is left is looked at in the next."""
REQUEST_SECONDS = 4.0
SIBLINGS_PAGE = 100
MOST_PAGES = 5
"""How many of them are looked through for a job's rank 0; these are whole pods, so few at a time."""


class EventSink(Protocol):
    """Record Events, as EventRecorder does."""

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        """Queue an Event about the pod."""


class Inspector:
    """Inspect in rounds what *suspects* returns, each member with whether its job has a live rank 0; only while *may_write*."""

    def __init__(
        self,
        connection: Connection,
        recorder: EventSink,
        *,
        suspects: Callable[[], Iterable[tuple[Member, bool]]],
        may_write: Callable[[], bool],
        monotonic: Callable[[], float] = time.monotonic,
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._reader, self._recorder = Reader(connection, REQUEST_SECONDS), recorder
        self._suspects, self._may_write = suspects, may_write
        self._monotonic, self._now = monotonic, now
        self._look_at: dict[str, float] = {}
        self._listed: dict[tuple[str, str], float] = {}
        self._asked = 0

    def run(self, stopped: threading.Event) -> None:
        """Inspect until *stopped*."""
        while not stopped.wait(PERIOD_SECONDS):
            try:
                self.inspect()
            except Exception:  # the next round may succeed
                log.exception("inspection of waiting pods failed unexpectedly")

    def inspect(self) -> None:
        """Inspect the suspects that are due, as many as MOST_REQUESTS allow."""
        if not self._may_write():
            self._look_at.clear()
            return
        found = {member.uid: (member, has_master) for member, has_master in self._suspects()}
        begin = self._monotonic()
        self._look_at = {
            uid: self._look_at.get(uid) or self._first_look(member, begin) for uid, (member, _) in found.items()
        }
        self._listed = {job: at for job, at in self._listed.items() if begin < at + BOUND_SECONDS}
        self._asked = 0
        for uid in sorted(found, key=self._look_at.__getitem__):  # the longest due first, so that each gets its turn
            member, has_master = found[uid]
            if self._look_at[uid] > begin or self._asked >= MOST_REQUESTS:
                return
            self._look_at[uid] = begin + AGAIN_SECONDS  # whatever happens, so that the others get their turn
            outcome = about_status(member) or self._ask(member, has_master=has_master)
            after = AGAIN_SECONDS
            if isinstance(outcome, Complaint):
                self._recorder.record(PodRef(member.namespace, member.name, member.uid), *outcome)
            elif outcome is not None:
                after = max(PERIOD_SECONDS, outcome)
            self._look_at[uid] = begin + after

    def _first_look(self, member: Member, now: float) -> float:
        """Choose when to look at a pod that is new here; no pod has been bound for longer than it has existed."""
        if about_status(member):
            return now
        try:
            age = (self._now() - datetime.fromisoformat(member.created)).total_seconds()
        except (ValueError, TypeError):
            age = 0.0
        return now + min(BOUND_SECONDS, max(0.0, BOUND_SECONDS - age))

    def _ask(self, member: Member, *, has_master: bool) -> Complaint | float | None:
        """Judge a pod as it is now. A failed request is tried again in the next round."""
        if member.secondary.address and has_master:
            return BOUND_SECONDS  # its rank 0 is the one to look at
        self._asked += 1
        try:
            pod: Object | None = self._reader.find(PODS, (member.namespace, member.name), whole)
            if pod is None:
                return None
            outcome = None if member.secondary.address else about_address(member, pod, self._now())
            if outcome is None and not has_master:
                outcome = self._look_for_rank_zero(member, pod)
            return BOUND_SECONDS if outcome is None else outcome
        except RequestFailed as error:
            log.warning("pod %s/%s waits, and cannot be looked at: %s", member.namespace, member.name, error)
            return 0.0

    def _look_for_rank_zero(self, member: Member, pod: Object) -> Complaint | float | None:
        """Look through the pods of the job, once in a while for all its members: they lack the same rank 0."""
        outcome = about_rank_zero(member, pod, [], self._now())
        job = (member.namespace, member.job)
        if outcome is not None or job in self._listed:
            return outcome
        siblings = PODS.select(labels=sibling_selector(pod))
        for page in self._reader.pages(siblings, whole, member.namespace, most=MOST_PAGES, size=SIBLINGS_PAGE):
            self._asked += 1
            outcome = about_rank_zero(member, pod, page.objects, self._now())
            if outcome is not None:
                break
        self._listed[job] = self._monotonic()
        return outcome
