"""Answer ``/livez``, ``/readyz`` and ``/metrics``.

Probes are answered in the event loop, from what is in memory: nobody who asks for metrics on the same open port can keep the kubelet
from its answer. Metrics are written by one thread, for a few clients at a time.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from webhook.http.bridge import CLOSE, Answer, Receive, Scope, Send, answer_of
from webhook.http.pool import PoolFull, WorkerPool
from webhook.http.refusal import INTERNAL, OVERLOADED, STARTING, TOO_LARGE, Refusal

SCRAPES = 4
"""Most clients that wait for metrics; a cluster has one Prometheus, or two."""
_TEXT = "text/plain; charset=utf-8"

log = logging.getLogger(__name__)


class Readiness:
    """Decide whether admission requests should come here: *checks* gives each check's problem, empty if there is none."""

    def __init__(self, checks: Callable[[], Mapping[str, str]]) -> None:
        self._checks = checks
        self._started = False
        self.draining = False

    def checks(self) -> Mapping[str, str]:
        """Return every check's problem, with one more check for a process that is about to end."""
        return {**self._checks(), "shutdown": "the process is about to end" if self.draining else ""}

    def refusal(self) -> Refusal | None:
        """Refuse requests until every check went well once; later the process serves what it knows."""
        if not self._started:
            self._started = not any(self._checks().values())
        return None if self._started else STARTING


class Health:
    """Answer probes and scrapes; *checks* gives for each check of readiness its problem, empty if none, and must not block.

    Liveness asks nothing: a restart repairs neither a certificate nor the API server. An ASGI application.
    """

    def __init__(self, checks: Callable[[], Mapping[str, str]], registry: CollectorRegistry) -> None:
        self._checks, self._registry = checks, registry
        self._pool = WorkerPool("metrics", waiting=SCRAPES - 1)
        self.closing = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request, whose body is not read."""
        headers = dict(scope["headers"])
        has_body = headers.get(b"content-length", b"0") != b"0" or b"transfer-encoding" in headers
        try:
            answer = answer_of(TOO_LARGE) if has_body else await self._answer(scope, headers.get(b"accept", b""))
        except Exception:
            log.exception("internal error")
            answer = answer_of(INTERNAL)
        status, lines, content = answer
        if self.closing or has_body:
            lines = [*lines, CLOSE]
        await send({"type": "http.response.start", "status": status, "headers": lines})
        await send({"type": "http.response.body", "body": content})

    def stop(self) -> None:
        """End the thread that writes metrics."""
        self._pool.stop()

    async def _answer(self, scope: Scope, accept: bytes) -> Answer:
        path = scope["path"]
        if path not in ("/livez", "/readyz", "/healthz", "/metrics"):
            return answer_of(
                Refusal(404, "not-found", f"{path[:100]} is not found; ask for /livez, /readyz or /metrics")
            )
        if scope["method"] not in ("GET", "HEAD"):
            message = f"{path} answers GET alone"
            return answer_of(Refusal(405, "method-not-allowed", message, {"Allow": "GET, HEAD"}))
        if path == "/metrics":
            return await self._metrics(accept.decode("latin-1"))
        is_verbose = b"verbose" in (part.partition(b"=")[0] for part in scope["query_string"].split(b"&"))
        return _report(path[1:], {"ping": ""} if path == "/livez" else self._checks(), is_verbose)

    async def _metrics(self, accept: str) -> Answer:
        encode, content_type = choose_encoder(accept)
        try:
            return _answer(200, content_type, await self._pool.run(lambda: encode(self._registry)))
        except PoolFull:
            return answer_of(OVERLOADED)


def _report(name: str, problems: Mapping[str, str], verbose: bool) -> Answer:
    """Write what the API server's own health endpoints write; a failure always lists all checks."""
    failed = any(problems.values())
    if not failed and not verbose:
        return _answer(200, _TEXT, b"ok")
    lines = [f"[-]{check} failed: {problem}" if problem else f"[+]{check} ok" for check, problem in problems.items()]
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return _answer(503 if failed else 200, _TEXT, ("\n".join(lines) + "\n").encode())


def _answer(status: int, content_type: str, content: bytes) -> Answer:
    return status, [(b"content-type", content_type.encode()), (b"content-length", b"%d" % len(content))], content
