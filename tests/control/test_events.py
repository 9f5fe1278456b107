"""Events: what is sent, how seldom, and that nothing holds up the one who records."""

import json
from collections import Counter
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.tables import table
from webhook.control import events
from webhook.control.events import MOST, REPEAT_SECONDS, EventRecorder, PodRef
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
            if status >= 429:
                raise RequestFailed("no answer", status, 0.0)
            return Response(f"{method} {path}", status, {}, b'{"message": "no role"}')
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.kept:
                return Response(f"{method} {path}", 409, {}, b"{}")
        else:
            assert given["headers"]["Content-Type"] == "application/merge-patch+json"
        self.kept[path] = {**self.kept.get(path, {}), **body}
        return Response(f"{method} {path}", 200, {}, json.dumps(self.kept[path]).encode())


class Bench:
    """A recorder with a clock set by hand, whose work is done when a turn is taken."""

    def __init__(self) -> None:
        self.server = Server()
        self.at = 0.0
        self.leads = True
        self.recorder = EventRecorder(
            self.server,
            lambda: self.leads,
            host="controller-1",
            now=lambda: datetime.fromtimestamp(1795262400 + self.at, UTC),
            monotonic=lambda: self.at,
        )

    def record(self, pod: PodRef = POD, reason: str = REASON, message: str = "x") -> None:
        self.recorder.record(pod, reason, message)

    def sent(self) -> int:
        """Take a turn, and count the requests so far."""
        self.recorder.turn()
        return len(self.server.sent)


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_creates_a_warning_about_the_pod(bench: Bench) -> None:
    bench.record(message="pod bert-0: no address on net1")
    assert bench.sent() == 1
    [(method, path, event)] = bench.server.sent
    assert (method, path) == ("POST", PATH)
    pod = {"namespace": "ml", "name": "bert-0", "uid": "1f7a"}
    assert event == {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": "bert-0.763332951295d173", "namespace": "ml"},
        "involvedObject": {"apiVersion": "v1", "kind": "Pod", **pod},
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


def test_sends_the_same_once_in_ten_minutes_and_renews_it(bench: Bench) -> None:
    for second in range(0, 600, 10):
        bench.at = float(second)
        bench.record(message="first")
    assert bench.sent() == 1
    bench.at = 600.0
    bench.record(message="second")
    assert bench.sent() == 3
    patch = {"lastTimestamp": "2026-11-21T12:10:00Z", "message": "second"}
    assert bench.server.sent[2][::2] == ("PATCH", patch)
    assert len(bench.server.kept) == 1


def test_sends_another_reason_and_another_pod_of_the_name(bench: Bench) -> None:
    bench.record()
    bench.record(reason="OtherInterface")
    bench.record(POD._replace(uid="2"))
    assert bench.sent() == 3
    assert len(bench.server.kept) == 3


def test_sends_few_of_each_namespace_and_of_all(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(events, "MOST_OF_NAMESPACE", 20)
    monkeypatch.setattr(events, "MOST", 50)

    def send_many() -> Counter[str]:
        for number in range(500):
            bench.record(PodRef(f"n-{number // 100}", f"p-{number}", f"u-{number}"))
        bench.sent()
        return Counter(path.split("/")[4] for _, path, _ in bench.server.sent)

    first = {"n-0": 20, "n-1": 20, "n-2": 10}
    assert send_many() == first
    bench.at = REPEAT_SECONDS - 1
    assert send_many() == first
    bench.at = REPEAT_SECONDS
    bench.server.sent.clear()
    bench.server.kept.clear()
    assert send_many() == first


def test_holds_a_bounded_number(bench: Bench) -> None:
    bench.leads = False
    for second in (0.0, 2 * REPEAT_SECONDS):
        bench.at = second
        for number in range(2 * MOST):
            bench.record(PodRef(f"n-{number}", "p", f"u-{number}"))
    assert len(bench.recorder._waiting) == MOST


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
    bench.record(message=message)
    assert bench.sent() == 1
    assert bench.server.sent[0][2]["message"] == sent
    assert len(sent.encode()) <= 1024


def test_names_the_event_of_a_pod_with_a_long_name(bench: Bench) -> None:
    bench.record(POD._replace(name="a" * 235 + "." + "b" * 17))
    assert bench.sent() == 1
    name = bench.server.sent[0][2]["metadata"]["name"]
    assert len(name) == 252
    assert name.startswith("a" * 235 + ".")
    assert ".." not in name


@table("code", {"refused": 403, "no answer": 503})
def test_one_that_fails_keeps_no_other_from_it_and_is_sent_when_it_is_seen_again(
    bench: Bench, code: int
) -> None:
    bench.server.refusals = [code]
    bench.record()
    bench.record(reason="OtherInterface")
    with pytest.raises(RequestFailed):
        bench.sent()
    assert [event["reason"] for _, _, event in bench.server.sent] == [REASON, "OtherInterface"]
    bench.record()
    bench.record(reason="OtherInterface")
    assert bench.sent() == 3
