"""Send requests to the API server over kept-alive connections; say why there is no answer."""

import json
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any
from urllib.parse import unquote, urlencode

import orjson
import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import HTTPError, InsecureRequestWarning, NewConnectionError, ProtocolError

from webhook import __version__
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.kube.credentials import Credentials
from webhook.kube.decoding import decode

CONNECT_SECONDS = 5.0
WRITE_SECONDS = 2.5
"""How long a writer's request may take: one that begins while its Lease holds ends before another
process may hold it."""
IDLE_CONNECTIONS = 16
SECONDS_BETWEEN_CHECKS = 60.0
"""How long a replaced certificate file may go unnoticed."""
PIECE = 65536
"""How much is read at a time, and at most of the text of a failure."""
MOST_BYTES = 1 << 25
"""Longest answer, and longest line of a stream. The API server stores objects of 1.5 MB, as JSON up
to six times as long: ``<`` becomes six characters."""
_KEEP_ALIVE = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
"""A connection whose other end is gone breaks within about a minute."""
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')
_ESCAPED = {ord(each): f"\\u{ord(each):04x}" for each in "<>&\u2028\u2029"}
_log = logging.getLogger(__name__)


class RequestFailed(Unavailable):
    """Say that the API server gave no usable answer.

    *status*: 0 if none at all; *retry_after_seconds*: 0 if not named. *is_unconnected*: there was
    no connection, so that no other request would have fared better.
    """

    def __init__(
        self,
        message: str,
        status: int = 0,
        retry_after_seconds: float = 0.0,
        *,
        is_unconnected: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds
        self.is_unconnected = is_unconnected

    @property
    def is_refusal(self) -> bool:
        """Tell whether the API server said no; anything else may be answered at another time."""
        return 400 <= self.status < 500 and self.status != 429


class AnswerTooLong(RequestFailed):
    """Say that an answer was given up after more bytes than were asked for."""


@dataclass(frozen=True, slots=True)
class Response:
    """Hold an answer below 500 other than 429: *request* as ``GET /api/v1/namespaces``."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Object:
        """Decode the body; raise RequestFailed where it is not a JSON object."""
        try:
            value = decode(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            problem = f"{self.request} answered {self.status} with no JSON object"
            raise RequestFailed(problem, self.status)
        return value

    def expect(self, *statuses: int) -> "Response":
        """Return itself; raise RequestFailed where its status is none of these."""
        if self.status not in statuses:
            raise RequestFailed(self.problem, self.status)
        return self

    @property
    def problem(self) -> str:
        """Give one line for an answer that was no success, with the API server's own message."""
        return f"{self.request} answered {self.status}: {_status_message(self.body)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Give the texts of the Warning headers, in order."""
        found = _WARNING.findall(self.headers.get("Warning") or "")
        return tuple(text.replace('\\"', '"') for text in found)


class Stream:
    """Hold an answer that is read line by line while it comes in."""

    def __init__(self, request: str, response: urllib3.BaseHTTPResponse) -> None:
        self._request = request
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """Give each whole line; a last one without an end is dropped.

        Raises RequestFailed where the connection breaks, AnswerTooLong above MOST_BYTES.
        """
        begun = bytearray()
        with _translated(self._request):
            while piece := self._response.read1(PIECE):
                searched = len(begun)
                begun += piece
                while (end := begun.find(b"\n", searched)) >= 0:
                    line = bytes(begun[:end])
                    del begun[: end + 1]
                    searched = 0
                    yield line
                if len(begun) > MOST_BYTES:
                    problem = f"{self._request}: a line is longer than {MOST_BYTES} bytes"
                    raise AnswerTooLong(problem, 200)

    def shut(self) -> None:
        """End a read that waits in another thread."""
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError):
            return  # it has ended already


