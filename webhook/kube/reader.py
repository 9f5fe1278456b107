"""Read objects and pages of lists from the API server; the one place that says what each of its answers means.

missing: 404. Of one object it is None; of a list it is no page at all, for the API that has such objects is not installed.
refused: any other status that is not 200, as RequestFailed with that status: 403 where the account may not read it.
broken: an object that is not as its kind prescribes. One that was asked for is RequestFailed; one of a list is left out
and named in `Page.broken`, and the others count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

import msgspec

from webhook.core.model import Object
from webhook.kube.answer import MOST_BYTES, AnswerTooLong, RequestFailed, Response
from webhook.kube.connection import Connection
from webhook.kube.decoding import decode_list, in_words
from webhook.kube.resource import Key, Misfit, Resource

T = TypeVar("T")

PAGE_SIZE = 500
MOST_PAGE_BYTES = 6_000_000
"""How much of a page is read before it is asked for again with fewer objects."""
LESS = 4
EXPIRED = 410


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Hold one page of a list: what was made of its *objects*.

    *broken*: the name of each other object, ``one of the pods`` where it has none, and what is wrong
    with it. *is_first*: what came before does not count. *more*: the list goes on.
    """

    objects: list[T]
    broken: list[tuple[str, str]]
    is_first: bool
    more: bool


@dataclass(frozen=True, slots=True)
class RawPage:
    """Hold one page of a list, its objects not decoded yet.

    *version*: where a watch may go on. *limit*: how many were asked for, 0 for all.
    """

    items: list[msgspec.Raw]
    version: str
    limit: int
    is_first: bool
    more: bool


