"""Speak the API server's list and watch: pages, bookmarks, expired versions, broken streams.

Source: kubernetes.io/docs/reference/using-api/api-concepts, "Efficient detection of changes".
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from webhook.core.model import Object
from webhook.kube.answer import AnswerTooLong, decode
from webhook.kube.connection import Connection, RequestFailed, Response, Stream
from webhook.kube.page_size import PageSize
from webhook.kube.reader import EXPIRED, PAGE_SIZE, Reader, read_list
from webhook.kube.resource import Resource

LIST_SECONDS = 60.0
WATCH_SECONDS = (240.0, 360.0)
"""How long a watch is asked to last, chosen anew each time so that replicas do not reconnect together."""
SILENCE_SECONDS = 30.0
"""How much longer than asked a connection may stay silent before it counts as dead."""
NOT_INSTALLED_SECONDS = 3.0
"""How long after one look the next one is for a resource that is not there: who installs it waits for it to be seen."""
MOST_RETRY_AFTER_SECONDS = 60.0


class Restart(StrEnum):
    """Say why a watch begins anew: a metric label, so the set is closed.

    ended: it lasted as long as asked. broken: no connection, or one that broke or fell silent. expired: 410, the version is too
    old. throttled: 429. refused: any other status. not-installed: 404 of a resource that need not exist. invalid: what came
    is not what a list or a watch holds.
    """

    ENDED = "ended"
    BROKEN = "broken"
    EXPIRED = "expired"
    THROTTLED = "throttled"
    REFUSED = "refused"
    NOT_INSTALLED = "not-installed"
    INVALID = "invalid"


class WatchError(Exception):
    """End a list or a watch before its time; *relist*: what was listed can no longer be trusted to be followed.

    *status*: of the answer, where it was refused.
    """

    def __init__(
        self,
        restart: Restart,
        message: str,
        *,
        relist: bool = True,
        after_seconds: float = 0.0,
        status: int = 0,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.restart = restart
        self.relist = relist
        self.after_seconds = after_seconds


@dataclass(frozen=True, slots=True)
class Event:
    """Hold one event: *kind* ``ADDED``, ``MODIFIED``, ``DELETED``, ``BOOKMARK``, or ``OPENED`` where the watch now stands.

    *version* is where a later watch may go on, empty where the event names none.
    """

    kind: str
    version: str
    object: Object


class ListWatch:
    """List and watch one resource. One thread lists and watches; any may stop it."""

    def __init__(
        self,
        connection: Connection,
        resource: Resource,
        uniform: Callable[[float, float], float],
        silence_seconds: float = SILENCE_SECONDS,
    ) -> None:
        self._connection = connection
        self._reader = Reader(connection, LIST_SECONDS)
        self._resource = resource
        self._uniform = uniform
        self._silence_seconds = silence_seconds
        self._in_one_piece = False
        self._stopped = threading.Event()
        self._stream: Stream | None = None

    def pages(self, namespace: str = "") -> Iterator[tuple[str, list[Any]]]:
        """List all objects, or those of one namespace: for each page the list's version and its objects. Raise WatchError.

        A page is emptied when the next one is asked for.
        """
        token, size = "", PageSize(0 if self._in_one_piece else PAGE_SIZE)
        self._in_one_piece = False
        while True:
            with _translated():
                try:
                    response = self._reader.request_page(
                        self._resource, namespace, token=token, size=size
                    )
                    if response.status == EXPIRED:
                        self._in_one_piece = True  # the pages outlived their version
                    self._require_success(response)
                except AnswerTooLong:
                    if size.limit:
                        raise
                    size = PageSize(PAGE_SIZE)
                    continue
                objects, metadata = read_list(response)
                size.read(len(objects), len(response.body))
            del response
            token, version = metadata.get("continue") or "", metadata.get("resourceVersion")
            if not version:
                raise WatchError(
                    Restart.INVALID, "a page of the list lacks metadata.resourceVersion"
                )
            yield version, objects
            objects.clear()
            if not token:
                return

    def events(self, version: str) -> Iterator[Event]:
        """Watch from *version* until the time asked for is over; raise WatchError where it ends otherwise."""
        seconds = int(self._uniform(*WATCH_SECONDS))
        query = self._resource.query(
            watch="true",
            allowWatchBookmarks="true",
            resourceVersion=version,
            timeoutSeconds=str(seconds),
        )
        headers = self._resource.headers("PartialObjectMetadata")
        limit = seconds + self._silence_seconds
        with (
            _translated(),
            self._connection.stream(
                self._resource.path, query=query, headers=headers, read_timeout=limit
            ) as stream,
        ):
            if isinstance(stream, Response):
                self._require_success(stream)
                return
            self._stream = stream
            yield Event("OPENED", version, {})
            if not self._stopped.is_set():
                yield from map(_read_event, filter(None, stream.lines()))

    def interrupt(self) -> None:
        """End a watch that waits for events."""
        if stream := self._stream:
            stream.shut()

    def stop(self) -> None:
        """End a watch that waits for events, and any that begins later."""
        self._stopped.set()
        self.interrupt()

    def _require_success(self, response: Response) -> None:
        if response.status == EXPIRED:
            raise WatchError(Restart.EXPIRED, response.problem)
        if response.status == 404 and self._resource.optional:
            raise WatchError(
                Restart.NOT_INSTALLED, response.problem, after_seconds=NOT_INSTALLED_SECONDS
            )
        if response.status != 200:
            raise WatchError(Restart.REFUSED, response.problem, status=response.status)


@contextmanager
def _translated() -> Iterator[None]:
    try:
        yield
    except RequestFailed as error:
        restart = {0: Restart.BROKEN, 200: Restart.INVALID, 429: Restart.THROTTLED}.get(
            error.status, Restart.REFUSED
        )
        wait = min(error.retry_after_seconds, MOST_RETRY_AFTER_SECONDS)
        raise WatchError(restart, str(error), relist=False, after_seconds=wait) from error


def _read_event(line: bytes) -> Event:
    try:
        event = decode(line)
        kind, obj = event["type"], event["object"]
        if kind != "ERROR":
            return Event(kind, obj["metadata"].get("resourceVersion") or "", obj)
        code, message = obj.get("code"), obj.get("message")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WatchError(
            Restart.INVALID,
            f"a line of {len(line)} bytes is no watch event ({type(error).__name__})",
        ) from None
    restart = Restart.EXPIRED if code == EXPIRED else Restart.REFUSED
    raise WatchError(restart, f"the watch was ended with {code}: {message}")
