"""Describe a request, its answer and who answers, apart from the connection that they travel on."""

from __future__ import annotations

import logging
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from webhook.http.refusal import INTERNAL, Refusal

log = logging.getLogger(__name__)


class Response(NamedTuple):
    """Hold an answer; *lines*: its header lines, each ended by CRLF, without what every answer has."""

    status: int
    lines: bytes
    content: bytes


class Request:
    """Hold a request.

    *headers*: by name in lower case; of a name that comes twice, the last. *length*: bytes of the body,
    more than *body* holds where the limits let only its beginning be kept. *received_at*:
    ``time.perf_counter()`` at the end of the head.
    """

    __slots__ = ("body", "headers", "keeps_alive", "length", "method", "received_at", "target")

    def __init__(
        self, method: str, target: bytes, headers: Mapping[bytes, bytes], *, keeps_alive: bool
    ) -> None:
        self.method, self.target, self.headers = method, target, headers
        self.keeps_alive = keeps_alive
        self.length = int(headers.get(b"content-length", b"0"))
        self.body: bytes | bytearray = b""
        self.received_at = time.perf_counter()

    @property
    def path(self) -> str:
        """Return the path."""
        return self.target.partition(b"?")[0].decode("latin-1")

    @property
    def query(self) -> bytes:
        """Return what follows the path."""
        return self.target.partition(b"?")[2]


@dataclass(frozen=True, slots=True)
class Limits:
    """Bound bodies: a longer one than *most* bytes is refused; of one longer than *read*, *kept* are kept."""

    most: int = 7 << 20
    read: int = 7 << 20
    kept: int = 1 << 10


class Endpoint(ABC):
    """Answer requests; all methods are called in the event loop."""

    limits = Limits()

    @abstractmethod
    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer a request whose body has come, at once or later."""

    def refused(self, refusal: Refusal) -> None:  # noqa: B027  # most need not know
        """Know of a request that was refused before `answer` was asked, or failed in it."""

    def failed(self) -> Response:
        """Log the exception that is being handled, and answer with 500."""
        log.exception("internal error")
        self.refused(INTERNAL)
        return response_of(INTERNAL)


def response_of(refusal: Refusal) -> Response:
    """Return the answer that says *refusal*."""
    return Response(refusal.code, header_lines(refusal.headers), refusal.body)


def header_lines(headers: Mapping[str, str]) -> bytes:
    """Write header lines as ``Response`` holds them."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
