"""Send requests to the API server over one pool of kept-alive connections, and say plainly why one could not be answered."""

from __future__ import annotations

import json
import os
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

import urllib3
from urllib3.exceptions import HTTPError, ProtocolError

from webhook import __version__
from webhook.errors import Unavailable
from webhook.kube.credentials import Credentials, find_credentials
from webhook.kube.pool import Pool
from webhook.model import Object

CONNECT_SECONDS = 5.0
_PIECE = 65536


class RequestFailed(Unavailable):
    """Say that the API server gave no usable answer: *status* 0 if none at all, *retry_after_seconds* 0 if not named."""

    def __init__(self, message: str, status: int = 0, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds


@dataclass(frozen=True, slots=True)
class Response:
    """Hold an answer below 500 other than 429: *request* as ``GET /api/v1/namespaces``, header names in any case."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Object:
        """Decode the body, but for managedFields, half of many objects; raise RequestFailed where it is no JSON object."""
        try:
            value = json.loads(self.body, object_hook=_without_managed_fields)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise RequestFailed(f"{self.request} answered {self.status} with no JSON object", self.status)
        return value

    @property
    def problem(self) -> str:
        """Give one line for an answer that was no success, with the API server's own message."""
        return f"{self.request} answered {self.status}: {_message(self.body)}"


class Stream:
    """Hold an answer that is read line by line while it comes in."""

    def __init__(self, request: str, response: urllib3.BaseHTTPResponse) -> None:
        self._request = request
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """Give each whole line; a last one without an end is dropped. Raise RequestFailed where the connection breaks."""
        rest = b""
        with _translated(self._request):
            while piece := self._response.read1(_PIECE):
                *whole, rest = (rest + piece).split(b"\n")
                yield from whole

    def shut(self) -> None:
        """End a read that waits in another thread."""
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError):
            return  # it has ended already


class Connection:
    """Send requests as one user to one API server. Safe to share between threads."""

    def __init__(self, credentials: Credentials, *, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Prepare, without contacting anything; raise InputError where certificates or keys cannot be used."""
        self._credentials = credentials
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
    ) -> Response:
        """Send one request and read the whole answer within *timeout* seconds.

        *body* is sent as JSON; a PATCH names its Content-Type in *headers*. Raises RequestFailed (an Unavailable) for
        429, 5xx and where there is no answer; every other status is an answer.
        """
        deadline = self._monotonic() + timeout
        limits = urllib3.Timeout(connect=min(CONNECT_SECONDS, timeout), read=timeout, total=timeout)
        with self._sent(method, path, query, body, headers, limits) as (name, response):
            pieces = []
            with _translated(name):
                while piece := response.read1(_PIECE):
                    pieces.append(piece)
                    if self._monotonic() > deadline:
                        raise RequestFailed(f"{name}: the answer was not complete within {timeout:g} s")
            return Response(name, response.status, response.headers, b"".join(pieces))

    @contextmanager
    def stream(
        self, path: str, *, query: Mapping[str, str], headers: Mapping[str, str], read_timeout: float
    ) -> Iterator[Stream | Response]:
        """Open a GET whose answer is read as it comes; silence of *read_timeout* seconds breaks it.

        Gives a Response in place of a Stream where the status is not 200. Raises RequestFailed as `request` does.
        """
        limits = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_timeout)
        with self._sent("GET", path, query, None, headers, limits) as (name, response):
            if response.status == 200:
                yield Stream(name, response)
                return
            with _translated(name):
                body = response.read(_PIECE)
            yield Response(name, response.status, response.headers, body)

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
        url = self._credentials.server + path + (f"?{urlencode(query)}" if query else "")
        sent = {"User-Agent": f"fabric-injector/{__version__}", "Accept": "application/json", **(headers or {})}
        if authorization := self._credentials.authorization():
            if not (authorization.isascii() and authorization.isprintable()):
                raise RequestFailed(
                    f"{name}: not sent: the token of the {self._credentials.source} holds odd characters"
                )
            sent["Authorization"] = authorization
        data = None
        if body is not None:
            data = json.dumps(body).encode()
            sent.setdefault("Content-Type", "application/json")
        with _translated(name):
            response = self._open(method, url, data, sent, limits)
        try:
            if response.status == 429 or response.status >= 500:
                with _translated(name):
                    text = _message(response.read(_PIECE))
                raise RequestFailed(
                    f"{name} answered {response.status}: {text}", response.status, _retry_after(response)
                )
            yield name, response
        finally:
            response.close()  # one that was read to its end has given its connection back already

    def _open(
        self, method: str, url: str, data: bytes | None, headers: Mapping[str, str], limits: urllib3.Timeout
    ) -> urllib3.BaseHTTPResponse:
        pool = self._pool.current()

        def send() -> urllib3.BaseHTTPResponse:
            return pool.request(
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


def connect(environ: Mapping[str, str] | None = None) -> Connection:
    """Prepare a connection with the credentials that this process has; raise InputError where there are none."""
    return Connection(find_credentials(os.environ if environ is None else environ))


@contextmanager
def _translated(request: str) -> Iterator[None]:
    try:
        yield
    except HTTPError as error:
        raise RequestFailed(f"{request}: {_reason(error)}") from error


def _without_managed_fields(value: Object) -> Object:
    """Drop them while the text is decoded, so that a page of 500 objects never holds them all."""
    value.pop("managedFields", None)
    return value


def _reason(error: HTTPError) -> str:
    """Give the error's text without the connection object in front, the odd seconds behind, and what is said twice."""
    text, *more = map(str, error.args or (error,))
    text = " ".join([text, *(part for part in more if part not in text)])
    return re.sub(r"HTTPS?Connection(Pool)?\(.*?\): | \((read|connect) timeout=.*?\)", "", text)


def _message(body: bytes) -> str:
    """Give the message of a Status object, else the start of the text."""
    try:
        value = json.loads(body)
        text = str(value["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:500] or "(no text)"


def _retry_after(response: urllib3.BaseHTTPResponse) -> float:
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
