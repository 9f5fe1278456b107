"""What becomes of a write, and when it is tried again."""

import json
import socket
import threading

import pytest

from tests.fake_apiserver import Behaviour, Exchange, FakeApiServer, status
from tests.tables import table
from tests.waiting import wait_until
from webhook.control.publisher import Publisher, Result
from webhook.control.queue import FairQueue
from webhook.core import names
from webhook.core.reconcile import Publication, Unit
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

UNIT = Unit("ml", "j-1", "fluid-0")
OTHER = Unit("other", "j-1", "w")
PATH = "/api/v1/namespaces/ml/pods/fluid-0/status"


class World:
    """A publisher without threads, whose clock only the test moves; one pod lacks an address."""

    def __init__(self, url: str) -> None:
        self.now = 100.0
        self.leads = True
        self.failure: Exception | None = None
        self.lacking: dict[Unit, Publication] = {}
        self.written: list[Publication] = []
        self.results: list[tuple[Result, float]] = []
        self.queue = FairQueue(lambda: self.now, lambda _least, most: most)
        self.publisher = Publisher(
            Connection(Credentials("test", url)),
            self.queue,
            lacks=self._lacks,
            written=self.written.append,
            may_write=lambda: self.leads,
            on_result=lambda *result: self.results.append(result),
            monotonic=lambda: self.now,
        )
        self.add(UNIT)

    def add(self, unit: Unit) -> None:
        self.lacking[unit] = Publication(
            unit.namespace, unit.name, "uid-1", {names.MASTER_ADDR: "10.0.0.1"}
        )
        self.queue.add([unit])

    def turn(self) -> None:
        """Carry out one unit, as a thread does."""
        taken = self.queue.get()
        assert taken is not None
        failed = self.publisher.publish(*taken)
        self.queue.done(taken[0], failed=failed)

    @property
    def waits_seconds(self) -> float:
        """Give for how long nothing is handed out; 0 where nothing waits."""
        return self.queue.next_namespace()[1] if len(self.queue) else 0.0

    def _lacks(self, unit: Unit) -> Publication | None:
        if self.failure is not None:
            raise self.failure
        return self.lacking.get(unit)


@pytest.fixture
def world(server: FakeApiServer) -> World:
    return World(server.url)


def invalid(field: str) -> Behaviour:
    body = {
        "kind": "Status",
        "code": 422,
        "message": 'Pod "fluid-0" is invalid',
        "details": {"causes": [{"field": field}]},
    }
    return lambda exchange: exchange.answer(422, body)


def test_writes_the_annotations_of_one_uid_and_says_so(server: FakeApiServer, world: World) -> None:
    server.misbehave("PATCH", PATH, lambda exchange: exchange.answer(200, {"metadata": {}}))
    world.now += 2.0
    world.turn()
    [request] = server.requests
    assert json.loads(request.body) == {
        "metadata": {"uid": "uid-1", "annotations": {names.MASTER_ADDR: "10.0.0.1"}}
    }
    assert request.headers["Content-Type"] == "application/merge-patch+json"
    assert world.results == [(Result.PUBLISHED, 2.0)]
    assert world.written == [world.lacking[UNIT]]
    assert len(world.queue) == 0


def test_sends_nothing_without_need_or_right(server: FakeApiServer, world: World) -> None:
    world.leads = False
    world.turn()
    world.leads, world.lacking = True, {}
    world.queue.add([UNIT])
    world.turn()
    assert server.requests == []
    assert len(world.queue) == 0


@table(
    "headers, seconds",
    {
        "as long as it asks": ({"Retry_After": "3"}, 3.0),
        "a second at least": ({}, 1.0),
        "a date": ({"Retry_After": "Wed, 21 Oct 2026 07:28:00 GMT"}, 1.0),
        "half a minute at most": ({"Retry_After": "999999"}, 30.0),
    },
)
def test_waits_as_long_as_the_server_asks_within_bounds(
    server: FakeApiServer, world: World, headers: dict[str, str], seconds: float
) -> None:
    server.misbehave("PATCH", PATH, *[status(429, "slow down", **headers)] * 5)
    for _ in range(5):
        world.turn()
        assert world.waits_seconds == seconds
        world.now += seconds
    assert [result for result, _ in world.results] == [Result.THROTTLED] * 5


