"""Answer ``POST /mutate``: one decision, one log line, one count."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from webhook.core import bounds, names
from webhook.core.errors import Unavailable
from webhook.core.model import World
from webhook.core.review import Answer, deny_unread
from webhook.http.logs import log_fields
from webhook.http.refusal import INTERNAL, UNAVAILABLE, Refusal, refusal_for
from webhook.http.request import Endpoint, Limits, Request, Response, header_lines, response_of
from webhook.serve.metrics import WebhookMetrics
from webhook.world.lookup import NotCached

THREADS = 8
SECONDS = 3.0
"""How long after a review has come the API server may be asked: it gives up after 5 s itself."""
_JSON = header_lines({"content-type": "application/json"})

log = logging.getLogger(__name__)


class Admission(Endpoint):
    """Answer AdmissionReviews of pods, in the event loop where that need not wait.

    *admit* answers a body, and may wait for the cluster; it also gets when the body came, by
    ``time.monotonic()``. *admit_cached* raises NotCached where it would have to wait: then *admit* is
    called in a thread. *refuse* says why none can be answered now, or None.
    """

    limits = Limits(read=bounds.REVIEW_BYTES, kept=bounds.UID_BYTES)

    def __init__(
        self,
        admit: Callable[[bytes, float], Answer],
        admit_cached: Callable[[bytes], Answer],
        record: AdmissionRecorder,
        *,
        refuse: Callable[[], Refusal | None] = lambda: None,
    ) -> None:
        self._admit, self._admit_cached, self._record = admit, admit_cached, record
        self._refuse = refuse
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="mutate")

    def stop(self) -> None:
        """Begin nothing more in the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def refused(self, refusal: Refusal) -> None:
        """Record a request that was refused before it came whole."""
        self._record.refused(refusal)

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer one request."""
        if refusal := self._refuse() or _misdirected(request):
            return self._refused(request, refusal)
        body = bytes(request.body)
        if request.length > len(body):
            return self._reviewed(request, partial(deny_unread, body, request.length))
        try:
            return self._reviewed(request, partial(self._admit_cached, body))
        except NotCached:
            came_at = time.monotonic() - (time.perf_counter() - request.received_at)
            admit = partial(self._admit, body, came_at)
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._executor, self._reviewed, request, admit)

    def _reviewed(self, request: Request, review: Callable[[], Answer]) -> Response:
        """Answer with what *review* returns, or with what its failure means; NotCached is raised."""
        try:
            answer = review()
            self._record.answered(answer, request.received_at)
            return Response(200, _JSON, answer.body)
        except NotCached:
            raise
        except BaseException as error:  # also StopIteration, which no future takes, and SystemExit
            refusal = refusal_for(error)
            if refusal is INTERNAL:
                log.error("internal error", exc_info=error)
            return self._refused(request, refusal)

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        self._record.refused(refusal, request.received_at)
        if refusal.reason == UNAVAILABLE.reason:  # the log names the cluster's addresses
            refusal = UNAVAILABLE
        return response_of(refusal)


def _misdirected(request: Request) -> Refusal | None:
    """Say what is wrong with a request, apart from its body."""
    path = request.path
    if path != names.MUTATE_PATH:
        message = f"{path[:100]} is not found; an AdmissionReview goes to {names.MUTATE_PATH}"
        return Refusal(404, "not-found", message)
    if request.method != "POST":
        message = f"the method {request.method} is not answered: POST an AdmissionReview"
        return Refusal(405, "method-not-allowed", message, {"Allow": "POST"})
    content_type = request.headers.get(b"content-type", b"")
    kind = content_type.partition(b";")[0].strip().lower().decode("latin-1")
    if kind not in ("application/json", ""):
        message = f"content type {kind[:100]}: an AdmissionReview is application/json"
        return Refusal(415, "content-type", message)
    return None


class WorldInTime:
    """Answer as *world* does until SECONDS after *came_at*, by ``time.monotonic()``; then raise Unavailable.

    A pod may name many networks, for each of which a slow API server would be asked.
    """

    def __init__(self, world: World, came_at: float) -> None:
        self._world, self._until = world, came_at + SECONDS

    def __getattr__(self, name: str) -> Any:
        """Return the method of this name, unless it is too late."""
        if time.monotonic() > self._until:
            found = f"what is asked of the cluster takes longer than {SECONDS:g} s"
            raise Unavailable(f"{found}: ask again")
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
        self._metrics.admissions.count(decision, reason, seconds, injected, unchanged)
        fields["decision"], fields["reason"] = decision, reason
        fields["steps"], fields["operations"] = steps, operations
        fields["milliseconds"], fields["dryRun"] = int(seconds * 1_000_000) / 1000, answer.dry_run
        log_fields(log, logging.INFO, message, fields)

    def refused(self, refusal: Refusal, received_at: float | None = None) -> None:
        """Record an answer without a decision, unless it is about another path or method: that is no admission."""
        if refusal.code in (404, 405):
            return
        seconds = None if received_at is None else time.perf_counter() - received_at
        self._metrics.admissions.count(refusal.decision, refusal.reason, seconds)
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
