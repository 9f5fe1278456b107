"""Answer ``/livez``, ``/readyz`` and ``/metrics``, and hear when the process is to end."""

import asyncio
import signal
from collections.abc import Callable, Mapping

from webhook.http.connection import Endpoint, Request
from webhook.http.metrics import CONTENT_TYPE, Metrics
from webhook.http.refusal import STARTING, Refusal, Response, misdirected

PATHS = ("/livez", "/readyz", "/healthz", "/metrics")


class Health(Endpoint):
    """Answer probes and scrapes, in the event loop, from what is in memory.

    *checks* gives each check's problem, empty if none, without a wait. Liveness asks nothing: a
    restart repairs neither a certificate nor the API server.

    Attributes:
        draining: The process is about to end, and so not ready.
    """

    most_bytes = 0

    def __init__(self, checks: Callable[[], Mapping[str, str]], metrics: Metrics) -> None:
        self._checks, self._metrics = checks, metrics
        self._started = self.draining = False

    def starting(self) -> Refusal | None:
        """Refuse until every check went well once; later the process serves what it knows."""
        if not self._started:
            self._started = not any(self._checks().values())
        return None if self._started else STARTING

    def answer(self, request: Request) -> Response | Refusal:
        """Answer one request."""
        path, asks = request.path, "GET /livez, /readyz or /metrics"
        if refusal := misdirected(path, request.method, PATHS, ("GET", "HEAD"), asks):
            return refusal
        if path == "/metrics":
            return Response(200, self._metrics.written(), {"Content-Type": CONTENT_TYPE})
        problems = {"ping": ""}
        if path != "/livez":
            ending = "the process is about to end" if self.draining else ""
            problems = {**self._checks(), "shutdown": ending}
        return _report(path[1:], problems)


def _report(name: str, problems: Mapping[str, str]) -> Response:
    """Write what an API server's health endpoints write when they are asked for ``?verbose``."""
    failed = any(problems.values())
    lines = [
        f"[-]{check} failed: {problem}\n" if problem else f"[+]{check} ok\n"
        for check, problem in problems.items()
    ]
    text = "".join([*lines, f"{name} check {'failed' if failed else 'passed'}\n"])
    headers = {"Content-Type": "text/plain; charset=utf-8"}
    return Response(503 if failed else 200, text.encode(), headers)


def stop_asked() -> asyncio.Event:
    """Return what SIGTERM or SIGINT sets."""
    asked, loop = asyncio.Event(), asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, asked.set)
    return asked
