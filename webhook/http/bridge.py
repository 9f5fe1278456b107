"""Call a WSGI application: whole bodies are read in the event loop, the application runs in a thread.

A stalled body or a silent connection therefore never holds a thread, as it does with WSGI servers.
"""

from __future__ import annotations

import io
import logging
import sys
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, TypeAlias

from webhook.http.endpoint import Endpoint, Limits
from webhook.http.pool import PoolFull, WorkerPool
from webhook.http.refusal import OVERLOADED, Refusal
from webhook.http.request import Request, Response, response_of

Environ: TypeAlias = dict[str, Any]
WSGIApplication: TypeAlias = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]

log = logging.getLogger(__name__)


class Bridge(Endpoint):
    """Answer requests with the WSGI application *app*, in the threads of *pool*; large bodies in those of *large*."""

    def __init__(
        self,
        app: WSGIApplication,
        pool: WorkerPool,
        limits: Limits,
        *,
        large: WorkerPool | None = None,
        refuse: Callable[[], Refusal | None] = lambda: None,
        on_refused: Callable[[Refusal], None] = lambda refusal: None,
    ) -> None:
        super().__init__(limits, refuse=refuse, on_refused=on_refused)
        self._app, self._pool, self._large = app, pool, large or pool

    def answer(self, request: Request) -> Awaitable[Response]:
        """Answer in a thread."""
        return self._answer(request)

    async def _answer(self, request: Request) -> Response:
        pool = self._large if request.body.is_large else self._pool
        try:
            return await pool.run(lambda: self._call(request))
        except PoolFull:
            self._on_refused(OVERLOADED)
            return response_of(OVERLOADED)

    def _call(self, request: Request) -> Response:
        """Call the application in a thread of the pool."""
        try:
            return _call(self._app, _environ(request))
        except BaseException:  # also StopIteration, which no future takes
            return self.failed()


def _call(app: WSGIApplication, environ: Environ) -> Response:
    started: list[Any] = []

    def start_response(status: str, headers: list[tuple[str, str]], exc_info: object = None) -> None:
        started[:] = status, headers

    chunks = app(environ, start_response)
    try:
        content = b"".join(chunks)
    finally:
        if close := getattr(chunks, "close", None):
            close()
    status, headers = started
    lines = [f"{name}: {value}\r\n" for name, value in headers if name.lower() != "content-length"]
    return Response(int(status[:3]), "".join(lines).encode("latin-1"), content)


def _environ(request: Request) -> Environ:
    """Describe the request as WSGI does (PEP 3333)."""
    body = request.body.take()
    environ: Environ = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": request.path,
        "QUERY_STRING": request.query.decode("latin-1"),
        "SERVER_NAME": "localhost",
        "SERVER_PORT": "0",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.items():
        key = name.decode("latin-1").upper().replace("-", "_")
        environ[f"HTTP_{key}"] = value.decode("latin-1")
    environ["CONTENT_TYPE"] = environ.pop("HTTP_CONTENT_TYPE", "")
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
