"""Hold what the API server answers, whole or as it comes in, and say plainly why there is no answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass

import orjson
import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError

from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.kube.decoding import decode

PIECE = 65536
"""How much is read at a time, and at most of the text of a failure."""
MOST_BYTES = 1 << 25
"""Longest answer, and longest line of a stream. The API server stores objects of 1.5 MB, as JSON up
to six times as long: ``<`` becomes six characters."""
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


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

    @property
    def problem(self) -> str:
        """Give one line for an answer that was no success, with the API server's own message."""
        return f"{self.request} answered {self.status}: {status_message(self.body)}"

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
        with translated(self._request):
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


@contextmanager
def translated(request: str) -> Iterator[None]:
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


def status_message(body: bytes) -> str:
    """Give the message of a Status object, else the start of the text."""
    try:
        text = str(orjson.loads(body)["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:500] or "(no text)"
