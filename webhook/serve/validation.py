"""Answer ``POST /validate``: a namespace or a profile that somebody puts in, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from webhook.core.review import ValidationAnswer
from webhook.http.endpoint import Endpoint, Limits
from webhook.http.logs import log_fields
from webhook.http.pool import PoolFull, WorkerPool
from webhook.http.refusal import INTERNAL, OVERLOADED, Refusal, refusal_for
from webhook.http.request import Request, Response, response_of
from webhook.serve.admission import JSON, misdirected
from webhook.serve.metrics import WebhookMetrics

PATH = "/validate"

log = logging.getLogger(__name__)


class Validation(Endpoint):
    """Answer AdmissionReviews with *validate*, in the threads of *pool*, for it may wait for the cluster and for a process."""

    def __init__(
        self,
        validate: Callable[[bytes], ValidationAnswer],
        record: ValidationRecorder,
        pool: WorkerPool,
        limits: Limits,
        *,
        refuse: Callable[[], Refusal | None] = lambda: None,
    ) -> None:
        super().__init__(limits, refuse=refuse, on_refused=record.refused)
        self._validate, self._record, self._pool = validate, record, pool

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer one request."""
        if refusal := misdirected(request, PATH):
            return self._refused(refusal, request)
        return self._answer(request.body.take(), request)

    async def _answer(self, body: bytes, request: Request) -> Response:
        def answer() -> Response:
            try:
                answered = self._validate(body)
            except BaseException as error:  # also StopIteration, which no future takes
                refusal = refusal_for(error)
                if refusal is INTERNAL:
                    log.error("internal error", exc_info=error)
                return self._refused(refusal, request)
            self._record.answered(answered, request.received_at)
            return Response(200, JSON, answered.body)

        try:
            return await self._pool.run(answer)
        except PoolFull:
            return self._refused(OVERLOADED, request)

    def _refused(self, refusal: Refusal, request: Request) -> Response:
        self._record.refused(refusal, request.received_at)
        return response_of(refusal)


class ValidationRecorder:
    """Write the log line and the metrics of each validation."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics

    def answered(self, answer: ValidationAnswer, received_at: float) -> None:
        """Record what was answered."""
        said = answer.validation
        decision = "denied" if said.refusal else "warned" if said.warnings else "allowed"
        seconds = time.perf_counter() - received_at
        self._metrics.validation(answer.entry, decision, seconds)
        told = said.refusal or "; ".join(said.warnings)
        fields = {
            "uid": answer.uid,
            "entry": answer.entry,
            "operation": answer.operation,
            "name": answer.name,
            "decision": decision,
            "milliseconds": round(seconds * 1000, 3),
            "dryRun": answer.dry_run,
        }
        log_fields(log, logging.INFO, f"validation {decision}{f': {told}' if told else ''}", fields)

    def refused(self, refusal: Refusal, received_at: float | None = None) -> None:
        """Record an answer that says nothing of the object; requests by other methods are left out."""
        if refusal.code in (404, 405):
            return
        seconds = None if received_at is None else time.perf_counter() - received_at
        self._metrics.validation("", refusal.decision, seconds)
        fields = {"decision": refusal.decision, "reason": refusal.reason, "status": refusal.code}
        log_fields(log, logging.WARNING, f"validation {refusal.decision}: {refusal.message}", fields)
