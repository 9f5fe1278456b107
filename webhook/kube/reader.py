"""Read objects and pages of lists from the API server; the one place that says what each of its answers means.

missing: 404. Of one object it is None; of a list it is no page at all, for the API that has such objects is not installed.
refused: any other status that is not 200, as RequestFailed with that status: 403 where the account may not read it.
broken: an object that is not as its kind prescribes. One that was asked for is RequestFailed; one of a list is left out and named in
`Page.broken`, and the others count.
too many: what comes after so many pages is not read; `Page.more` tells it.
too long: a page that weighs too much is asked for anew with fewer objects, which count as that part of a page.
expired: 410 for a page that outlived its version. The list begins anew, in one piece if that is not too long.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Generic, TypeVar

from webhook.core.model import Object
from webhook.kube.answer import MOST_BYTES, AnswerTooLong
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.page_size import PageSize
from webhook.kube.resource import Key, Misfit, Resource

T = TypeVar("T")

PAGE_SIZE = 500
EXPIRED = 410


@dataclass(frozen=True, slots=True)
class Page(Generic[T]):
    """Hold one page of a list: what was made of the *objects* that are as their kind prescribes.

    *broken*: the name of each other object, ``one of the pods`` where it has none, and what is wrong with it. *is_first*: what came
    before does not count. *more*: the list goes on.
    """

    objects: list[T]
    broken: list[tuple[str, str]]
    is_first: bool
    more: bool


class Reader:
    """Read objects; each request takes *seconds* at most. ``answered``: the API server's time of the last answer, if it told one."""

    def __init__(self, connection: Connection, seconds: float = 10.0) -> None:
        self.connection = connection
        self.answered: datetime | None = None
        self._seconds = seconds
        self._decoding = (
            threading.Lock()
        )  # an object can take twenty times its length, and several are asked for at a time

    def find(
        self,
        resource: Resource,
        key: Key,
        read: Callable[[Object], T],
        *,
        seconds: float = 0.0,
        managed_fields: bool = False,
    ) -> T | None:
        """Return what *read* makes of one object, None where it is missing; raise RequestFailed where it is refused or broken.

        *seconds*: for this request alone. *managed_fields*: keep metadata.managedFields, half of many objects.
        """
        response = self._get(
            resource.object_path(key), resource.headers("PartialObjectMetadata"), {}, seconds
        )
        if response.status == 404:
            return None
        try:
            with self._decoding:
                return _read(resource, _success(response).json(managed_fields=managed_fields), read)
        except _Broken as broken:
            problem = f"{response.request} answered with an object that cannot be read: {broken}"
            raise RequestFailed(problem, 200) from None

    def pages(
        self,
        resource: Resource,
        read: Callable[[Object], T],
        namespace: str = "",
        *,
        most: int,
        size: int = PAGE_SIZE,
    ) -> Iterator[Page[T]]:
        """Yield the first *most* pages of at most *size* objects, of one namespace or of all; none where the API is not installed.

        *read* raises Misfit for what cannot be read.

        Raises RequestFailed where the list is refused, or the answer is not a list.
        """
        token, page_size, left, is_first, is_anew = "", PageSize(size), size * most, True, False
        while left > 0:
            response = self.request_page(resource, namespace, token=token, size=page_size)
            if response.status == 404:
                return
            if response.status == EXPIRED and not is_anew:
                token, page_size, left, is_first, is_anew = (
                    "",
                    PageSize(size * most),
                    size * most,
                    True,
                    True,
                )
                continue
            left -= page_size.limit
            items, metadata = read_list(_success(response), of_pods=resource.name == "pods")
            page_size.read(len(items), len(response.body))
            del response
            token = metadata.get("continue") or ""
            objects, broken = [], []
            for obj in items:
                try:
                    objects.append(_read(resource, obj, read))
                except _Broken as problem:
                    broken.append((_name(resource, obj), str(problem)))
            del items
            yield Page(objects, broken, is_first, bool(token))
            is_first = False
            if not token:
                return

    def request_page(
        self, resource: Resource, namespace: str = "", *, token: str, size: PageSize
    ) -> Response:
        """Ask for one page, the first one where *token* is empty; *size* shrinks until one can be read. Raises RequestFailed."""
        path, headers = resource.path_in(namespace), resource.headers("PartialObjectMetadataList")
        while True:
            query = resource.query(limit=str(size.limit or ""), **{"continue": token})
            try:
                return self._get(path, headers, query, most_bytes=size.most_bytes)
            except AnswerTooLong:
                if (
                    size.limit <= 1
                ):  # one object; or all in one piece, which the caller begins anew in pages
                    raise
                size.too_long()

    def preferred_version(self, group: str) -> str:
        """Return the path of an API group's preferred version, ``/apis/kueue.x-k8s.io/v1beta2``; empty where it is not installed.

        Asked for before objects that may not be installed: who may not list them is refused whether or not there are any, but
        discovery is open to all. Raises RequestFailed.
        """
        response = self._get(group, {}, {})
        if response.status == 404:
            return ""
        found: Any = _success(response).json().get("preferredVersion")
        version = found.get("groupVersion") if isinstance(found, dict) else None
        if not isinstance(version, str):
            raise RequestFailed(
                f"{response.request} answered without preferredVersion.groupVersion", 200
            )
        return f"/apis/{version}"

    def versions(self, group: str) -> frozenset[str]:
        """Return the versions in which an API group is served, ``v1``; none where it is not installed. Raises RequestFailed."""
        response = self._get(group, {}, {})
        if response.status == 404:
            return frozenset()
        found: Any = _success(response).json().get("versions")
        if not isinstance(found, list):
            raise RequestFailed(f"{response.request} answered without versions", 200)
        versions = (each.get("version") for each in found if isinstance(each, dict))
        return frozenset(version for version in versions if isinstance(version, str))

    def server_time(self) -> datetime | None:
        """Ask for the API server's time; None where the answer tells none. Raises RequestFailed, with 401 for an unknown caller."""
        response = self._get("/version", {}, {})
        if response.status == 401:
            raise RequestFailed(response.problem, response.status)
        return self.answered

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
            self.answered = parsedate_to_datetime(response.headers.get("Date") or "").astimezone(
                UTC
            )
        except (ValueError, TypeError, OverflowError):
            self.answered = None  # some proxies drop it
        return response


