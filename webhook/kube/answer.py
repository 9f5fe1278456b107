"""Hold what the API server answers, whole or as it comes in, and say plainly why there is no answer."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypedDict, cast

import msgspec
import orjson
import urllib3
from urllib3.exceptions import HTTPError, NewConnectionError

from webhook.core.errors import Unavailable
from webhook.core.model import Object

PIECE = 65536
"""How much is read at a time, and at most of the text of a failure."""
MOST_BYTES = 1 << 25
"""Longest answer, and longest line of a stream, that is read. The API server stores objects of 1.5 MB, as JSON up to six times as long:
``<`` becomes six characters."""
MOST_DEPTH = 1000
"""How deep JSON may be nested: orjson reads 1,024. The API server takes 10,000, as in a ResourceClaim's parameters, which are free."""
_NESTING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?|[\[{]+|[\]}]+', re.DOTALL)
_WARNING = re.compile(r'299 \S+ "((?:[^"\\]|\\.)*)"')


class _Metadata(TypedDict, total=False):
    """Name all fields of ObjectMeta but managedFields, which are half of many objects, and selfLink, which is gone since 1.20."""

    name: Any
    generateName: Any
    namespace: Any
    uid: Any
    resourceVersion: Any
    generation: Any
    creationTimestamp: Any
    deletionTimestamp: Any
    deletionGracePeriodSeconds: Any
    labels: Any
    annotations: Any
    ownerReferences: Any
    finalizers: Any


class _Pod(TypedDict, total=False):
    """Name all fields of a Pod."""

    apiVersion: Any
    kind: Any
    metadata: _Metadata
    spec: Any
    status: Any


class _PodList(TypedDict, total=False):
    """Name the fields of a list."""

    metadata: Any
    items: list[_Pod]


_PODS = msgspec.json.Decoder(_PodList)


class RequestFailed(Unavailable):
    """Say that the API server gave no usable answer: *status* 0 if none at all, *retry_after_seconds* 0 if not named.

    *is_unconnected*: there was no connection to send the request on, so that no other request would have fared better.
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
        """Tell whether the API server understood and said no; anything else may be answered at another time."""
        return 400 <= self.status < 500 and self.status != 429


class AnswerTooLong(RequestFailed):
    """Say that an answer was given up after more bytes than were asked for."""


@dataclass(frozen=True, slots=True)
class Response:
    """Hold an answer below 500 other than 429: *request* as ``GET /api/v1/namespaces``, header names in any case."""

    request: str
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self, *, managed_fields: bool = False) -> Object:
        """Decode the body, but for managedFields, half of many objects; raise RequestFailed where it is not a JSON object.

        *managed_fields* keeps those of the object, or of the objects of a list.
        """
        try:
            value = decode(self.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise RequestFailed(
                f"{self.request} answered {self.status} with no JSON object", self.status
            )
        if not managed_fields:
            items = value.get("items")
            for each in (value, *(items if isinstance(items, list) else ())):
                if isinstance(each, dict) and isinstance(metadata := each.get("metadata"), dict):
                    metadata.pop("managedFields", None)
        return value

    def json_of_pods(self) -> Object:
        """Decode a list of pods as `json` does, and make nothing of managedFields: that takes half the time."""
        try:
            return cast(Object, _PODS.decode(self.body))
        except (
            msgspec.MsgspecError,
            RecursionError,
            UnicodeDecodeError,
        ):  # not as a list of pods is; the other says what it is
            return self.json()

    @property
    def problem(self) -> str:
        """Give one line for an answer that was no success, with the API server's own message."""
        return f"{self.request} answered {self.status}: {status_message(self.body)}"

    @property
    def warnings(self) -> tuple[str, ...]:
        """Give the texts of the Warning headers, in order."""
        return tuple(
            text.replace('\\"', '"') for text in _WARNING.findall(self.headers.get("Warning") or "")
        )


def decode(text: bytes) -> Any:
    """Decode JSON, with null for what is nested deeper than MOST_DEPTH: one such object must not hide the others. Raises ValueError."""
    try:
        return orjson.loads(text)
    except ValueError:
        cut = _without_depths(text)
        if cut is text:
            raise
    return orjson.loads(cut)


def _without_depths(text: bytes) -> bytes:
    """Return the text with null for each value that is nested deeper than MOST_DEPTH; itself where none is."""
    kept: list[bytes] = []
    depth = begun = 0
    for match in _NESTING.finditer(text):
        first, start, end = text[match.start()], match.start(), match.end()
        if first in b"[{":
            if depth <= MOST_DEPTH < depth + end - start:
                kept += text[begun : start + MOST_DEPTH - depth], b"null"
            depth += end - start
        elif first in b"]}":
            if depth - (end - start) <= MOST_DEPTH < depth:
                begun = start + depth - MOST_DEPTH
            depth -= end - start
    return b"".join((*kept, text[begun:])) if kept else text


class Stream:
    """Hold an answer that is read line by line while it comes in."""

    def __init__(self, request: str, response: urllib3.BaseHTTPResponse) -> None:
        self._request = request
        self._response = response

    def lines(self) -> Iterator[bytes]:
        """Give each whole line; a last one without an end is dropped.

        Raise RequestFailed where the connection breaks, AnswerTooLong for a line of more than MOST_BYTES.
        """
        begun: list[bytes] = []
        size = 0
        with translated(self._request):
            while piece := self._response.read1(PIECE):
                *ended, rest = piece.split(b"\n")
                if ended:
                    ended[0] = b"".join((*begun, ended[0]))
                    begun, size = [], 0
                    while ended:  # none is held on to while the next one is waited for
                        yield ended.pop(0)
                begun.append(rest)
                size += len(rest)
                if size > MOST_BYTES:
                    raise AnswerTooLong(
                        f"{self._request}: a line is longer than {MOST_BYTES} bytes", 200
                    )

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
        raise RequestFailed(
            f"{request}: {_reason(error)}", is_unconnected=isinstance(error, NewConnectionError)
        ) from error


def _reason(error: HTTPError) -> str:
    """Give the error's text without the connection object in front, the odd seconds behind, and what is said twice."""
    text, *more = map(str, error.args or (error,))
    text = " ".join([text, *(part for part in more if part not in text)])
    return re.sub(r"HTTPS?Connection(Pool)?\(.*?\): | \((read|connect) timeout=.*?\)", "", text)


def status_message(body: bytes) -> str:
    """Give the message of a Status object, else the start of the text."""
    try:
        value = orjson.loads(body)
        text = str(value["message"])
    except (ValueError, KeyError, TypeError):
        text = body.decode(errors="replace")
    return " ".join(text.split())[:500] or "(no text)"


def retry_after(response: urllib3.BaseHTTPResponse) -> float:
    """Read the header in seconds; 0 where it is missing or a date, which the API server never sends."""
    value = response.headers.get("Retry-After", "")
    return float(value) if value.isascii() and value.isdigit() else 0.0