class Connection:
    """Send requests as one user to one API server. Safe to share between threads.

    *namespace* is meant where none is named; empty where nothing says. *title* names the server for
    messages. *request_seconds*: how long each request may take, in place of what it asks for; 0:
    that. Raises InputError where certificates or keys cannot be used; contacts nothing yet.
    """

    def __init__(
        self,
        credentials: Credentials,
        *,
        request_seconds: float = 0.0,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._request_seconds = request_seconds
        self.namespace = credentials.namespace
        self.title = f"server {credentials.server} of {credentials.source}"
        self.credentials = credentials
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._checked = monotonic()
        self._files = credentials.file_state()
        self._pool = _make_pool(credentials)

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
        """Send one request; read the whole answer within *timeout* seconds.

        *body* is sent as JSON; a PATCH names its Content-Type in *headers*. Raises AnswerTooLong
        after *most_bytes*, RequestFailed for 429, 5xx and no answer; other statuses are answers.
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

    def patch(
        self,
        path: str,
        body: Object | list[Any],
        kind: str = "merge-patch+json",
        *,
        query: Mapping[str, str] | None = None,
        accept: str = "application/json",
    ) -> Response:
        """Send a PATCH as a writer does, within WRITE_SECONDS. Raises RequestFailed."""
        headers = {"Content-Type": f"application/{kind}", "Accept": accept}
        return self.request(
            "PATCH", path, query=query, body=body, headers=headers, timeout=WRITE_SECONDS
        )

    @contextmanager
    def stream(
        self,
        path: str,
        *,
        query: Mapping[str, str],
        headers: Mapping[str, str],
        read_timeout: float,
    ) -> Iterator[Stream]:
        """Open a GET whose answer is read as it comes; silence of *read_timeout* seconds breaks it.

        Raises RequestFailed for any other status than 200 too.
        """
        limits = urllib3.Timeout(connect=CONNECT_SECONDS, read=read_timeout)
        with self._sent("GET", path, query, None, headers, limits) as (name, response):
            if response.status != 200:
                raise _failed(name, response)
            yield Stream(name, response)

    def close(self) -> None:
        """Close the connections that are not in use."""
        self._pool.clear()

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
        send = partial(
            self._current_pool().request,
            method,
            self.credentials.server + path + (f"?{urlencode(query)}" if query else ""),
            body=None if body is None else encode(body),
            headers=self._headers(name, body is not None, headers or {}),
            timeout=limits,
            retries=False,
            redirect=False,
            preload_content=False,
        )
        with _translated(name):
            try:
                response = send()
            except ProtocolError:
                if method != "GET":
                    raise
                response = send()  # a kept-alive connection may just have been closed
            try:
                if response.status == 429 or response.status >= 500:
                    raise _failed(name, response)
                yield name, response
            finally:
                response.close()  # one that was read to its end has given its connection back

    def _headers(
        self, name: str, has_body: bool, given: Mapping[str, str]
    ) -> urllib3.HTTPHeaderDict:
        own = {"User-Agent": f"fabric-injector/{__version__}", "Accept": "application/json"}
        if has_body:
            own["Content-Type"] = "application/json"
        sent = urllib3.HTTPHeaderDict({**own, **given})
        for number, who in enumerate(self.credentials.impersonate):
            sent.add("Impersonate-Group" if number else "Impersonate-User", who)
        if authorization := self.credentials.authorization():
            if not (authorization.isascii() and authorization.isprintable()):
                problem = f"the token of the {self.credentials.source} holds odd characters"
                raise RequestFailed(f"{name}: not sent: {problem}")
            sent["Authorization"] = authorization
        return sent

    def _current_pool(self) -> urllib3.PoolManager:
        """Give the pool to send through; the former one where replaced files are no good."""
        with self._lock:
            if self._monotonic() - self._checked >= SECONDS_BETWEEN_CHECKS:
                self._checked = self._monotonic()
                before, self._files = self._files, self.credentials.file_state()
                if self._files != before:
                    self._renew_pool()
            return self._pool

    def _renew_pool(self) -> None:
        try:
            self._pool = _make_pool(self.credentials)
        except InputError as error:
            _log.warning("replaced certificate files are not used: %s", error)


def encode(body: Object | list[Any]) -> bytes:
    """Write JSON as Go does: compact, keys in order, five characters escaped, no other.

    The API server keeps the bytes of a claim's opaque parameters. A driver's apply to the claim's
    status writes all of the claim again, by Go; other bytes are refused as a changed allocation.
    """
    text = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    # half of a surrogate pair stays the escape that it is in JSON
    return text.translate(_ESCAPED).encode("utf-8", "backslashreplace")


@contextmanager
def _translated(request: str) -> Iterator[None]:
    """Turn the failures of a connection into RequestFailed, which names the *request*."""
    try:
        yield
    except HTTPError as error:
        # without the connection object in front, the odd seconds behind, and what is said twice
        text, *more = map(str, error.args or (error,))
        text = " ".join([text, *(part for part in more if part not in text)])
        text = re.sub(r"HTTPS?Connection(Pool)?\(.*?\): | \((read|connect) timeout=.*?\)", "", text)
        is_unconnected = isinstance(error, NewConnectionError)
        raise RequestFailed(f"{request}: {text}", is_unconnected=is_unconnected) from error


def _failed(name: str, response: urllib3.BaseHTTPResponse) -> RequestFailed:
    """Name the status and the API server's message. It writes Retry-After in seconds."""
    after = response.headers.get("Retry-After", "")
    seconds = float(after) if after.isascii() and after.isdigit() else 0.0
    problem = f"{name} answered {response.status}: {_status_message(response.read(PIECE))}"
    return RequestFailed(problem, response.status, seconds)


def _status_message(body: bytes) -> str:
    """Give the message of a Status object, else the start of the text."""
    try:
        text = str(orjson.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:500] or "(no text)"


def _make_pool(credentials: Credentials) -> urllib3.PoolManager:
    known = {getattr(socket, key, None): value for key, value in _KEEP_ALIVE.items()}
    options = [(socket.IPPROTO_TCP, key, value) for key, value in known.items() if key is not None]
    keep_alive = (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    settings: dict[str, Any] = {
        "maxsize": IDLE_CONNECTIONS,
        "socket_options": [*HTTPConnection.default_socket_options, keep_alive, *options],
    }
    if credentials.server.startswith("https://"):
        settings["ssl_context"] = client_context(credentials)
        settings["server_hostname"] = credentials.server_name or None
        if not credentials.verify:
            urllib3.disable_warnings(InsecureRequestWarning)
            told = "insecure-skip-tls-verify: the API server's identity is not checked"
            _log.warning("%s: %s", credentials.source, told)
    if not credentials.proxy:
        return urllib3.PoolManager(**settings)
    user = urllib3.util.parse_url(credentials.proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=unquote(user)) if user else None
    return urllib3.ProxyManager(credentials.proxy, proxy_headers=headers, **settings)


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """Build the TLS context; raise InputError naming what cannot be used."""
    part, advice = "certificate authority", "give a PEM file"
    try:
        context = ssl.create_default_context(cafile=credentials.ca)
        # Python 3.13 is strict here, and refuses the authorities of many clusters.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not credentials.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credentials.certificate is not None:
            part = "client certificate and key"
            advice = "give a matching PEM pair, the key without a passphrase"
            pair = credentials.certificate, credentials.key
            context.load_cert_chain(*pair, password=_no_passphrase)
    except (OSError, ValueError) as error:
        problem = f"{credentials.source}: {part}: not usable ({error})"
        raise InputError(f"{problem}; {advice}") from None
    return context


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase")
