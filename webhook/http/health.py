"""Answer ``/livez``, ``/readyz`` and ``/metrics``.

Probes are answered in the event loop, from what is in memory; one thread writes metrics. So nobody who
asks for metrics can keep the kubelet from its answer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from webhook.http.refusal import STARTING, Refusal
from webhook.http.request import Endpoint, Limits, Request, Response, header_lines, response_of

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

_TEXT = b"content-type: text/plain; charset=utf-8\r\n"


class Readiness:
    """Decide whether admission requests should come here: *checks* gives each check's problem, empty if none."""

    def __init__(self, checks: Callable[[], Mapping[str, str]]) -> None:
        self._checks = checks
        self._started = False
        self.draining = False

    def checks(self) -> Mapping[str, str]:
        """Return every check's problem, with one more check for a process that is about to end."""
        ending = "the process is about to end" if self.draining else ""
        return {**self._checks(), "shutdown": ending}

    def refusal(self) -> Refusal | None:
        """Refuse requests until every check went well once; later the process serves what it knows."""
        if not self._started:
            self._started = not any(self._checks().values())
        return None if self._started else STARTING


class Health(Endpoint):
    """Answer probes and scrapes; *checks* gives each check's problem, empty if none, and must not block.

    *registry* is asked for by a scrape, in the thread that writes metrics. Liveness asks nothing: a
    restart repairs neither a certificate nor the API server. No request may have a body.
    """

    limits = Limits(most=0)

    def __init__(
        self, checks: Callable[[], Mapping[str, str]], registry: Callable[[], CollectorRegistry]
    ) -> None:
        self._checks, self._registry = checks, registry
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="metrics")

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer one request."""
        path = request.path
        if path not in ("/livez", "/readyz", "/healthz", "/metrics"):
            message = f"{path[:100]} is not found; ask for /livez, /readyz or /metrics"
            return response_of(Refusal(404, "not-found", message))
        if request.method not in ("GET", "HEAD"):
            message = f"{path} answers GET only"
            return response_of(Refusal(405, "method-not-allowed", message, {"Allow": "GET, HEAD"}))
        if path == "/metrics":
            accept = request.headers.get(b"accept", b"").decode("latin-1")
            loop = asyncio.get_running_loop()
            return loop.run_in_executor(self._executor, self._scrape, accept)
        is_verbose = b"verbose" in (part.partition(b"=")[0] for part in request.query.split(b"&"))
        return _report(path[1:], {"ping": ""} if path == "/livez" else self._checks(), is_verbose)

    def stop(self) -> None:
        """End the thread that writes metrics."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def _scrape(self, accept: str) -> Response:
        from prometheus_client.exposition import choose_encoder

        encode, content_type = choose_encoder(accept)
        lines = header_lines({"content-type": content_type})
        return Response(200, lines, encode(self._registry()))


def _report(name: str, problems: Mapping[str, str], verbose: bool) -> Response:
    """Write what the API server's own health endpoints write; a failure always lists all checks."""
    failed = any(problems.values())
    if not failed and not verbose:
        return Response(200, _TEXT, b"ok")
    lines = [
        f"[-]{check} failed: {problem}" if problem else f"[+]{check} ok"
        for check, problem in problems.items()
    ]
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return Response(503 if failed else 200, _TEXT, ("\n".join(lines) + "\n").encode())
