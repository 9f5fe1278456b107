"""Hold what the API server answers, whole or as it comes in, and say plainly why there is no answer."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import urllib3
from urllib3.exceptions import HTTPError

from webhook.core.errors import Unavailable
from webhook.core.model import Object

PIECE = 65536
"""How much is read at a time, and at most of the text of a failure."""
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


class RequestFailed(Unavailable):
    """Say that the API server gave no usable answer: *status* 0 if none at all, *retry_after_seconds* 0 if not named."""

    def __init__(self, message: str, status: int = 0, retry_after_seconds: float = 0.0) -> None:
        super().__init__(message)
        self.status = status
        self.retry_after_seconds = retry_after_seconds

    @property
    def is_refusal(self) -> bool:
        """Tell whether the API server understood and said no; anything else may be answered at another time."""
        return 400 <= self.status < 500 and self.status != 429


@dataclass(frozen=True, slots=True)
class Response:
    """Hold an answer below 500 other than 429: *request* as ``GET /api/v1/namespaces``, header names in any case."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self, *, managed_fields: bool = False) -> Object:
        """Decode the body, but for managedFields, half of many objects; raise RequestFailed where it is not a JSON object.

        They are dropped while the text is decoded, so that a page of 500 objects never holds them all. *managed_fields* keeps them.
        """
        try:
            value = json.loads(self.body, object_hook=None if managed_fields else _without_managed_fields)
        except (ValueError, RecursionError):
            value = None
        if not isinstance(value, dict):
            raise RequestFailed(f"{self.request} answered {self.status} with no JSON object", self.status)
        return value

    @property
    def problem(self) -> str:
        """Give one line for an answer that was no success, with the API server's own message."""
        return f"{self.request} answered {self.status}: {status_message(self.body)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Give the texts of the Warning headers, in order."""
        return tuple(text.replace('\\"', '"') for text in _WARNING.findall(self.headers.get("Warning") or ""))


class Stream:
    """Hold an answer that is read line by line while it comes in."""

    def __init__(self, request: str, response: urllib3.BaseHTTPResponse) -> None:
        self._request = request
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """Give each whole line; a last one without an end is dropped. Raise RequestFailed where the connection breaks."""
        rest = b""
        with translated(self._request):
            while piece := self._response.read1(PIECE):
                *whole, rest = (rest + piece).split(b"\n")
                yield from whole

    def shut(self) -> None:
        """End a read that waits in another thread."""
        try:
            self._response.shutdown()
        except (ValueError, RuntimeError, OSError):
            return  # it has ended already


@contextmanager
def translated(request: str) -> Iterator[None]:
    """Turn the failures of a connection into RequestFailed, which names the *request*."""
    try:
        yield
    except HTTPError as error:
        raise RequestFailed(f"{request}: {_reason(error)}") from error


def _without_managed_fields(value: Object) -> Object:
    value.pop("managedFields", None)
    return value


def _reason(error: HTTPError) -> str:
    """Give the error's text without the connection object in front, the odd seconds behind, and what is said twice."""
    text, *more = map(str, error.args or (error,))
    text = " ".join([text, *(part for part in more if part not in text)])
    return re.sub(r"HTTPS?Connection(Pool)?\(.*?\): | \((read|connect) timeout=.*?\)", "", text)


def status_message(body: bytes) -> str:
    """Give the message of a Status object, else the start of the text."""
    try:
        value = json.loads(body)
        text = str(value["message"])
    except (ValueError, KeyError, TypeError, RecursionError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:500] or "(no text)"


def retry_after(response: urllib3.BaseHTTPResponse) -> float:
    """Read the header in seconds; 0 where it is missing or a date, which the API server never sends."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
