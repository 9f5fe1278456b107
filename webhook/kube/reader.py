"""Read objects and lists from the API server; the one place that says what each answer means.

missing: 404. Of one object it is None; of a list it is no page at all: its API is not installed.
refused: any other status that is not 200, as RequestFailed with it: 403 where it may not be read.
broken: an object that is not as its kind prescribes. One that was asked for is RequestFailed; one
of a list is left out and named in `Page.broken`, and the others count.
"""

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, NamedTuple, TypeVar

import msgspec

from webhook.core.model import Object
from webhook.kube.catalogue import CLAIMS, CLAIMS_V1
from webhook.kube.connection import MOST_BYTES, AnswerTooLong, Connection, RequestFailed, Response
from webhook.kube.decoding import ListMetadata, decode_item, decode_list, in_words
from webhook.kube.resource import Key, Misfit, Resource

T = TypeVar("T")

PAGE_SIZE = 500
MOST_PAGE_BYTES = 6_000_000
"""How much of a page is read before it is asked for again with fewer objects."""
LESS = 4


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Hold one page of a list: what was made of its *objects*; *more*: the list goes on.

    *broken*: the name of each other object, ``one of the pods`` where it has none, and what is
    wrong with it.
    """

    objects: list[T]
    broken: list[tuple[str, str]]
    more: bool


class RawPage(NamedTuple):
    """Hold one page of a list, its objects not decoded yet; a watch may go on at *version*.

    *limit*: how many objects were asked for.
    """

    items: list[msgspec.Raw]
    version: str
    more: bool
    limit: int


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
        response = self._get(resource.object_path(key), headers, seconds=seconds)
        if response.status == 404:
            return None
        with self._decoding:
            obj = response.expect(200).json()
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
        Raises RequestFailed where the list is refused or expires, or the answer is not a list.
        """
        left = most * size
        try:
            for page in self.raw_pages(resource, namespace, size=size):
                yield _page(resource, page, read)
                left -= page.limit
                if left <= 0:
                    return
        except RequestFailed as error:
            if error.status != 404:
                raise

    def raw_pages(
        self, resource: Resource, namespace: str = "", *, size: int = PAGE_SIZE
    ) -> Iterator[RawPage]:
        """Yield the pages of a list; one of too many bytes is asked for with fewer objects.

        Raises RequestFailed, with 404 where the API is not installed.
        """
        path, headers = resource.path_in(namespace), resource.headers("PartialObjectMetadataList")
        token: str | None = ""
        while token is not None:
            query = resource.query(limit=str(size), **{"continue": token})
            most_bytes = MOST_BYTES if size == 1 else MOST_PAGE_BYTES
            try:
                response = self._get(path, headers, query, most_bytes=most_bytes)
            except AnswerTooLong:
                if size == 1:
                    raise
                size = max(1, size // LESS)
                continue
            items, metadata = _list(response.expect(200))
            del response
            token = metadata.token or None
            yield RawPage(items, metadata.version, token is not None, size)

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

    def serves_claims(self) -> bool:
        """Tell whether the cluster serves v1 of the API of claims (DRA). Raises RequestFailed."""
        return CLAIMS_V1.rpartition("/")[2] in self.versions(CLAIMS)

    def server_time(self) -> datetime | None:
        """Ask for the API server's time; None where the answer names none.

        Raises RequestFailed, with 401 for an unknown caller.
        """
        response = self._get("/version")
        if response.status == 401:
            raise RequestFailed(response.problem, response.status)
        return self.answered

    def _group(self, group: str) -> Object | None:
        response = self._get(group)
        return None if response.status == 404 else response.expect(200).json()

    def _get(
        self,
        path: str,
        headers: Mapping[str, str] | None = None,
        query: Mapping[str, str] | None = None,
        *,
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


def _page(resource: Resource, page: RawPage, read: Callable[[Object], T]) -> Page[T]:
    objects, broken = [], []
    for raw in page.items:
        obj = decode_item(raw)
        try:
            objects.append(_read(resource, obj, read))
        except Misfit as problem:
            broken.append((_name(resource, obj), str(problem)))
    return Page(objects, broken, page.more)


def _list(response: Response) -> tuple[list[msgspec.Raw], ListMetadata]:
    """Return a list's objects and metadata; raise RequestFailed where it is no list."""
    try:
        found = decode_list(response.body)
    except ValueError as error:
        problem = f"{response.request} answered with no list: {in_words(str(error))}"
        raise RequestFailed(problem, 200) from None
    return found.items or [], found.metadata or ListMetadata()


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


def _name(resource: Resource, obj: object) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    is_named = isinstance(name, str) and name
    return f"{resource.name}/{name}" if is_named else f"one of the {resource.name}"
