"""The informer against an API server that breaks in every way that has been seen."""

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from tests.fake_apiserver import (
    NAMESPACES,
    NETWORKS,
    NOT_INSTALLED,
    Exchange,
    FakeApiServer,
    expired,
    hang,
    lines,
    status,
    text,
)
from tests.tables import table
from tests.waiting import Clock, wait_until
from webhook.core.model import Object
from webhook.kube import connection, informer
from webhook.kube.catalogue import PODS as POD_RESOURCE
from webhook.kube.informer import Informer
from webhook.kube.resource import Resource, key_text

RESOURCE = Resource("namespaces", "/api/v1", metadata_only=True)


class Watcher:
    """A running informer that keeps each object's labels, and all that it reported."""

    def __init__(
        self, server: FakeApiServer, resource: Resource = RESOURCE, **settings: Any
    ) -> None:
        self.changes: list[tuple[str, dict[str, str] | None]] = []
        self.pauses: list[float] = []
        self._moment = threading.Event()
        self.informer = Informer(
            server.connection(),
            resource,
            settings.pop("transform", labels_of),
            on_change=lambda key, value: self.changes.append((key_text(key), value)),
            pause=self._pause,
            **settings,
        )

    @property
    def items(self) -> dict[str, dict[str, str]]:
        return {key_text(key): value for key, value in self.informer.items.items()}

    def _pause(self, seconds: float) -> None:
        self.pauses.append(seconds)
        self._moment.wait(0.01)


def labels_of(obj: Object) -> dict[str, str]:
    return dict(obj["metadata"].get("labels", {}))


@contextmanager
def watching(server: FakeApiServer, *arguments: Any, **settings: Any) -> Iterator[Watcher]:
    watcher = Watcher(server, *arguments, **settings)
    watcher.informer.start()
    try:
        yield watcher
    finally:
        watcher.informer.stop()


def watches(server: FakeApiServer) -> int:
    return len(server.asked("watch"))


def test_lists_then_follows_changes_and_deletions(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "a", labels={"n": "1"})
    with watching(server) as watcher:
        wait_until(lambda: watcher.informer.synced and watches(server), "the watch")
        server.put(NAMESPACES, "b")
        server.put(NAMESPACES, "a", labels={"n": "2"})
        server.delete(NAMESPACES, "b")
        wait_until(lambda: len(watcher.changes) == 4, "four changes")
        assert watcher.changes == [("a", {"n": "1"}), ("b", {}), ("a", {"n": "2"}), ("b", None)]
        assert watcher.items == {"a": {"n": "2"}}
        assert watcher.pauses == []


def test_lists_again_where_a_page_has_expired(server: FakeApiServer) -> None:
    for number in range(700):
        server.put(NAMESPACES, f"n{number}")
    seen: list[int] = []

    def compact_between_pages(obj: Object) -> dict[str, str]:
        seen.append(1)
        if len(seen) == 500:
            server.compact()
        return labels_of(obj)

    with watching(server, transform=compact_between_pages) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert len(watcher.items) == 700
        assert len(server.asked("list")) == 4, "two pages, twice"


def test_follows_an_object_of_megabytes_and_gives_a_line_up_that_no_object_can_have(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server) as watcher:
        wait_until(lambda: server.asked("watch"), "the watch")
        server.put(NAMESPACES, "big", annotations={"filler": "x" * 3_000_000}, labels={"n": "1"})
        wait_until(lambda: watcher.items == {"big": {"n": "1"}}, "the object")
        monkeypatch.setattr(connection, "MOST_BYTES", 1_000_000)
        server.put(NAMESPACES, "big", annotations={"filler": "x" * 3_000_000}, labels={"n": "2"})
        wait_until(lambda: len(server.asked("list")) == 2, "the end of the watch")


@table(
    "metadata_only, listed, watched",
    {
        "metadata": (
            True,
            "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json",
            "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json",
        ),
        "whole objects": (False, "application/json", "application/json"),
    },
)
def test_asks_for_little(
    server: FakeApiServer, metadata_only: bool, listed: str, watched: str
) -> None:
    resource = replace(
        POD_RESOURCE.select(labels="app=x", fields="status.phase!=Failed"),
        metadata_only=metadata_only,
    )
    with watching(server, resource):
        wait_until(lambda: watches(server), "the watch")
        request, watch = server.requests
        assert request.headers["Accept"] == listed
        assert watch.headers["Accept"] == watched
        assert request.query == {
            "labelSelector": "app=x",
            "fieldSelector": "status.phase!=Failed",
            "limit": "500",
        }
        seconds = int(watch.query.pop("timeoutSeconds"))
        assert 240 <= seconds <= 360
        assert watch.query == {
            "labelSelector": "app=x",
            "fieldSelector": "status.phase!=Failed",
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": "100",
        }


def test_resumes_from_the_last_bookmark(server: FakeApiServer) -> None:
    with watching(server):
        wait_until(lambda: watches(server), "the watch")
        version = server.bookmark(NAMESPACES)
        server.end_watches()
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert server.asked("watch")[1].query["resourceVersion"] == version
        assert len(server.asked("list")) == 1