class Reader:
    """Read objects; each request takes *seconds* at most.

    ``answered``: the API server's time of the last answer, None where it named none.
    """

    def __init__(self, connection: Connection, seconds: float = 10.0) -> None:
        self.connection = connection
        self.answered: datetime | None = None
        self._seconds = seconds
        # an object can take twenty times its length, and several are asked for at a time
        self._decoding = threading.Lock()

    def find(
        self,
        resource: Resource,
        key: Key,
        read: Callable[[Object], T],
        *,
        seconds: float = 0.0,
        managed_fields: bool = False,
    ) -> T | None:
        """Return what *read* makes of one object, None where it is missing.

        *seconds*: for this request. *managed_fields*: keep metadata.managedFields, half of many
        objects. Raises RequestFailed where it is refused or broken.
        """
        headers = resource.headers("PartialObjectMetadata")
        response = self._get(resource.object_path(key), headers, {}, seconds)
        if response.status == 404:
            return None
        with self._decoding:
            obj = _success(response).json()
            try:
                return _read(resource, obj, read, managed_fields=managed_fields)
            except Misfit as broken:
                problem = f"{response.request} answered with an object that cannot be read"
                raise RequestFailed(f"{problem}: {broken}", 200) from None

    def pages(
        self,
        resource: Resource,
        read: Callable[[Object], T],
        namespace: str = "",
        *,
        most: int,
        size: int = PAGE_SIZE,
    ) -> Iterator[Page[T]]:
        """Yield the first *most* pages of at most *size* objects, of one namespace or of all.

        Yields none where the API is not installed. *read* raises Misfit for what cannot be read.
        Raises RequestFailed where the list is refused, or the answer is not a list.
        """
        left = most * size
        for page in self._pages_if_installed(resource, namespace, size):
            left = (most * size if page.is_first else left) - (page.limit or most * size)
            objects, broken = [], []
            for raw in page.items:
                obj: Any = None
                try:
                    obj = resource.decode(raw)
                    objects.append(_read(resource, obj, read))
                except Misfit as problem:
                    broken.append((_name(resource, obj), str(problem)))
            yield Page(objects, broken, page.is_first, page.more)
            if left <= 0:
                return

    def raw_pages(
        self, resource: Resource, namespace: str = "", *, size: int = PAGE_SIZE
    ) -> Iterator[RawPage]:
        """Yield the pages of a list. Raises RequestFailed, with 404 where the API is not installed.

        A page of too many bytes is asked for with fewer objects. Where a page outlived its version
        (410), the list begins again, once, in one piece if that is not too long.
        """
        token, is_first, is_anew = "", True, False
        path, headers = resource.path_in(namespace), resource.headers("PartialObjectMetadataList")
        while True:
            query = resource.query(limit=str(size or ""), **{"continue": token})
            try:
                most_bytes = MOST_BYTES if size == 1 else MOST_PAGE_BYTES
                response = self._get(path, headers, query, most_bytes=most_bytes)
            except AnswerTooLong:
                if size == 1:
                    raise
                size = max(1, (size or PAGE_SIZE) // LESS)
                continue
            if response.status == EXPIRED and not is_anew:
                token, size, is_first, is_anew = "", 0, True, True
                continue
            items, version, token = _list(_success(response))
            del response
            yield RawPage(items, version, size, is_first, bool(token))
            is_first = False
            if not token:
                return

    def _pages_if_installed(
        self, resource: Resource, namespace: str, size: int
    ) -> Iterator[RawPage]:
        try:
            yield from self.raw_pages(resource, namespace, size=size)
        except RequestFailed as error:
            if error.status != 404:
                raise

    def preferred_version(self, group: str) -> str:
        """Return the path of a group's preferred version, ``/apis/kueue.x-k8s.io/v1beta2``.

        It is empty where the group is not installed. Asked for before objects that may not be
        installed: who may not list them is refused either way, but discovery is open to all.
        Raises RequestFailed.
        """
        if (found := self._group(group)) is None:
            return ""
        preferred = found.get("preferredVersion")
        version = preferred.get("groupVersion") if isinstance(preferred, dict) else None
        if not isinstance(version, str):
            raise RequestFailed(f"GET {group} answered without preferredVersion.groupVersion", 200)
        return f"/apis/{version}"

    def versions(self, group: str) -> frozenset[str]:
        """Return the versions of an API group, ``v1``; none where it is not installed.

        Raises RequestFailed.
        """
        found = self._group(group)
        versions = [] if found is None else found.get("versions")
        if not isinstance(versions, list):
            raise RequestFailed(f"GET {group} answered without versions", 200)
        served = (each.get("version") for each in versions if isinstance(each, dict))
        return frozenset(version for version in served if isinstance(version, str))

    def server_time(self) -> datetime | None:
        """Ask for the API server's time; None where the answer names none.

        Raises RequestFailed, with 401 for an unknown caller.
        """
        response = self._get("/version", {}, {})
        if response.status == 401:
            raise RequestFailed(response.problem, response.status)
        return self.answered

    def _group(self, group: str) -> Object | None:
        response = self._get(group, {}, {})
        return None if response.status == 404 else _success(response).json()

    def _get(
        self,
        path: str,
        headers: Mapping[str, str],
        query: Mapping[str, str],
        seconds: float = 0.0,
        most_bytes: int = MOST_BYTES,
    ) -> Response:
        response = self.connection.request(
            "GET",
            path,
            query=query,
            headers=headers,
            timeout=seconds or self._seconds,
            most_bytes=most_bytes,
        )
        try:
            date = parsedate_to_datetime(response.headers.get("Date") or "")
            self.answered = date.astimezone(UTC)
        except (ValueError, TypeError, OverflowError):
            self.answered = None  # some proxies drop it
        return response


def whole(obj: Object) -> Object:
    """Keep all of an object."""
    return obj


def _list(response: Response) -> tuple[list[msgspec.Raw], str, str]:
    """Return objects, version and continue token; raise RequestFailed where it is no list."""
    try:
        found = decode_list(response.body)
    except ValueError as error:
        problem = f"{response.request} answered with no list: {in_words(str(error))}"
        raise RequestFailed(problem, 200) from None
    metadata = found.metadata
    if metadata is None:
        return found.items or [], "", ""
    return found.items or [], metadata.version, metadata.token or ""


def _read(
    resource: Resource, obj: Any, read: Callable[[Object], T], *, managed_fields: bool = False
) -> T:
    resource.check(obj)
    if not managed_fields:
        obj["metadata"].pop("managedFields", None)
    try:
        return read(obj)
    except Misfit:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Misfit(repr(error)) from error


def _success(response: Response) -> Response:
    if response.status != 200:
        raise RequestFailed(response.problem, response.status)
    return response


def _name(resource: Resource, obj: object) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    is_named = isinstance(name, str) and name
    return f"{resource.name}/{name}" if is_named else f"one of the {resource.name}"
