"""The informer against an API server that breaks in every way that has been seen."""

import logging
import threading
from collections.abc import Callable, Iterator
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
from webhook.kube.informer import Informer, Restart
from webhook.kube.reader import MOST_PAGE_BYTES
from webhook.kube.resource import Resource, key_text

RESOURCE = Resource("namespaces", "/api/v1", metadata_only=True)


class Watcher:
    """A running informer that keeps each object's labels, and all that it reported."""

    def __init__(
        self, server: FakeApiServer, resource: Resource = RESOURCE, **settings: Any
    ) -> None:
        self.changes: list[tuple[str, dict[str, str] | None]] = []
        self.restarts: list[str] = []
        self.pauses: list[float] = []
        self._moment = threading.Event()
        self.informer = Informer(
            server.connection(),
            resource,
            settings.pop("transform", labels_of),
            on_change=lambda key, value: self.changes.append((key_text(key), value)),
            on_restart=lambda _resource, reason: self.restarts.append(reason),
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
        assert watcher.restarts == []


def test_lists_in_pages(server: FakeApiServer) -> None:
    for number in range(1101):
        server.put(NAMESPACES, f"n{number}")
    with watching(server) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert len(watcher.items) == 1101
        assert [request.query["limit"] for request in server.asked("list")] == ["500", "500", "500"]


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
        assert watcher.restarts == [Restart.EXPIRED]


def test_asks_for_smaller_pages_where_one_weighs_too_much(server: FakeApiServer) -> None:
    for number in range(20):
        server.put(NAMESPACES, f"n{number}", annotations={"filler": "x" * (MOST_PAGE_BYTES // 8)})
    with watching(server) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert len(watcher.items) == 20
        limits = [request.query.get("limit") for request in server.asked("list")]
        assert limits[:3] == ["500", "125", "31"]


def test_follows_an_object_of_megabytes_and_gives_a_line_up_that_no_object_can_have(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watching(server) as watcher:
        wait_until(lambda: server.asked("watch"), "the watch")
        server.put(NAMESPACES, "big", annotations={"filler": "x" * 3_000_000}, labels={"n": "1"})
        wait_until(lambda: watcher.items == {"big": {"n": "1"}}, "the object")
        monkeypatch.setattr(connection, "MOST_BYTES", 1_000_000)
        server.put(NAMESPACES, "big", annotations={"filler": "x" * 3_000_000}, labels={"n": "2"})
        wait_until(lambda: watcher.restarts == [Restart.INVALID], "the end of the watch")


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
    with watching(server) as watcher:
        wait_until(lambda: watches(server), "the watch")
        version = server.bookmark(NAMESPACES)
        server.end_watches()
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert server.asked("watch")[1].query["resourceVersion"] == version
        assert len(server.asked("list")) == 1
        assert watcher.restarts == [Restart.ENDED]


def test_resumes_without_a_list_after_a_cut_in_the_middle_of_a_line(server: FakeApiServer) -> None:
    server.misbehave(
        "watch", NAMESPACES, lines(b'{"type":"ADDED","object":{"metadata":{"na', then="cut")
    )
    with watching(server) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        server.put(NAMESPACES, "a")
        wait_until(lambda: "a" in watcher.items, "the change")
        assert len(server.asked("list")) == 1
        assert watcher.restarts == [Restart.BROKEN]


def test_ends_a_half_open_connection(
    server: FakeApiServer, caplog: pytest.LogCaptureFixture
) -> None:
    server.misbehave("watch", NAMESPACES, lines(then="hang"))
    with watching(server, uniform=lambda low, high: 0.0, silence_seconds=0.2) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert watcher.restarts[0] == Restart.BROKEN
        assert "GET /api/v1/namespaces: Read timed out" in caplog.text
        assert len(server.asked("list")) == 1


@pytest.mark.parametrize(
    "behaviour", [expired, status(410, "too old resource version")], ids=["in the stream", "status"]
)
def test_lists_again_and_reports_what_is_gone_where_the_version_expired(
    server: FakeApiServer, behaviour: Any
) -> None:
    server.put(NAMESPACES, "gone")
    server.put(NAMESPACES, "stays", labels={"n": "1"})

    def change_meanwhile(exchange: Any) -> None:
        server.delete(NAMESPACES, "gone")
        server.put(NAMESPACES, "stays", labels={"n": "2"})
        server.put(NAMESPACES, "new")
        behaviour(exchange)

    server.misbehave("watch", NAMESPACES, change_meanwhile)
    with watching(server) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert watcher.items == {"stays": {"n": "2"}, "new": {}}
        assert watcher.changes[2:] == [("gone", None), ("stays", {"n": "2"}), ("new", {})]
        assert watcher.restarts == [Restart.EXPIRED]


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(b"<html>\n", id="no JSON"),
        pytest.param(b"[]\n", id="no object"),
        pytest.param(b'{"type":"ADDED"}\n', id="no object in it"),
        pytest.param(b'{"type":"ADDED","object":{"metadata":7}}\n', id="no metadata"),
        pytest.param(b"[" * 100_000 + b"\n", id="deep"),
        pytest.param(b'{"type":"ERROR","object":{"code":500,"message":"etcd"}}\n', id="error"),
        pytest.param(b'{"type":"ERROR","object":null}\n', id="empty error"),
    ],
)
def test_lists_again_after_a_line_that_is_no_event(server: FakeApiServer, line: bytes) -> None:
    server.misbehave("watch", NAMESPACES, lines(line, then="hang"))
    with watching(server) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert len(server.asked("list")) == 2
        assert len(watcher.restarts) == len(watcher.pauses) == 1


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
            b'{"type":"ADDED","object":{"metadata":{}}}\n{"type":"STRANGE","object":{"metadata":{}}}\n'
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


def test_survives_a_listener_that_fails(server: FakeApiServer) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("listener")

    server.put(NAMESPACES, "a")
    watcher = Watcher(server)
    watcher.informer._on_change = fail
    watcher.informer.start()
    wait_until(lambda: watches(server), "the watch")
    assert watcher.items == {"a": {}}
    watcher.informer.stop()


def test_waits_as_long_as_429_says(server: FakeApiServer) -> None:
    server.misbehave("list", NAMESPACES, status(429, "slow down", Retry_After="7"))
    server.misbehave("watch", NAMESPACES, status(429, "slow down", Retry_After="86400"))
    with watching(server) as watcher:
        wait_until(lambda: watches(server) >= 2, "the second watch")
        assert watcher.restarts == [Restart.THROTTLED, Restart.THROTTLED]
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
        assert watcher.restarts == [Restart.ENDED, *[Restart.REFUSED] * 5]


def test_is_not_synced_and_says_why_while_it_may_not_list(server: FakeApiServer) -> None:
    server.misbehave("list", NAMESPACES, *[status(403, "namespaces is forbidden: no role")] * 3)
    with watching(server) as watcher:
        wait_until(lambda: len(watcher.restarts) == 2, "refusals")
        assert not watcher.informer.synced
        wait_until(lambda: watcher.informer.synced, "the list")
    assert watcher.restarts == [Restart.REFUSED] * 3


def test_waits_ever_longer_but_never_more_than_half_a_minute(
    server: FakeApiServer,
) -> None:
    server.misbehave("list", NAMESPACES, *[status(500)] * 12)
    with watching(server, uniform=lambda low, high: high) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert watcher.pauses == [1, 2, 4, 8, 16, *[30] * 7]


def test_asks_a_server_that_gives_no_answer_every_few_seconds(server: FakeApiServer) -> None:
    server.misbehave("list", NAMESPACES, *[Exchange.cut] * 12, *[status(500)] * 2)
    with watching(server, uniform=lambda low, high: high) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert watcher.pauses == [1, 2, 4, 4, 4, 4, 8, 16], (
            "each turn asks twice, for the connection may just have been closed"
        )


def test_pauses_before_it_follows_a_watch_that_ended_at_once(server: FakeApiServer) -> None:
    server.misbehave("watch", NAMESPACES, *[lines()] * 4)
    with watching(server, uniform=lambda low, high: high) as watcher:
        wait_until(lambda: watches(server) == 5, "the watch that lasts")
        assert watcher.pauses == [1, 2, 4, 8]
        assert watcher.restarts == [Restart.ENDED] * 4


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


def test_is_listed_and_empty_where_the_resource_is_not_installed(
    server: FakeApiServer,
) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    with watching(server, OPTIONAL) as watcher:
        wait_until(lambda: watcher.informer.synced, "the verdict")
        wait_until(lambda: watches(server), "the watch, once it is installed")
        server.put(NETWORKS, "net", "default")
        wait_until(lambda: watcher.items == {"default/net": {}}, "the network")
        assert watcher.restarts == [Restart.NOT_INSTALLED]
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


def test_is_not_synced_where_a_resource_that_must_be_there_is_not(server: FakeApiServer) -> None:
    server.misbehave("list", NAMESPACES, text(404, NOT_INSTALLED))
    with watching(server) as watcher:
        wait_until(lambda: watcher.restarts, "the failure")
        assert watcher.restarts == [Restart.REFUSED]
        assert "404: 404 page not found" in watcher.informer.problem


@pytest.mark.parametrize(
    "body",
    [{}, [], {"metadata": {}, "items": []}, {"metadata": {"resourceVersion": "1"}, "items": 7}],
    ids=repr,
)
def test_does_not_take_a_strange_page_for_an_empty_list(server: FakeApiServer, body: Any) -> None:
    server.put(NAMESPACES, "a")
    server.misbehave("list", NAMESPACES, lambda exchange: exchange.answer(200, body))
    with watching(server) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert watcher.items == {"a": {}}
        assert len(server.asked("list")) == 2


def test_survives_what_nobody_thought_of(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    failures = [MemoryError("no room")]
    list_objects = Informer._list

    def fail_first(informer: Informer[Any]) -> str:
        if failures:
            raise failures.pop()
        return list_objects(informer)

    monkeypatch.setattr(Informer, "_list", fail_first)
    with watching(server) as watcher:
        wait_until(lambda: watcher.informer.synced, "the list")
        assert watcher.restarts == [Restart.INVALID]
    assert "watch of namespaces: unexpected failure" in caplog.text


@pytest.mark.parametrize("kind", ["list", "watch"])
def test_stops_at_once_while_it_waits(server: FakeApiServer, kind: str) -> None:
    if kind == "list":
        server.misbehave("list", NAMESPACES, hang)
    with watching(server) as watcher:
        wait_until(lambda: server.asked(kind), "the request")
        if kind == "watch":
            watcher.informer.stop()
            assert not watcher.informer._thread.is_alive()
    assert watcher.restarts == []


def test_forgets_an_object_of_which_nothing_is_to_be_kept(server: FakeApiServer) -> None:
    keep: Callable[[Object], dict[str, str] | None] = lambda obj: labels_of(obj) or None  # noqa: E731
    server.put(NAMESPACES, "a", labels={"n": "1"})
    server.put(NAMESPACES, "never")
    with watching(server, transform=keep) as watcher:
        wait_until(lambda: watches(server), "the watch")
        server.put(NAMESPACES, "a")
        wait_until(lambda: not watcher.items, "the change")
        assert watcher.changes == [("a", {"n": "1"}), ("a", None)]
