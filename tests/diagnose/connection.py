"""An API server that answers from a map of objects, whose answers a test may break."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from urllib.parse import unquote

from webhook.core import podspec
from webhook.core.model import Object
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.credentials import Credentials

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)


class HostileConnection(Connection):
    """Answer with what *objects* holds of a path; *spoil* may change each answer."""

    def __init__(self, objects: dict[str, Any], namespace: str) -> None:
        super().__init__(Credentials("test", "http://127.0.0.1:9", namespace=namespace))
        self.objects = objects
        self.asked: list[str] = []
        self.options: list[dict[str, Any]] = []
        self.headers: dict[str, str] = {}
        self.written: list[tuple[str, Any, Any]] = []
        self.spoil: Callable[[str, int, bytes], tuple[int, bytes]] = lambda _path, status, body: (
            status,
            body,
        )

    def request(self, method: str, path: str, **options: Any) -> Response:
        """Answer at once."""
        self.asked.append(f"{method} {path}")
        self.options.append(options)
        if method != "GET":
            self.written.append((path, options.get("query"), options.get("body")))
        status, value = self._value(method, path, options)
        body = json.dumps(value).encode()
        status, body = self.spoil(f"{method} {path}", status, body)
        if status == 0:
            raise RequestFailed(f"{method} {path}: timed out")
        if status >= 500 or status == 429:
            raise RequestFailed(f"{method} {path} answered {status}: {body[:80]!r}", status)
        date = NOW.strftime("%a, %d %b %Y %H:%M:%S GMT")
        return Response(f"{method} {path}", status, {"Date": date, **self.headers}, body)

    def _value(self, method: str, path: str, options: Any) -> tuple[int, Any]:
        if method == "POST":
            return 201, self.objects.get(f"POST {path}", options["body"])
        found = self.objects.get(unquote(path))
        if isinstance(found, list):
            query = options.get("query") or {}
            wanted, fields = (query.get(key) or "" for key in ("labelSelector", "fieldSelector"))
            items = [each for each in found if _chosen(each, wanted) and _has(each, fields)]
            return 200, {"metadata": {"resourceVersion": "1"}, "items": items}
        return (404, {"message": "not found"}) if found is None else (200, found)


def _chosen(obj: Object, selector: str) -> bool:
    try:
        labels = dict(podspec.labels(obj))
    except (AttributeError, TypeError, ValueError):
        return True  # a broken one is sent whatever is asked for
    for term in filter(None, selector.split(",")):
        key, _, value = term.partition("=")
        if key.removeprefix("!") in labels if term.startswith("!") else labels.get(key) != value:
            return False
    return True


def _has(obj: Object, selector: str) -> bool:
    """Tell whether each field of ``type!=Normal,involvedObject.kind=Pod`` is so, where it is."""
    for term in filter(None, selector.split(",")):
        path, _, value = term.partition("=")
        found: Any = obj
        for key in path.removesuffix("!").split("."):
            found = found.get(key) if isinstance(found, dict) else None
        if (found == value) == path.endswith("!"):
            return False
    return True
