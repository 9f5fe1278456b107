"""Send requests to the API server over one pool of kept-alive connections."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import ProtocolError

from webhook import __version__
from webhook.core.model import Object
from webhook.kube.answer import (
    MOST_BYTES,
    PIECE,
    AnswerTooLong,
    RequestFailed,
    Response,
    Stream,
    status_message,
    translated,
)
from webhook.kube.credentials import Credentials
from webhook.kube.pool import Pool

__all__ = ["Connection", "RequestFailed", "Response", "Stream"]

CONNECT_SECONDS = 5.0
_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}


class Connection:
    """Send requests as one user to one API server. Safe to share between threads.

    *namespace* is the one that is meant where none is named; empty where nothing says. *title* names the server for messages.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        request_seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare, without contacting anything; raise InputError where certificates or keys cannot be used.

        *request_seconds*: the time that each request may take, in place of what it asks for; 0: that.
        """
        self._request_seconds = request_seconds
        self.namespace = credentials.namespace
        self.title = f"server {credentials.server} of {credentials.source}"
        self.credentials = credentials
        self._monotonic = monotonic
        self._pool = Pool(credentials, monotonic)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Object | list[Any] | None = None,
        headers: Mapping[str, str] | None = None,
        timeout: float = 10.0,
        most_bytes: int = MOST_BYTES,
    ) -> Response:
        """Send one request and read the whole answer within *timeout* seconds; raise AnswerTooLong after *most_bytes*.

        *body* is sent as JSON; a PATCH names its Content-Type in *headers*. Raises RequestFailed (an Unavailable) for
        429, 5xx and where there is no answer; every other status is an answer.
        """
        timeout = self._request_seconds or timeout
        deadline = self._monotonic() + timeout
        limits = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout, total=timeout)
        with self._sent(method, path, query, body, headers, limits) as (name, response):
            content = bytearray()
            while piece := response.read1(PIECE):
                content += piece
                if len(content) > most_bytes:
                    problem = f"{name}: the answer is longer than {most_bytes} bytes"
                    raise AnswerTooLong(problem, response.status)
                if self._monotonic() > deadline:
                    problem = f"{name}: the answer was not complete within {timeout:g} s"
                    raise RequestFailed(problem)
            return Response(name, response.status, response.headers, bytes(content))

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> Iterator[Stream | Response]:
        """Open a GET whose answer is read as it comes; silence of *read_timeout* seconds breaks it.

        Gives a Response in place of a Stream where the status is not 200. Raises RequestFailed as `request` does.
        """
        limits = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_timeout)
        with self._sent("GET", path, query, None, headers, limits) as (name, response):
            if response.status == 200:
                yield Stream(name, response)
            else:
                yield Response(name, response.status, response.headers, response.read(PIECE))

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.current().clear()

    @contextmanager
    def _sent(
        self,
        method: str,
        path: str,
        query: Mapping[str, str] | None,
        body: Object | list[Any] | None,
        headers: Mapping[str, str] | None,
        limits: urllib3.Timeout,
    ) -> Iterator[tuple[str, urllib3.BaseHTTPResponse]]:
        name = f"{method} {path}"
        url = self.credentials.server + path + (f"?{urlencode(query)}" if query else "")
        sent = urllib3.HTTPHeaderDict(
            {
                "User-Agent": f"fabric-injector/{__version__}",
                "Accept": "application/json",
                **(headers or {}),
            }
        )
        for number, who in enumerate(self.credentials.impersonate):
            sent.add("Impersonate-Group" if number else "Impersonate-User", who)
        if authorization := self.credentials.authorization():
            if not (authorization.isascii() and authorization.isprintable()):
                problem = f"the token of the {self.credentials.source} holds odd characters"
                raise RequestFailed(f"{name}: not sent: {problem}")
            sent["Authorization"] = authorization
        if body is not None:
            sent.setdefault("Content-Type", "application/json")
        data = None if body is None else encode(body)
        with translated(name):
            response = self._open(method, url, data, sent, limits)
            try:
                _require_answer(name, response)
                yield name, response
            finally:
                response.close()  # one that was read to its end has given its connection back

    def _open(
        self,
        method: str,
        url: str,
        data: bytes | None,
        headers: Mapping[str, str],
        limits: urllib3.Timeout,
    ) -> urllib3.BaseHTTPResponse:
        send = partial(
            self._pool.current().request,
            method,
            url,
            body=data,
            headers=headers,
            timeout=limits,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        try:
            return send()
        except ProtocolError:
            if method != "GET":
                raise
            return send()  # a kept-alive connection may just have been closed by the other side


def _require_answer(name: str, response: urllib3.BaseHTTPResponse) -> None:
    """Raise RequestFailed for 429 and 5xx. The API server writes Retry-After in seconds."""
    if response.status != 429 and response.status < 500:
        return
    after = response.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0
    problem = f"{name} answered {response.status}: {status_message(response.read(PIECE))}"
    raise RequestFailed(problem, response.status, seconds)


def encode(body: Object | list[Any]) -> bytes:
    """Write JSON as Go does: compact, keys in order, what is beyond ASCII as it is, but for the five characters that Go escapes.

    The API server keeps the bytes of a claim's opaque parameters. A driver's apply to the claim's status writes all of the claim
    anew, by Go; where the bytes are others then, it is refused as a change of the allocation, and the address is never told.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # half of a surrogate pair stays the escape that it is in JSON
    return text.translate(_ESCAPED).encode("utf-8", "backslashreplace")
