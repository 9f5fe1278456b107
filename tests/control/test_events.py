"""Events: what is sent, how seldom, and that nothing holds up the one who records."""

import json
import logging
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.fake_apiserver import FakeApiServer, hang
from tests.waiting import wait_until
from webhook.control import events
from webhook.control.event_spam import MOST_COMPLAINTS, SpamFilter
from webhook.control.events import EventRecorder, PodRef
from webhook.kube.connection import Connection, RequestFailed, Response

POD = PodRef("ml", "bert-0", "1f7a")
PATH = "/api/v1/namespaces/ml/events"
REASON = "NoSecondaryAddress"


class Server(Connection):
    """Keeps Events as the API server does, and refuses what it is told to."""

    def __init__(self) -> None:
        self.kept: dict[str, dict[str, Any]] = {}
        self.sent: list[tuple[str, str, Any]] = []
        self.refusals: list[int] = []

    def request(self, method: str, path: str, **given: Any) -> Response:
        assert 0 < given["timeout"] <= 5
        body = json.loads(json.dumps(given["body"]))
        self.sent.append((method, path, body))
        if self.refusals and (status := self.refusals.pop(0)):
            if status >= 429 or not status:
                raise RequestFailed("no answer", status, 0.0)
            return Response(f"{method} {path}", status, {}, b'{"message": "no role"}')
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.kept:
                return Response(f"{method} {path}", 409, {}, b"{}")
        else:
            assert given["headers"] == {"Content-Type": "application/merge-patch+json"}
            if path not in self.kept:
                return Response(f"{method} {path}", 404, {}, b"{}")
        self.kept[path] = {**self.kept.get(path, {}), **body}
        return Response(f"{method} {path}", 200, {}, json.dumps(self.kept[path]).encode())


