"""Read objects of a cluster: bounded, page by page, several kinds at a time; what cannot be read is noted, never raised."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from types import TracebackType
from typing import Generic, Self, TypeVar

from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.resource import Key, Resource
from webhook.kube.shape import misfit

T = TypeVar("T")

PAGE_SIZE = 500
MOST_PAGES = 400
"""Two hundred thousand objects: more of one kind are not looked at, and that is told."""
REQUEST_SECONDS = 30.0
AT_A_TIME = 8


@dataclass(frozen=True, slots=True)
class Listing(Generic[T]):
    """Hold what there is of one kind; *problem*: why it could not be read, else empty. *installed*: the API knows the kind."""

    items: tuple[T, ...] = ()
    problem: str = ""
    installed: bool = True

    @property
    def known(self) -> tuple[T, ...] | None:
        """Return the objects, or None where they could not be read."""
        return None if self.problem else self.items


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """Hold one object, None where there is none; *problem*: why it could not be read, else empty."""

    value: T | None = None
    problem: str = ""

    @property
    def absent(self) -> bool:
        """Tell whether there is no such object, for certain."""
        return self.value is None and not self.problem


@dataclass(slots=True)
class Progress:
    """Count what is read; *tell* gets a sentence whenever something changes, from any thread but one at a time."""

    tell: Callable[[str], None] = lambda _: None
    done: int = 0
    begun: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def begin(self) -> None:
        """Note one more thing to read."""
        with self.lock:
            self.begun += 1

    def end(self, what: str, number: int) -> None:
        """Note that it was read."""
        with self.lock:
            self.done += 1
            self.tell(f"read {self.done} of {self.begun}: {number} {what}")


class Reader:
    """Read while the `with` block lasts."""

    def __init__(self, connection: Connection, progress: Progress | None = None) -> None:
        self.connection = connection
        self._progress = progress or Progress()
        self._pool = ThreadPoolExecutor(AT_A_TIME, thread_name_prefix="check")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._pool.shutdown(cancel_futures=True)

    def begin(self, what: str, read: Callable[[], T]) -> Future[T]:
        """Call *read* beside others; *what* names it for the progress."""
        self._progress.begin()

        def work() -> T:
            value = read()
            number = len(value.items) if isinstance(value, Listing) else 1
            self._progress.end(what, number)
            return value

        return self._pool.submit(work)

    def list(self, resource: Resource, keep: Callable[[Object], T | None], namespace: str = "") -> Future[Listing[T]]:
        """Begin to list a resource, of one namespace or of all; *keep* takes what matters of each object, None to pass it over."""
        return self.begin(resource.name, lambda: self.read_list(resource, keep, namespace))

    def read_list(self, resource: Resource, keep: Callable[[Object], T | None], namespace: str = "") -> Listing[T]:
        """List it now."""
        kept: list[T] = []
        token, size = "", str(PAGE_SIZE)
        headers = resource.headers("PartialObjectMetadataList")
        path = resource.path_in(namespace)
        for _ in range(MOST_PAGES):
            query = resource.query(limit=size, **{"continue": token})
            try:
                response = self._get(path, query, headers)
                if response.status == 410 and size:
                    kept, token, size = [], "", ""  # the pages outlived their version: all in one piece
                    continue
                if response.status == 404:
                    return Listing(installed=False)
                page = _success(response)
                objects, token = page.get("items") or [], (page.get("metadata") or {}).get("continue") or ""
                if not isinstance(objects, list) or not isinstance(token, str):
                    raise RequestFailed(f"{response.request} answered with no list")
                kept += [value for obj in objects if (value := keep(_fitting(resource, obj, path))) is not None]
            except (Unavailable, KeyError, TypeError, ValueError, AttributeError) as error:
                return Listing(problem=_told(error, path))
            if not token:
                return Listing(tuple(kept))
        return Listing(tuple(kept), f"there are more {resource.name} than are looked at ({len(kept)})")

    def get(self, resource: Resource, key: Key, keep: Callable[[Object], T]) -> Future[Found[T]]:
        """Begin to get one object."""
        return self.begin(resource.name, lambda: self.read_one(resource, key, keep))

    def read_one(self, resource: Resource, key: Key, keep: Callable[[Object], T]) -> Found[T]:
        """Get it now."""
        path = resource.object_path(key)
        return self.read_path(
            path, lambda obj: keep(_fitting(resource, obj, path)), resource.headers("PartialObjectMetadata")
        )

    def read_path(self, path: str, keep: Callable[[Object], T], headers: Mapping[str, str] | None = None) -> Found[T]:
        """Get what is at a path now."""
        try:
            response = self._get(path, {}, headers or {})
            return Found() if response.status == 404 else Found(keep(_success(response)))
        except (Unavailable, KeyError, TypeError, ValueError, AttributeError) as error:
            return Found(problem=_told(error, path))

    def _get(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Response:
        return self.connection.request("GET", path, query=query, headers=headers, timeout=REQUEST_SECONDS)


def read_time(connection: Connection) -> datetime | None:
    """Ask the API server for its time, by an answer's Date; raise Unavailable without one, InputError where it knows us not."""
    response = connection.request("GET", "/version", timeout=10.0)
    if response.status == 401:
        raise InputError(f"{response.problem}; log in to the cluster again")
    try:
        return parsedate_to_datetime(response.headers.get("Date") or "").astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None


def _success(response: Response) -> Object:
    if response.status != 200:
        raise RequestFailed(response.problem, response.status)
    return response.json()


def _fitting(resource: Resource, obj: Object, path: str) -> Object:
    """Return an object that is as its kind prescribes; one that is not makes all of its kind unreadable."""
    if problem := misfit(resource.name, obj):
        metadata = obj.get("metadata") if isinstance(obj, dict) else None
        name = metadata.get("name") if isinstance(metadata, dict) else None
        raise RequestFailed(f"GET {path}: object {name or '(no name)'} cannot be read: {problem}")
    return obj


def _told(error: Exception, path: str) -> str:
    return str(error) if isinstance(error, Unavailable) else f"GET {path}: the answer cannot be read ({error!r})"
