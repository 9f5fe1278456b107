"""Answer ``/livez``, ``/readyz`` and ``/metrics``."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flask import Flask, Response, request
from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder

from webhook.http.app import make_app
from webhook.http.refusal import STARTING, Refusal


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


def make_health_app(checks: Callable[[], Mapping[str, str]], registry: CollectorRegistry) -> Flask:
    """Make the application for probes and scrapes; *checks* gives for each check of readiness its problem, empty if none.

    Liveness asks nothing: a restart repairs neither a certificate nor the API server.
    """
    app = make_app(__name__)

    @app.get("/livez")
    def livez() -> Response:
        return _report("livez", {"ping": ""}, "verbose" in request.args)

    @app.get("/readyz")
    @app.get("/healthz")
    def readyz() -> Response:
        return _report(request.path[1:], checks(), "verbose" in request.args)

    @app.get("/metrics")
    def metrics() -> Response:
        encode, content_type = choose_encoder(request.headers.get("Accept", ""))
        return Response(encode(registry), content_type=content_type)

    return app


def _report(name: str, problems: Mapping[str, str], verbose: bool) -> Response:
    """Write what the API server's own health endpoints write; a failure always lists all checks."""
    failed = any(problems.values())
    if not failed and not verbose:
        return Response("ok", content_type="text/plain; charset=utf-8")
    lines = [f"[-]{check} failed: {problem}" if problem else f"[+]{check} ok" for check, problem in problems.items()]
    lines.append(f"{name} check {'failed' if failed else 'passed'}")
    return Response("\n".join(lines) + "\n", 503 if failed else 200, content_type="text/plain; charset=utf-8")