class Bench:
    """A recorder with a clock set by hand, whose thread's work is done when it is waited for."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.at = 0.0
        self.pauses: list[float] = []
        self.recorder = EventRecorder(
            server,
            host="controller-1",
            now=lambda: datetime.fromtimestamp(1795262400 + self.at, UTC),
            monotonic=lambda: self.at,
            uniform=lambda low, high: high,
            pause=self.pauses.append,
        )

    def events(self) -> list[dict[str, Any]]:
        return list(self.server.kept.values())

    def assert_sent(self, count: int) -> None:
        self.recorder.send_waiting()
        assert len(self.server.sent) == count


@pytest.fixture
def bench() -> Bench:
    return Bench(Server())


def test_creates_a_warning_about_the_pod(bench: Bench) -> None:
    bench.recorder.record(POD, REASON, "pod bert-0: no address on net1")
    bench.assert_sent(1)
    [(method, path, event)] = bench.server.sent
    assert (method, path) == ("POST", PATH)
    assert event.pop("metadata") == {"name": "bert-0.763332951295d173", "namespace": "ml"}
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "involvedObject": {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": "ml",
            "name": "bert-0",
            "uid": "1f7a",
        },
        "type": "Warning",
        "reason": REASON,
        "message": "pod bert-0: no address on net1",
        "count": 1,
        "firstTimestamp": "2026-11-21T12:00:00Z",
        "lastTimestamp": "2026-11-21T12:00:00Z",
        "source": {"component": "fabric-injector"},
        "reportingComponent": "fabric-injector",
        "reportingInstance": "controller-1",
    }


def test_tells_the_same_once_in_ten_minutes_and_counts(bench: Bench) -> None:
    for second in range(0, 600, 10):
        bench.at = float(second)
        bench.recorder.record(POD, REASON, "first")
    bench.assert_sent(1)
    bench.at = 600.0
    bench.recorder.record(POD, REASON, "second")
    bench.assert_sent(2)
    patch = {"count": 61, "lastTimestamp": "2026-11-21T12:10:00Z", "message": "second"}
    assert bench.server.sent[1][::2] == ("PATCH", patch)
    assert len(bench.server.kept) == 1


def test_tells_another_reason_and_another_pod_of_the_name(bench: Bench) -> None:
    bench.recorder.record(POD, REASON, "x")
    bench.recorder.record(POD, "OtherInterface", "x")
    bench.recorder.record(POD._replace(uid="2"), REASON, "x")
    bench.assert_sent(3)
    assert len(bench.server.kept) == 3


def test_creates_it_anew_where_the_server_has_forgotten_it(bench: Bench) -> None:
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(1)
    bench.server.kept.clear()
    bench.at = 4000.0
    bench.recorder.record(POD, REASON, "y")
    bench.assert_sent(3)
    assert [method for method, _, _ in bench.server.sent] == ["POST", "PATCH", "POST"]
    assert [event["message"] for event in bench.events()] == ["y"]


def test_goes_on_with_the_event_of_a_former_process(bench: Bench) -> None:
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(1)
    [event] = bench.events()
    event["count"] = 5
    following = Bench(bench.server)
    following.recorder.record(POD, REASON, "y")
    following.assert_sent(3)
    assert bench.server.sent[2][::2] == (
        "PATCH",
        {"lastTimestamp": "2026-11-21T12:00:00Z", "message": "y"},
    )
    following.at = 600.0
    following.recorder.record(POD, REASON, "z")
    following.assert_sent(4)
    assert bench.server.sent[3][2]["count"] == 7


def test_gives_each_namespace_its_share(bench: Bench) -> None:
    for number in range(60):
        bench.recorder.record(PodRef("noisy", f"p{number}", f"n{number}"), REASON, "x")
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(26)
    bench.at = 11.0
    for number in range(60, 70):
        bench.recorder.record(PodRef("noisy", f"p{number}", f"n{number}"), REASON, "x")
    bench.assert_sent(28)
    assert sum(event["metadata"]["namespace"] == "ml" for event in bench.events()) == 1


def test_bounds_what_all_namespaces_send(bench: Bench) -> None:
    for number in range(200):
        bench.recorder.record(PodRef(f"n{number}", "p", f"u{number}"), REASON, "x")
    bench.assert_sent(100)
    bench.at = 2.0
    for number in range(200):
        bench.recorder.record(PodRef(f"n{number}", "p", f"v{number}"), REASON, "x")
    bench.assert_sent(104)


def test_remembers_within_bounds_and_never_forgets_a_young_one() -> None:
    at = 0.0
    filtered = SpamFilter(lambda: at)
    admitted: dict[str, float] = {}
    for number in range(30000):
        at = number / 2
        uid = str(number // 2 * 7919 % 5000)
        if filtered.admit(PodRef(f"n{number % 900}", "p", uid), REASON):
            assert at - admitted.get(uid, -600.0) >= 600
            admitted[uid] = at
    assert len(admitted) > MOST_COMPLAINTS
    assert len(filtered._complaints) == MOST_COMPLAINTS
    assert len(filtered._namespaces) <= 350


@pytest.mark.parametrize(
    ("message", "sent"),
    [
        pytest.param("a" * 1025, "a" * 1021 + "…", id="long"),
        pytest.param("ü" * 600, "ü" * 510 + "…", id="long in bytes"),
        pytest.param("a\x1b[2Jb\nc\ud800", "a [2Jb c ", id="control characters"),
        pytest.param("b" * 1024, "b" * 1024, id="fits"),
    ],
)
def test_sends_text_that_fits(bench: Bench, message: str, sent: str) -> None:
    bench.recorder.record(POD, REASON, message)
    bench.assert_sent(1)
    [event] = bench.events()
    assert event["message"] == sent
    assert len(event["message"].encode()) <= 1024


def test_names_the_event_of_a_pod_with_a_long_name(bench: Bench) -> None:
    bench.recorder.record(POD._replace(name="a" * 235 + "." + "b" * 17), REASON, "x")
    bench.assert_sent(1)
    name = bench.events()[0]["metadata"]["name"]
    assert len(name) == 252
    assert name.startswith("a" * 235 + ".") and ".." not in name  # noqa: PT018  # one thing: a DNS name


def test_tries_again_where_there_is_no_answer(bench: Bench) -> None:
    bench.server.refusals = [503, 429, 500]
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(4)
    assert len(bench.server.kept) == 1
    assert bench.pauses == [2.0, 4.0, 8.0]
    assert bench.recorder.dropped == 0


def test_gives_up_in_the_end_and_tells_it_when_it_is_seen_again(bench: Bench) -> None:
    bench.server.refusals = [503] * 4
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(4)
    assert bench.recorder.dropped == 1
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(5)
    assert len(bench.server.kept) == 1


def test_does_not_insist_where_refused(bench: Bench, caplog: pytest.LogCaptureFixture) -> None:
    bench.server.refusals = [403, 403]
    bench.recorder.record(POD, REASON, "x")
    bench.recorder.record(POD, "OtherInterface", "x")
    bench.assert_sent(2)
    assert bench.recorder.dropped == 2
    assert bench.pauses == []
    warnings = [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]
    assert warnings == [f"Event: POST {PATH} answered 403: no role"]


def test_survives_what_nobody_foresaw(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object, **__: object) -> Response:
        raise ZeroDivisionError

    with monkeypatch.context() as patched:
        patched.setattr(bench.server, "request", fail)
        bench.recorder.record(POD, REASON, "x")
        bench.recorder.send_waiting()
        assert bench.recorder.dropped == 1
    bench.recorder.record(POD, REASON, "x")
    bench.assert_sent(1)


def test_never_holds_up_the_one_who_records(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "QUEUE_LENGTH", 10)
    for number in range(5000):
        bench.recorder.record(PodRef(f"n{number}", "p", f"u{number}"), REASON, "x")
    assert bench.recorder.dropped == 90
    bench.assert_sent(10)


def test_stops_where_nothing_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(events, "STOP_SECONDS", 0.2)
    with FakeApiServer() as server:
        server.misbehave("POST", PATH, hang)
        recorder = EventRecorder(server.connection())
        recorder.start()
        recorder.record(POD, REASON, "x")
        wait_until(lambda: server.requests, "the request")
        recorder.stop()
        recorder.stop()
        recorder.record(POD, "OtherInterface", "x")
        assert not recorder._waiting


def test_sends_in_a_thread_of_its_own() -> None:
    server = Server()
    recorder = EventRecorder(server)
    recorder.record(POD, REASON, "x")
    recorder.start()
    wait_until(lambda: len(server.kept) == 1, "the first Event")
    recorder.record(POD, "OtherInterface", "x")
    wait_until(lambda: len(server.kept) == 2, "the second Event")
    recorder.stop()