@table(
    "answer, result",
    {
        "gone": (status(404, "not found"), Result.GONE),
        "replaced": (invalid("metadata.uid"), Result.GONE),
        "invalid": (invalid("metadata.annotations"), Result.REFUSED),
        "forbidden": (status(403, "no"), Result.REFUSED),
        "unauthorized": (status(401, "no"), Result.REFUSED),
        "conflict": (status(409, "no"), Result.FAILED),
        "broken": (status(500, "no"), Result.FAILED),
        "unavailable": (status(503, "no"), Result.FAILED),
    },
)
def test_sends_again_what_got_no_answer_and_leaves_what_is_refused_to_the_next_sweep(
    server: FakeApiServer,
    world: World,
    caplog: pytest.LogCaptureFixture,
    answer: Behaviour,
    result: Result,
) -> None:
    server.misbehave("PATCH", PATH, *[answer] * 2)
    stays = result is Result.FAILED
    for _ in range(2):
        world.turn()
        assert world.results[-1] == (result, world.now - 100.0 if stays else 0.0)
        assert (world.written, len(world.queue)) == ([], int(stays))
        assert bool(world.waits_seconds) == stays, "its namespace rests"
        world.now += world.waits_seconds
        world.add(UNIT)
    told = caplog.text.count("pod ml/fluid-0: address not published")
    assert told == (result is not Result.GONE)
    server.misbehave("PATCH", PATH, lambda exchange: exchange.answer(200, {"metadata": {}}))
    world.turn()
    assert world.results[-1][0] is Result.PUBLISHED


def test_no_server_holds_all_for_a_moment_and_loses_nothing() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    world = World(f"http://127.0.0.1:{port}")
    world.turn()
    assert [result for result, _ in world.results] == [Result.FAILED]
    world.add(OTHER)
    assert world.waits_seconds == 0.5
    world.now += 0.5
    assert world.queue.get() == (UNIT, 100.0)
    assert world.queue.get() == (OTHER, 100.0)


def test_hanging_writes_of_two_namespaces_hold_up_none(server: FakeApiServer, world: World) -> None:
    """Each of the bad pods' writes hangs; those of another namespace are all told meanwhile."""
    released = threading.Event()

    def hang(exchange: Exchange) -> None:
        released.wait(30)
        exchange.cut()

    bad = [Unit(f"bad-{number % 2}", f"j-{number}", f"p-{number}") for number in range(40)]
    good = [Unit("good", "j", f"p-{number}") for number in range(200)]
    for unit in bad:
        server.misbehave(
            "PATCH", f"/api/v1/namespaces/{unit.namespace}/pods/{unit.name}/status", hang
        )
    for unit in good:
        path = f"/api/v1/namespaces/good/pods/{unit.name}/status"
        server.misbehave("PATCH", path, lambda exchange: exchange.answer(200, {"metadata": {}}))
    world.queue.clear()
    for unit in (*bad, *good):
        world.add(unit)
    world.publisher.start()
    try:
        wait_until(
            lambda: [result for result, _ in world.results].count(Result.PUBLISHED) == 200,
            "the good pods",
            20,
        )
        assert not released.is_set()
        assert 2 <= len([one for one in server.asked("PATCH") if "/bad-" in one.path]) <= 4
    finally:
        released.set()
        world.publisher.stop()


def test_threads_outlive_failures_nobody_thought_of(server: FakeApiServer, world: World) -> None:
    server.misbehave("PATCH", PATH, lambda exchange: exchange.answer(200, {"metadata": {}}))
    world.failure = ZeroDivisionError("unexpected")
    world.publisher.start()
    for number in range(20):
        world.add(Unit("ml", f"j-{number}", "bad"))
    wait_until(lambda: not len(world.queue), "the failures")
    world.failure = None
    world.add(UNIT)
    wait_until(lambda: world.results, "the write")
    assert world.publisher.stop()


def test_stop_waits_for_what_is_on_its_way(server: FakeApiServer, world: World) -> None:
    arrived, go_on = threading.Event(), threading.Event()

    def slow(exchange: Exchange) -> None:
        arrived.set()
        go_on.wait(10)
        exchange.answer(200, {"metadata": {}})

    server.misbehave("PATCH", PATH, slow)
    world.publisher.start()
    assert arrived.wait(10)
    threading.Timer(0.1, go_on.set).start()
    assert world.publisher.stop()
    assert [result for result, _ in world.results] == [Result.PUBLISHED]
