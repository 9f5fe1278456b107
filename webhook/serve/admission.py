"""Answer ``POST /mutate``: one decision, one log line, one count."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

from flask import Flask, Response, request

from webhook.core.model import Outcome
from webhook.core.review import Answer
from webhook.http.app import make_app
from webhook.http.bridge import RECEIVED_AT
from webhook.http.logs import log_fields
from webhook.http.refusal import Refusal, Refused
from webhook.serve.metrics import WebhookMetrics

log = logging.getLogger(__name__)


def make_admission_app(admit: Callable[[bytes], Answer], record: AdmissionRecorder) -> Flask:
    """Make the application that answers AdmissionReviews with *admit*."""
    app = make_app(__name__, lambda refusal: record.refused(refusal, request.environ.get(RECEIVED_AT)))

    @app.post("/mutate", provide_automatic_options=False)
    def mutate() -> Response:
        answer = admit(review_body())
        record.answered(answer, request.environ[RECEIVED_AT])
        return Response(answer.body, content_type="application/json")

    return app


def review_body() -> bytes:
    """Return the body of the request being answered. Raises Refused where it says that it is no JSON."""
    if request.mimetype not in ("application/json", ""):
        raise Refused(415, "content-type", f"content type {request.mimetype}: an AdmissionReview is application/json")
    return request.get_data(cache=False)


class AdmissionRecorder:
    """Write the log line and the metrics of each admission: never the value of a variable, nor a token."""

    def __init__(self, metrics: WebhookMetrics) -> None:
        self._metrics = metrics

    def answered(self, answer: Answer, received_at: float) -> None:
        """Record a decision."""
        verdict = answer.verdict
        seconds = time.perf_counter() - received_at
        fields = {"uid": answer.uid, "namespace": answer.namespace, "name": answer.name}
        if verdict is None:
            decision, reason, message = "allowed", "not-a-pod", "allowed"
        else:
            decision, reason = _decision(answer), verdict.reason
            message = f"denied: {verdict.message}" if verdict.message else decision
            fields["profile"] = verdict.profile
            fields["revision"] = verdict.revision
            for each in verdict.decisions:
                if each.outcome is Outcome.INJECTED:
                    self._metrics.injected(each.step)
        self._metrics.admission(decision, reason, seconds)
        log_fields(
            log,
            logging.INFO,
            message,
            fields
            | {
                "decision": decision,
                "reason": reason,
                "steps": [f"{each.step}:{each.outcome}" for each in verdict.decisions] if verdict else [],
                "operations": len(verdict.operations) if verdict else 0,
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
