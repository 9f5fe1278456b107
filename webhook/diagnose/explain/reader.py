"""Ask the API server for objects: in pages, bounded, by its own clock; what may not be read is told from what is not there."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.explain.reading import Unread
from webhook.kube.connection import Connection, Response
from webhook.kube.resource import Resource
from webhook.kube.shape import misfit

Progress = Callable[[str], None]

PAGE = 500
MOST_PAGES = 40
SECONDS = 30.0


class NotRead(Exception):
    """Say that one part cannot be read; the rest can. *status* is the API server's."""

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status


class Reader:
    """Ask one API server. *progress* is told what was read so far, by any thread."""

    def __init__(self, connection: Connection, progress: Progress = lambda _: None) -> None:
        self._connection, self._progress = connection, progress
        self.now = datetime.now(UTC)
        self.unread: list[Unread] = []

    def list(self, resource: Resource, namespace: str = "", **selectors: str) -> list[Object]:
        """Return all objects, but no more than MOST_PAGES pages; raise NotRead where the caller may not list them."""
        chosen = replace(
            resource,
            label_selector=selectors.get("labels", ""),
            field_selector=selectors.get("fields", ""),
        )
        found: list[Object] = []
        token, size = "", str(PAGE)
        headers = chosen.headers("PartialObjectMetadataList")
        for _ in range(MOST_PAGES):
            query = chosen.query(limit=size, **{"continue": token})
            response = self._get(chosen.path_in(namespace), query, headers)
            if response.status == 410 and size:  # the pages outlived their version: all in one piece
                found, token, size = [], "", ""
                continue
            page = self._object(response)
            if page is None:
                return found
            items, metadata = page.get("items") or [], page.get("metadata") or {}
            if misfit_page := _misfit_page(items, metadata):
                raise NotRead(f"{response.request} answered with no list: {misfit_page}", response.status)
            token = metadata.get("continue") or ""
            found += self._fitting(resource, items)
            self._progress(f"{len(found):,} {resource.name}")
            if not token:
                return found
        self.unread.append(Unread(resource.name, f"only the first {len(found):,} were read"))
        return found

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return one object, None where it does not exist; raise NotRead where the caller may not get it."""
        response = self._get(resource.object_path((namespace, name)), {}, {})
        found = self._object(response)
        if found is not None and (problem := misfit(resource.name, found)):
            raise NotRead(f"{response.request} answered with an object that cannot be read: {problem}", response.status)
        return found

    def _fitting(self, resource: Resource, items: Sequence[Any]) -> Iterator[Object]:
        """Yield the objects that are as their kind prescribes; name the others."""
        for obj in items:
            if not (problem := misfit(resource.name, obj)):
                yield obj
                continue
            metadata = obj.get("metadata") if isinstance(obj, dict) else None
            name = metadata.get("name") if isinstance(metadata, dict) else None
            title = f"{resource.name}/{name}" if isinstance(name, str) and name else f"one of the {resource.name}"
            self.unread.append(Unread(title, f"cannot be read, so that it is left out: {problem}"))

    def _get(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Response:
        response = self._connection.request("GET", path, query=query, headers=headers, timeout=SECONDS)
        with suppress(ValueError, TypeError):  # some proxies drop it; this machine's clock must do then
            self.now = parsedate_to_datetime(response.headers.get("Date") or "")
        if response.status == 401:
            raise InputError(f"{response.problem}; log in to the cluster again")
        return response

    def _object(self, response: Response) -> Object | None:
        if response.status == 404:
            return None
        if response.status != 200:
            raise NotRead(response.problem, response.status)
        try:
            value: Any = orjson.loads(response.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise NotRead(f"{response.request} answered with no JSON object", response.status)
        return value


def _misfit_page(items: object, metadata: object) -> str:
    if not isinstance(items, list):
        return "items is not a list"
    if not isinstance(metadata, dict) or not isinstance(metadata.get("continue") or "", str):
        return "metadata.continue cannot be read"
    return ""
