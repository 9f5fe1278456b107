"""Answer ``POST /validate``: a namespace or a profile that somebody puts in, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from flask import Flask, Response, request

from webhook.core.review import ValidationAnswer
from webhook.http.app import make_app
from webhook.http.bridge import RECEIVED_AT
from webhook.http.logs import log_fields
from webhook.http.refusal import Refusal
from webhook.serve.admission import review_body
from webhook.serve.metrics import WebhookMetrics

PATH = "/validate"

log = logging.getLogger(__name__)


def make_validation_app(validate: Callable[[bytes], ValidationAnswer], record: ValidationRecorder) -> Flask:
    """Make the application that answers AdmissionReviews with *validate*."""
    app = make_app(__name__, lambda refusal: record.refused(refusal, request.environ.get(RECEIVED_AT)))

    @app.post(PATH, provide_automatic_options=False)
    def answer() -> Response:
        answered = validate(review_body())
        record.answered(answered, request.environ[RECEIVED_AT])
        return Response(answered.body, content_type="application/json")

    return app


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
