"""Answer ``POST /mutate``: one decision, one log line, one count."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, cast

from webhook.core import bounds, names
from webhook.core.model import World
from webhook.core.profiles import Profiles
from webhook.core.review import Answer, answer_review, deny_unread
from webhook.http.connection import Endpoint, Request
from webhook.http.logs import log_fields
from webhook.http.refusal import Refusal, Response, answered, misdirected
from webhook.serve.metrics import WebhookMetrics
from webhook.world.lookup import InTime, NotCached

THREADS = 8
ASKS = f"POST an AdmissionReview to {names.MUTATE_PATH}"
UNAVAILABLE = "the cluster cannot be asked; ask again; the log of fabric-injector says why"
"""What a client gets; the log names the cluster's addresses."""

log = logging.getLogger(__name__)


class Admission(Endpoint):
    """Answer AdmissionReviews of pods, in the event loop where that need not wait.

    *cached* answers as *world* does, and raises NotCached where it would have to wait: then a
    thread asks *world*. *starting* says why no review can be answered yet, or None.
    """

    read_bytes, kept_bytes = bounds.REVIEW_BYTES, bounds.UID_BYTES

    def __init__(
        self,
        profiles: Callable[[], Profiles],
        world: World,
        cached: World,
        metrics: WebhookMetrics,
        starting: Callable[[], Refusal | None] = lambda: None,
    ) -> None:
        self._profiles, self._world, self._cached = profiles, world, cached
        self._metrics, self._starting = metrics, starting
        self._executor = ThreadPoolExecutor(THREADS, thread_name_prefix="mutate")

    def stop(self) -> None:
        """Begin nothing more in the threads."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: Request) -> Response | Refusal | Awaitable[Response | Refusal]:
        """Answer one request."""
        path, method = request.path, request.method
        astray = misdirected(path, method, (names.MUTATE_PATH,), ("POST",), ASKS)
        if refusal := self._starting() or astray:
            return refusal
        try:
            return self._review(request, self._cached)
        except NotCached:
            world = cast("World", InTime(self._world, request.received_at))
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._executor, answered, self._review, request, world)

    def refuse(self, refusal: Refusal, request: Request | None) -> Refusal:
        """Record a refusal, unless it is about another path or method: that is no admission."""
        if refusal.code in (404, 405):
            return refusal
        seconds = time.perf_counter() - request.received_at if request else None
        self._metrics.count(refusal.decision, refusal.reason, seconds)
        fields = {"decision": refusal.decision, "reason": refusal.reason, "status": refusal.code}
        log_fields(log, logging.WARNING, f"{refusal.decision}: {refusal.message}", fields)
        if refusal.reason == "unavailable":
            return Refusal(refusal.code, refusal.reason, UNAVAILABLE)
        return refusal

    def _review(self, request: Request, world: World) -> Response:
        body = bytes(request.body)
        if request.length > len(body):
            answer = deny_unread(body, request.length)
        else:
            answer = answer_review(body, self._profiles(), world)
        self._record(answer, time.perf_counter() - request.received_at)
        return Response(200, answer.body)

    def _record(self, answer: Answer, seconds: float) -> None:
        """Write the log line and the metrics: never the value of a variable, nor a token."""
        verdict = answer.verdict
        decision, reason, message, steps, injected = _told(answer)
        fields: dict[str, Any] = {
            "uid": answer.uid,
            "namespace": answer.namespace,
            "name": answer.name,
        }
        if verdict:
            fields["profile"], fields["revision"] = verdict.profile, verdict.revision
        unchanged = "dry-run" if answer.dry_run else "observe" if decision == "observed" else ""
        self._metrics.count(decision, reason, seconds, injected, unchanged)
        fields["decision"], fields["reason"], fields["steps"] = decision, reason, steps
        fields["operations"] = len(verdict.operations) if verdict else 0
        fields["milliseconds"], fields["dryRun"] = int(seconds * 1_000_000) / 1000, answer.dry_run
        log_fields(log, logging.INFO, message, fields)


def _told(answer: Answer) -> tuple[str, str, str, list[str], list[str]]:
    """Return decision, reason, message, what each step did, and the steps that injected."""
    verdict = answer.verdict
    if verdict is None:
        return "allowed", "not-a-pod", "allowed", [], []
    decision = "injected" if verdict.reason == "injected" else "allowed"
    if verdict.observed:
        decision = "observed"
    elif not verdict.allowed:
        decision = "denied"
    message = f"denied: {verdict.message}" if verdict.message else decision
    return decision, verdict.reason, message, verdict.told, verdict.injected
