"""Answer ``POST /validate``: a namespace or a profile that somebody puts in, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Awaitable, Callable

from webhook.core import names
from webhook.core.review import ValidationAnswer
from webhook.http.endpoint import Limits
from webhook.http.logs import log_fields
from webhook.http.refusal import Refusal
from webhook.http.request import Request, Response
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.review_endpoint import ReviewEndpoint

THREADS = 4
WAITING = 16

log = logging.getLogger(__name__)


class Validation(ReviewEndpoint):
    """Answer AdmissionReviews with *validate*, in threads, for it may wait for the cluster and for a process."""

    def __init__(
        self,
        validate: Callable[[bytes], ValidationAnswer],
        record: ValidationRecorder,
        limits: Limits,
        *,
        refuse: Callable[[], Refusal | None] = lambda: None,
    ) -> None:
        super().__init__(names.VALIDATE_PATH, record, limits, refuse, threads=THREADS, waiting=WAITING)
        self._validate, self._record = validate, record

    def review(self, request: Request, body: bytes) -> Response | Awaitable[Response]:
        """Answer the review of a namespace, a profile or the Configuration."""

        def answer() -> bytes:
            answered = self._validate(body)
            self._record.answered(answered, request.received_at)
            return answered.body

        return self.reviewed_later(request, answer)


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
