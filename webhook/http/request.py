"""Describe a request and its answer, apart from the connection that they travel on."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote_to_bytes

from webhook.http.body import Body
from webhook.http.refusal import Refusal

if TYPE_CHECKING:
    from webhook.http.endpoint import Endpoint


class Response(NamedTuple):
    """Hold an answer; *lines* are its header lines, each ended by CRLF, without Content-Length, Connection and Date."""

    status: int
    lines: bytes
    content: bytes


class Request:
    """Hold a request, of which the head has come.

    *headers*: by name in lower case; of a name that comes twice, the last. *received_at*: ``time.perf_counter()`` at the head's end.
    *refusal*: why it is not worked on. *drains*: it was refused before its *body* had come whole, the rest of which is thrown away.
    *on_stalled*: called where it was refused because others need its room.
    """

    __slots__ = (
        "body", "drains", "endpoint", "headers", "is_answered", "is_whole", "keeps_alive", "method", "on_stalled", "path", "query",
        "received_at", "refusal",
    )  # fmt: skip

    body: Body

    def __init__(
        self,
        endpoint: Endpoint,
        method: str,
        path: bytes,
        query: bytes,
        headers: Mapping[bytes, bytes],
        on_stalled: Callable[[], object],
        *,
        keeps_alive: bool,
    ) -> None:
        self.path = (unquote_to_bytes(path) if b"%" in path else path).decode("latin-1")
        self.endpoint, self.method, self.query, self.headers = endpoint, method, query, headers
        self.on_stalled, self.keeps_alive = on_stalled, keeps_alive
        self.received_at = time.perf_counter()
        self.refusal: Refusal | None = None
        self.is_whole = self.is_answered = self.drains = False


def response_of(refusal: Refusal) -> Response:
    """Return the answer that tells *refusal*."""
    return Response(refusal.code, header_lines(refusal.headers), refusal.body)


def header_lines(headers: Mapping[str, str]) -> bytes:
    """Write header lines as ``Response`` holds them."""
    return "".join([f"{name}: {value}\r\n" for name, value in headers.items()]).encode("latin-1")
