"""Take the requests of a listener: within bounds, counted, and answered or refused."""

from __future__ import annotations

import asyncio
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Protocol

from webhook.http.body import SMALL_BYTES, Body, Budget
from webhook.http.refusal import INTERNAL, OVERLOADED, STALLED, TOO_LARGE, Refusal
from webhook.http.request import Request, Response, response_of

log = logging.getLogger(__name__)


LARGE_SECONDS = 0.5
"""How long a large body may take to come before another may have its room; a small one comes at once, or gives up its room at once."""
REFUSED_AFTER_SECONDS = 0.5
"""How long a large body that finds no room waits, unread, for its refusal: clients that send the next one as soon as they are refused
would take all the time of others, for handshakes alone."""
LINGERING = 4
"""How many refused bodies are read at a time. The others wait unread: a flood of them would take the time of all others."""


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound what requests may cost.

    *body_bytes*: one body. *small_bytes*, *large_bytes*: all of either kind that are read, wait or are worked on; ``body`` says which.
    """

    body_bytes: int = 7 << 20
    body_seconds: float = 3.0
    small_bytes: int = 8 << 20
    large_bytes: int = 8 << 20


class Endpoints(Protocol):
    """Choose among endpoints; while *closing* is set, every answer asks its client to connect anew."""

    closing: bool

    def of(self, path: bytes) -> Endpoint:
        """Return what answers requests for *path*."""


class Endpoint(ABC):
    """Answer requests; all methods are called in the event loop.

    *refuse* says why no request can be taken now, or None. *on_refused* gets each answer that `answer` was not asked for. While
    *closing* is set, every answer asks its client to connect anew.
    """

    def __init__(
        self,
        limits: Limits,
        *,
        refuse: Callable[[], Refusal | None] = lambda: None,
        on_refused: Callable[[Refusal], None] = lambda refusal: None,
    ) -> None:
        self.limits = limits
        self._budgets = Budget(limits.small_bytes), Budget(limits.large_bytes)
        self._refuse, self._on_refused = refuse, on_refused
        self._coming: dict[
            Request, float
        ] = {}  # not all there yet, and since when, the oldest first
        self._lingering: dict[
            object, Callable[[], None]
        ] = {}  # whose rest is read, and then those whose rest is to be
        self.closing = False
        self.in_flight = 0
        self.last_request = time.monotonic()

    def of(self, path: bytes) -> Endpoint:
        """Return this one, whatever the path: it answers all."""
        return self

    @abstractmethod
    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer a request whose body has come, at once or later."""

    def begin(self, request: Request, refusal: Refusal | None) -> None:
        """Take a request whose head has come, and refuse it if that suffices to know, or for *refusal*."""
        self.last_request = now = time.monotonic()
        self.in_flight += 1
        declared = int(request.headers.get(b"content-length", b"0"))
        request.body = body = Body(*self._budgets, declared)
        request.refusal = refusal or self._refuse()
        self._coming[request] = now
        if declared > self.limits.body_bytes:
            self.drain(request, TOO_LARGE)
        elif (
            not request.refusal
            and not body.reserve()
            and not self._find_room(request, body.reserve)
        ):
            self.drain(request, OVERLOADED)

    def take(self, request: Request, part: bytes) -> None:
        """Take a part of the request's body, and refuse it where that is too much."""
        body = request.body
        if body.length + len(part) > self.limits.body_bytes:
            self.drain(request, TOO_LARGE)
        elif request.refusal:
            body.length += len(part)
        elif not body.add(part) and not self._find_room(request, partial(body.add, part)):
            self.drain(request, OVERLOADED)

    def whole(self, request: Request) -> None:
        """Know that the request has come whole."""
        self._coming.pop(request, None)

    def drain(self, request: Request, refusal: Refusal) -> None:
        """Refuse a request whose body has not come whole."""
        self._coming.pop(request, None)
        request.refusal, request.drains = refusal, True
        request.body.free()

    def respond(self, request: Request) -> Response | Awaitable[Response]:
        """Answer or refuse; whatever is raised becomes a plain 500."""
        try:
            if request.refusal:
                self._on_refused(request.refusal)
                is_large = request.refusal is OVERLOADED and request.body.declared > SMALL_BYTES
                return (
                    _later(response_of(request.refusal))
                    if is_large
                    else response_of(request.refusal)
                )
            return self.answer(request)
        except BaseException:  # also SystemExit, which would end the event loop
            return self.failed()

    def failed(self) -> Response:
        """Log the exception that is being handled, and answer with 500."""
        log.exception("internal error")
        self._on_refused(INTERNAL)
        return response_of(INTERNAL)

    def end(self, request: Request) -> None:
        """Forget a request that is answered, or whose client has gone."""
        self._coming.pop(request, None)
        self.in_flight -= 1
        request.body.free()

    def linger(self, connection: object, read_on: Callable[[], None]) -> bool:
        """Return whether the rest of a refused body may be read at once; else *read_on* is called when it may."""
        self._lingering[connection] = read_on
        return len(self._lingering) <= LINGERING

    def linger_no_longer(self, connection: object) -> None:
        """Let the next one read on."""
        if connection in self._lingering:
            place = (
                list(self._lingering).index(connection)
                if len(self._lingering) > LINGERING
                else LINGERING
            )
            del self._lingering[connection]
            if place < LINGERING:
                next(islice(self._lingering.values(), LINGERING - 1, None))()

    def _find_room(self, request: Request, take: Callable[[], bool]) -> bool:
        """Have the body take room; where there is none, the oldest that has not come yet gives up its own."""
        while not take():
            body = request.body
            oldest = next(
                (
                    each
                    for each in self._coming
                    if each is not request and each.body.shares_room_with(body)
                ),
                None,
            )
            if oldest is None or (
                oldest.body.is_large and time.monotonic() - self._coming[oldest] < LARGE_SECONDS
            ):
                return False
            self.drain(oldest, STALLED)
            oldest.on_stalled()
        return True


async def _later(response: Response) -> Response:
    await asyncio.sleep(REFUSED_AFTER_SECONDS)
    return response
