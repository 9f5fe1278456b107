"""Call a WSGI application from uvicorn: whole bodies are read in the event loop, the application runs in a thread.

A stalled body or a silent connection therefore never holds a thread, as it does with WSGI servers; adapters such as asgiref's and
a2wsgi's bound neither how large a body may be nor how long it may take.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, MutableMapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from webhook.http.body import Body, Budget
from webhook.http.pool import PoolFull, WorkerPool
from webhook.http.refusal import INTERNAL, OVERLOADED, STALLED, TOO_LARGE, TOO_SLOW, Refusal

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[dict[str, Any]], Awaitable[None]]
Environ: TypeAlias = dict[str, Any]
WSGIApplication: TypeAlias = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]
Answer: TypeAlias = tuple[int, list[tuple[bytes, bytes]], bytes]

RECEIVED_AT = "fabric_injector.received_at"
"""Key of the WSGI environment: ``time.perf_counter()`` when the request's head had arrived."""
CLOSE = (b"connection", b"close")
LARGE_SECONDS = 0.5
"""How long a large body may take to come before another may have its room; a small one comes at once, or gives up its room at once."""
LINGER_SECONDS = 2.0
"""How long the rest of a refused body is read, so that its sender sees the answer instead of a reset connection."""
LINGERING = 4
"""How many are read so at a time. The others wait unread: a flood of them would take the time of those that are answered."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what requests may cost.

    *body_bytes*: one body. *small_bytes*, *large_bytes*: all of either kind that are read, wait or are worked on; ``body`` says which.
    """

    body_bytes: int = 7 << 20
    body_seconds: float = 3.0
    small_bytes: int = 8 << 20
    large_bytes: int = 8 << 20


class Bridge:
    """Make an ASGI application of the WSGI application *app*.

    Large bodies are worked on in the pool *large*. *refuse* says why no request can be taken now, or None. *on_refused* gets
    each answer that the application was not asked for.
    While *closing* is set, every answer asks its client to connect anew.
    """

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
        self._app, self._pool, self._large, self._limits = app, pool, large or pool, limits
        self._budgets = Budget(limits.small_bytes), Budget(limits.large_bytes)
        self._refuse, self._on_refused = refuse, on_refused
        self._coming: dict[Body, tuple[float, asyncio.Timeout]] = {}  # not all there yet, the oldest first
        self._lingering = asyncio.Semaphore(LINGERING)
        self.closing = False
        self.in_flight = 0
        self.last_request = time.monotonic()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        received_at = time.perf_counter()
        self.last_request = time.monotonic()
        self.in_flight += 1
        body = Body(*self._budgets, _declared(scope))
        refusal = self._refuse()
        try:
            unread = await self._read(receive, body, keep=not refusal)
            refusal = unread or refusal
            if not refusal:
                pool = self._large if body.is_large else self._pool
                try:
                    answer = await pool.run(lambda: self._call(scope, body, received_at))
                except PoolFull:
                    refusal = OVERLOADED
            if refusal:
                self._on_refused(refusal)
                answer = answer_of(refusal)
            drain, late = unread in (TOO_LARGE, OVERLOADED), unread in (TOO_SLOW, STALLED)
            await self._send(answer, receive, send, drain=drain, late=late)
        except ConnectionError:  # the client has gone
            return
        finally:
            self.in_flight -= 1
            body.free()

    async def _read(self, receive: Receive, body: Body, *, keep: bool) -> Refusal | None:
        """Read the whole *body*, within time and size. Raises ConnectionError where the client has gone."""
        if body.declared > self._limits.body_bytes:
            return TOO_LARGE
        length = 0
        try:
            async with asyncio.timeout(self._limits.body_seconds) as limit:
                self._coming[body] = asyncio.get_running_loop().time(), limit
                if keep and not self._find_room(body, body.reserve):
                    return OVERLOADED
                while True:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise ConnectionError
                    if body not in self._coming:
                        return STALLED
                    part = message["body"]
                    length += len(part)
                    if length > self._limits.body_bytes:
                        return TOO_LARGE
                    if keep and not self._find_room(body, partial(body.add, part)):
                        return OVERLOADED
                    if not message["more_body"]:
                        return None
        except TimeoutError:
            return TOO_SLOW if body in self._coming else STALLED
        finally:
            self._coming.pop(body, None)

    def _find_room(self, body: Body, take: Callable[[], bool]) -> bool:
        """Have *body* take room; where there is none, the oldest that has not come yet gives up its own."""
        while not take():
            oldest = next((each for each in self._coming if each is not body and each.shares_room_with(body)), None)
            if oldest is None:
                return False
            since, limit = self._coming[oldest]
            now = asyncio.get_running_loop().time()
            if oldest.is_large and now - since < LARGE_SECONDS:
                return False
            del self._coming[oldest]
            oldest.free()
            limit.reschedule(now)
        return True

    def _call(self, scope: Scope, body: Body, received_at: float) -> Answer:
        """Call the application in a thread of the pool; whatever it raises becomes a plain 500."""
        try:
            return _call(self._app, _environ(scope, body.take(), received_at))
        except BaseException:  # also SystemExit, which would end the event loop
            log.exception("the application raised")
            self._on_refused(INTERNAL)
            return answer_of(INTERNAL)

    async def _send(self, answer: Answer, receive: Receive, send: Send, *, drain: bool, late: bool) -> None:
        status, headers, content = answer
        if self.closing or drain or late:  # nobody waits for the rest of a late body
            headers = [*headers, CLOSE]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        if drain:
            await send({"type": "http.response.body", "body": content, "more_body": True})
            content = b""
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LINGER_SECONDS), self._lingering:
                    while (await receive()).get("more_body"):
                        pass
        await send({"type": "http.response.body", "body": content})


def _declared(scope: Scope) -> int:
    """Return the length that the request's head names; 0 where it names none."""
    return int(dict(scope["headers"]).get(b"content-length", 0))


def _call(app: WSGIApplication, environ: Environ) -> Answer:
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
    return int(status[:3]), [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers], content


def answer_of(refusal: Refusal) -> Answer:
    """Return the answer that tells *refusal*."""
    content = refusal.body
    headers = {**refusal.headers, "content-length": str(len(content))}
    return refusal.code, [(name.encode(), value.encode()) for name, value in headers.items()], content


def _environ(scope: Scope, body: bytes, received_at: float) -> Environ:
    """Describe the request as WSGI does (PEP 3333)."""
    host, port = scope["server"] or ("", 0)
    environ: Environ = {
        "REQUEST_METHOD": scope["method"],
        "SCRIPT_NAME": "",
        "PATH_INFO": scope["path"].encode().decode("latin-1"),
        "QUERY_STRING": scope["query_string"].decode("latin-1"),
        "SERVER_NAME": host,
        "SERVER_PORT": str(port),
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": scope["scheme"],
        "wsgi.input": io.BytesIO(body),
        "wsgi.input_terminated": True,
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
        RECEIVED_AT: received_at,
    }
    for name, value in scope["headers"]:
        key = name.decode("latin-1").upper().replace("-", "_")
        environ[f"HTTP_{key}"] = value.decode("latin-1")
    environ["CONTENT_TYPE"] = environ.pop("HTTP_CONTENT_TYPE", "")
    environ["CONTENT_LENGTH"] = str(len(body))
    return environ