@table(
    "behaviour, lists",
    {
        "cut within a line": (lines(b'{"type":"ADDED","object":{"metadata":{"na', then="cut"), 1),
        "silence": (lines(then="hang"), 1),
        "410": (status(410, "too old resource version"), 2),
        "410 in the stream": (expired, 2),
        "no JSON": (lines(b"<html>\n", then="hang"), 2),
        "no object": (lines(b"[]\n", then="hang"), 2),
        "no object in it": (lines(b'{"type":"ADDED"}\n', then="hang"), 2),
        "no metadata": (lines(b'{"type":"ADDED","object":{"metadata":7}}\n', then="hang"), 2),
        "deep": (lines(b"[" * 100_000 + b"\n", then="hang"), 2),
        "error": (
            lines(b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}\n', then="hang"),
            2,
        ),
        "empty error": (lines(b'{"type":"ERROR","object":null}\n', then="hang"), 2),
    },
)
def test_misses_nothing_where_a_watch_ends_by(
    server: FakeApiServer, behaviour: Any, lists: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(informer, "SILENCE_SECONDS", 0.2)
    server.put(NAMESPACES, "gone")
    server.put(NAMESPACES, "stays", labels={"n": "1"})

    def change_meanwhile(exchange: Any) -> None:
        server.delete(NAMESPACES, "gone")
        server.put(NAMESPACES, "stays", labels={"n": "2"})
        server.put(NAMESPACES, "new")
        behaviour(exchange)

    server.misbehave("watch", NAMESPACES, change_meanwhile)
    with watching(server, uniform=lambda low, high: 0.0) as watcher:
        wait_until(lambda: "new" in watcher.items, "what happened meanwhile")
        assert watcher.items == {"stays": {"n": "2"}, "new": {}}
        assert watcher.changes[2:] == [("gone", None), ("stays", {"n": "2"}), ("new", {})]
        assert len(server.asked("list")) == lists


def test_goes_on_past_broken_objects(
    server: FakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    def picky(obj: Object) -> dict[str, str]:
        if obj["metadata"].get("labels", {}).get("bad"):
            raise ValueError("bad")
        return labels_of(obj)

    server.put(NAMESPACES, "bad", labels={"bad": "yes"})
    server.put(NAMESPACES, "good")
    server.misbehave(
        "watch",
        NAMESPACES,
        lines(
            b'{"type":"ADDED","object":{"metadata":{}}}\n'
            b'{"type":"STRANGE","object":{"metadata":{}}}\n'
        ),
    )
    with watching(server, transform=picky) as watcher, caplog.at_level(logging.WARNING):
        wait_until(lambda: watches(server) >= 2, "the second watch")
        server.put(NAMESPACES, "good", labels={"bad": "yes"})
        server.put(NAMESPACES, "last")
        wait_until(lambda: "last" in watcher.items, "the change")
        assert watcher.items == {"good": {}, "last": {}}
        assert "namespaces bad: cannot be read" in caplog.text


def test_fills_no_log_where_no_object_is_readable(
    server: FakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(obj: Object) -> dict[str, str]:
        raise ValueError("bad")

    for number in range(50):
        server.put(NAMESPACES, f"n{number}")
    with watching(server, transform=fail), caplog.at_level(logging.WARNING):
        wait_until(lambda: watches(server), "the watch")
    assert caplog.text.count("cannot be read") == 5


def test_waits_as_long_as_429_says(server: FakeApiServer) -> None:
    server.misbehave("list", NAMESPACES, status(429, "slow down", Retry_After="7"))
    server.misbehave("watch", NAMESPACES, status(429, "slow down", Retry_After="86400"))
    with watching(server) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert 7 <= watcher.pauses[0] <= 8
        assert 60 <= watcher.pauses[1] <= 62
        assert len(server.asked("list")) == 2


def test_keeps_what_it_knows_while_the_server_fails(server: FakeApiServer) -> None:
    server.put(NAMESPACES, "a")
    with watching(server) as watcher:
        wait_until(lambda: watches(server), "the watch")
        server.misbehave(
            "watch", NAMESPACES, *[status(500, "etcd is gone")] * 3, status(403, "forbidden")
        )
        server.misbehave("list", NAMESPACES, status(503, "not yet"))
        server.end_watches()
        wait_until(lambda: watches(server) == 6, "the watch that works again")
        assert watcher.items == {"a": {}}
        assert watcher.changes == [("a", {})]


@pytest.mark.parametrize(
    "refusal", [status(403, "namespaces is forbidden: no role"), text(404, NOT_INSTALLED)]
)
def test_is_not_synced_while_it_may_not_list(server: FakeApiServer, refusal: Any) -> None:
    server.misbehave("list", NAMESPACES, *[refusal] * 3)
    with watching(server) as watcher:
        wait_until(lambda: len(watcher.pauses) == 2, "refusals")
        assert not watcher.informer.synced
        wait_until(lambda: watcher.informer.synced, "the list")
    assert len(watcher.pauses) == 3


@table(
    "kind, behaviours, pauses",
    {
        "ever longer": ("list", [status(500)] * 12, [1, 2, 4, *[5] * 9]),
        "without an answer, each asked for twice": ("list", [Exchange.cut] * 4, [1, 2]),
        "after a watch that ended at once": ("watch", [lines()] * 4, [1, 2, 4, 5]),
    },
)
def test_pauses(
    server: FakeApiServer, kind: str, behaviours: list[Any], pauses: list[float]
) -> None:
    server.misbehave(kind, NAMESPACES, *behaviours)
    with watching(server, uniform=lambda low, high: high) as watcher:
        wait_until(lambda: len(watcher.pauses) == len(pauses) and watches(server), "the pauses")
        wait_until(lambda: watcher.informer.synced, "the list")
        assert watcher.pauses == pauses


def test_follows_a_watch_that_lasted_without_a_pause(server: FakeApiServer) -> None:
    clock = Clock()
    server.misbehave("watch", NAMESPACES, *[status(500)] * 3)
    with watching(server, uniform=lambda low, high: high, monotonic=clock) as watcher:
        wait_until(lambda: watches(server) == 4, "the watch that lasts")
        clock.now += 300
        server.end_watches()
        wait_until(lambda: watches(server) == 5, "the next watch")
        assert watcher.pauses == [1, 2, 4]
        server.misbehave("watch", NAMESPACES, status(500))
        clock.now += 300
        server.end_watches()
        wait_until(lambda: watches(server) == 7, "the watch after a failure")
        assert watcher.pauses == [1, 2, 4, 1]


def test_counts_only_answers_as_contact(server: FakeApiServer) -> None:
    clock = Clock()
    with watching(server, monotonic=clock) as watcher:
        wait_until(lambda: watches(server) and watcher.informer.synced, "the watch")
        clock.now = 1100.0
        server.put(NAMESPACES, "a")
        wait_until(lambda: watcher.changes, "the last event")
        server.misbehave("watch", NAMESPACES, *[status(500)] * 3, hang)
        clock.now = 1200.0
        server.end_watches()
        wait_until(lambda: watches(server) == 5, "failures")
        assert watcher.informer.last_contact == 1100


OPTIONAL = Resource("network-attachment-definitions", "/apis/k8s.cni.cncf.io/v1", optional=True)


def test_is_listed_and_empty_where_the_resource_is_not_installed(server: FakeApiServer) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    with watching(server, OPTIONAL) as watcher:
        wait_until(lambda: watcher.informer.synced, "the verdict")
        wait_until(lambda: watches(server), "the watch, once it is installed")
        server.put(NETWORKS, "net", "default")
        wait_until(lambda: watcher.items == {"default/net": {}}, "the network")
        assert (
            informer.NOT_INSTALLED_SECONDS
            <= watcher.pauses[0]
            <= informer.NOT_INSTALLED_SECONDS + 1
        )


def test_forgets_all_where_the_resource_is_removed(server: FakeApiServer) -> None:
    server.put(NETWORKS, "net", "default")
    with watching(server, OPTIONAL) as watcher:
        wait_until(lambda: watcher.items and watches(server), "the network")
        server.misbehave("watch", NETWORKS, text(404, NOT_INSTALLED))
        server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
        server.end_watches()
        wait_until(lambda: ("default/net", None) in watcher.changes, "the deletion")


def test_survives_what_nobody_thought_of(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Neither a failure of its own nor one of its listener ends the thread."""
    failures = [MemoryError("no room")]
    list_objects = Informer._list

    def fail_first(informer: Informer[Any]) -> str:
        if failures:
            raise failures.pop()
        return list_objects(informer)

    def fail(*_: object) -> None:
        raise RuntimeError("listener")

    server.put(NAMESPACES, "a")
    monkeypatch.setattr(Informer, "_list", fail_first)
    with watching(server, on_listed=fail) as watcher:
        wait_until(lambda: watches(server), "the watch")
        assert watcher.items == {"a": {}}
    assert "watch of namespaces: unexpected failure" in caplog.text
    assert "namespaces list: change not handled" in caplog.text


@pytest.mark.parametrize("kind", ["list", "watch"])
def test_stops_at_once_while_it_waits(server: FakeApiServer, kind: str) -> None:
    if kind == "list":
        server.misbehave("list", NAMESPACES, hang)
    with watching(server) as watcher:
        wait_until(lambda: server.asked(kind), "the request")
        if kind == "watch":
            watcher.informer.stop()
            assert not watcher.informer._thread.is_alive()
    assert watcher.pauses == []


def test_forgets_an_object_of_which_nothing_is_to_be_kept(server: FakeApiServer) -> None:
    def keep(obj: Object) -> dict[str, str] | None:
        return labels_of(obj) or None

    server.put(NAMESPACES, "a", labels={"n": "1"})
    server.put(NAMESPACES, "never")
    with watching(server, transform=keep) as watcher:
        wait_until(lambda: watches(server), "the watch")
        server.put(NAMESPACES, "a")
        wait_until(lambda: not watcher.items, "the change")
        assert watcher.changes == [("a", {"n": "1"}), ("a", None)]
