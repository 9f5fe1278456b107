"""Answer ``POST /mutate``: one decision, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from webhook.core.model import Outcome
from webhook.core.review import Answer
from webhook.http.endpoint import Endpoint, Limits
from webhook.http.logs import log_fields
from webhook.http.pool import PoolFull, WorkerPool
from webhook.http.refusal import INTERNAL, OVERLOADED, Refusal, refusal_for
from webhook.http.request import Request, Response, header_lines, response_of
from webhook.serve.metrics import WebhookMetrics
from webhook.world.lookup import MustAsk

PATH = "/mutate"
JSON = header_lines({"content-type": "application/json"})

log = logging.getLogger(__name__)


class Admission(Endpoint):
    """Answer AdmissionReviews: small ones at once, in the event loop, others in a thread.

    *admit* answers a body, and may wait for the cluster; *admit_at_once* raises MustAsk where it would have to. Large bodies go to the
    pool *large*, those that wait for the cluster to *pool*. *refuse* says why none can be answered now, or None.
    """

    def __init__(
        self,
        admit: Callable[[bytes], Answer],
        admit_at_once: Callable[[bytes], Answer],
        record: AdmissionRecorder,
        *,
        pool: WorkerPool,
        large: WorkerPool,
        refuse: Callable[[], Refusal | None] = lambda: None,
        limits: Limits = Limits(),  # noqa: B008  # frozen
    ) -> None:
        super().__init__(limits, refuse=refuse, on_refused=record.refused)
        self._admit, self._admit_at_once, self._record = admit, admit_at_once, record
        self._pool, self._large = pool, large

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer one request."""
        if refusal := misdirected(request, PATH):
            return self._refused(refusal, request)
        is_large = request.body.is_large
        body = request.body.take()
        if is_large:
            return self._answer_in(self._large, body, request)
        try:
            answer = self._admit_at_once(body)
        except MustAsk:
            return self._answer_in(self._pool, body, request)
        except Exception as error:
            return self._failed(error, request)
        return self._answered(answer, request)

    async def _answer_in(self, pool: WorkerPool, body: bytes, request: Request) -> Response:
        def answer() -> Response:
            try:
                return self._answered(self._admit(body), request)
            except BaseException as error:  # also StopIteration, which no future takes
                return self._failed(error, request)

        try:
            return await pool.run(answer)
        except PoolFull:
            return self._refused(OVERLOADED, request)

    def _answered(self, answer: Answer, request: Request) -> Response:
        self._record.answered(answer, request.received_at)
        return Response(200, JSON, answer.body)

    def _failed(self, error: BaseException, request: Request) -> Response:
        refusal = refusal_for(error)
        if refusal is INTERNAL:
            log.error("internal error", exc_info=error)
        return self._refused(refusal, request)

    def _refused(self, refusal: Refusal, request: Request) -> Response:
        self._record.refused(refusal, request.received_at)
        return response_of(refusal)


def misdirected(request: Request, path: str) -> Refusal | None:
    """Say what is wrong with a request for AdmissionReviews at *path*, apart from its body."""
    if request.path != path:
        return Refusal(404, "not-found", f"{request.path[:100]} is not found; an AdmissionReview goes to {path}")
    if request.method != "POST":
        message = f"the method {request.method} is not answered: POST an AdmissionReview"
        return Refusal(405, "method-not-allowed", message, {"Allow": "POST"})
    content_type = request.headers.get(b"content-type", b"")
    if content_type != b"application/json":
        kind = content_type.partition(b";")[0].strip().lower().decode("latin-1")
        if kind not in ("application/json", ""):
            message = f"content type {kind[:100]}: an AdmissionReview is application/json"
            return Refusal(415, "content-type", message)
    return None


class AdmissionRecorder:
    """Write the log line and the metrics of each admission: never the value of a variable, nor a token."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics

    def answered(self, answer: Answer, received_at: float) -> None:
        """Record a decision."""
        verdict = answer.verdict
        seconds = time.perf_counter() - received_at
        fields = {"uid": answer.uid, "namespace": answer.namespace, "name": answer.name}
        injected: list[str] = []
        if verdict is None:
            decision, reason, message = "allowed", "not-a-pod", "allowed"
            steps, operations = [], 0
        else:
            decision, reason = _decision(answer), verdict.reason
            message = f"denied: {verdict.message}" if verdict.message else decision
            fields["profile"], fields["revision"] = verdict.profile, verdict.revision
            steps = [f"{each.step}:{each.outcome}" for each in verdict.decisions]
            injected = [each.step for each in verdict.decisions if each.outcome is Outcome.INJECTED]
            operations = len(verdict.operations)
        self._metrics.admission(decision, reason, seconds, injected)
        fields["decision"], fields["reason"] = decision, reason
        log_fields(
            log,
            logging.INFO,
            message,
            {
                **fields,
                "steps": steps,
                "operations": operations,
                "milliseconds": round(seconds * 1000, 3),
                "dryRun": answer.dry_run,
            },
        )

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