def whole(obj: Object) -> Object:
    """Keep all of an object."""
    return obj


def read_list(response: Response, *, of_pods: bool = False) -> tuple[list[Any], Object]:
    """Read the items and the metadata of a list; raise RequestFailed where the answer is not one."""
    page = response.json_of_pods() if of_pods else response.json()
    items, metadata = page.get("items") or [], page.get("metadata") or {}
    if not isinstance(items, list):
        raise RequestFailed(f"{response.request} answered with no list: items is not a list", 200)
    if not isinstance(metadata, dict) or not isinstance(metadata.get("continue") or "", str):
        raise RequestFailed(
            f"{response.request} answered with no list: metadata.continue cannot be read", 200
        )
    return items, metadata


class _Broken(Exception):
    """Say what is wrong with an object."""


def _read(resource: Resource, obj: Any, read: Callable[[Object], T]) -> T:
    try:
        resource.check(obj)
        return read(obj)
    except Misfit as problem:
        raise _Broken(str(problem)) from problem
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise _Broken(repr(error)) from error


def _success(response: Response) -> Response:
    if response.status != 200:
        raise RequestFailed(response.problem, response.status)
    return response


def _name(resource: Resource, obj: object) -> str:
    metadata = obj.get("metadata") if isinstance(obj, dict) else None
    name = metadata.get("name") if isinstance(metadata, dict) else None
    return (
        f"{resource.name}/{name}"
        if isinstance(name, str) and name
        else f"one of the {resource.name}"
    )
