"""Answer ``POST /mutate``: one decision, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any, Protocol

from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import World
from webhook.core.review import Answer
from webhook.http.endpoint import Limits
from webhook.http.logs import log_fields
from webhook.http.refusal import Refusal
from webhook.http.request import Request, Response
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.review_endpoint import ReviewEndpoint
from webhook.world.lookup import MustAsk

THREADS = 8
WAITING = 256
SECONDS = 3.0
"""How long after a review has come the API server may be asked: it gives up after 5 s, and one answer of it may take one."""

log = logging.getLogger(__name__)


class AdmitInTime(Protocol):
    """Answer a body in time; *came_at*: when it came, by ``time.monotonic()``."""

    def __call__(self, body: bytes, came_at: float) -> Answer:
        """Return the answer."""


class Admission(ReviewEndpoint):
    """Answer AdmissionReviews of pods, in the event loop where that need not wait.

    *admit* answers a body, and may wait for the cluster; *admit_at_once* raises MustAsk where it would have to: then *admit* is called
    in a thread. *refuse* says why none can be answered now, or None.
    """

    def __init__(
        self,
        admit: AdmitInTime,
        admit_at_once: Callable[[bytes], Answer],
        record: AdmissionRecorder,
        *,
        refuse: Callable[[], Refusal | None] = lambda: None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
        threads: int = THREADS,
        waiting: int = WAITING,
    ) -> None:
        super().__init__(
            names.MUTATE_PATH, record, limits, refuse, threads=threads, waiting=waiting
        )
        self._admit, self._admit_at_once, self._record = admit, admit_at_once, record

    def review(self, request: Request, body: bytes) -> Response | Awaitable[Response]:
        """Answer the review of a pod."""
        try:
            return self.reviewed(request, partial(self._answer, self._admit_at_once, request, body))
        except MustAsk:
            came_at = time.monotonic() - (time.perf_counter() - request.received_at)
            admit = partial(self._admit, came_at=came_at)
            return self.reviewed_later(request, partial(self._answer, admit, request, body))

    def _answer(self, admit: Callable[[bytes], Answer], request: Request, body: bytes) -> bytes:
        answer = admit(body)
        self._record.answered(answer, request.received_at)
        return answer.body


class WorldInTime:
    """Answer as *world* does until SECONDS after *came_at*, by ``time.monotonic()``; then raise Unavailable.

    A pod may name many networks, for each of which a slow API server would be asked.
    """

    def __init__(self, world: World, came_at: float) -> None:
        self._world, self._until = world, came_at + SECONDS

    def __getattr__(self, name: str) -> Any:
        """Return the method of this name, unless it is too late."""
        if time.monotonic() > self._until:
            raise Unavailable(
                f"what is asked of the cluster takes longer than {SECONDS:g} s: ask again"
            )
        return getattr(self._world, name)


class AdmissionRecorder:
    """Write the log line and the metrics of each admission: never the value of a variable, nor a token."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics

    def answered(self, answer: Answer, received_at: float) -> None:
        """Record a decision."""
        verdict = answer.verdict
        seconds = time.perf_counter() - received_at
        fields: dict[str, Any] = {
            "uid": answer.uid,
            "namespace": answer.namespace,
            "name": answer.name,
        }
        injected: list[str] = []
        if verdict is None:
            decision, reason, message = "allowed", "not-a-pod", "allowed"
            steps, operations = [], 0
        else:
            decision, reason = _decision(answer), verdict.reason
            message = f"denied: {verdict.message}" if verdict.message else decision
            fields["profile"], fields["revision"] = verdict.profile, verdict.revision
            steps, injected, operations = verdict.told, verdict.injected, len(verdict.operations)
        unchanged = "dry-run" if answer.dry_run else "observe" if decision == "observed" else ""
        self._metrics.admission(decision, reason, seconds, injected, unchanged)
        fields["decision"], fields["reason"] = decision, reason
        fields["steps"], fields["operations"] = steps, operations
        fields["milliseconds"], fields["dryRun"] = int(seconds * 1_000_000) / 1000, answer.dry_run
        log_fields(log, logging.INFO, message, fields)

    def refused(self, refusal: Refusal, received_at: float | None = None) -> None:
        """Record an answer without a decision; requests to other paths or by other methods are not admissions, and left out."""
        if refusal.code in (404, 405):
            return
        seconds = None if received_at is None else time.perf_counter() - received_at
        self._metrics.admission(refusal.decision, refusal.reason, seconds)
        fields = {"decision": refusal.decision, "reason": refusal.reason, "status": refusal.code}
        log_fields(log, logging.WARNING, f"{refusal.decision}: {refusal.message}", fields)


def _decision(answer: Answer) -> str:
    verdict = answer.verdict
    if verdict is None:
        return "allowed"
    if verdict.observed:
        return "observed"
    if not verdict.allowed:
        return "denied"
    return "injected" if verdict.reason == "injected" else "allowed"
