"""Where admissions are answered: at once, or in a thread, so that nothing stops the event loop."""

import http.client
import json
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import pytest

from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.listening import running
from tests.sockets.server import Reply, ask
from tests.waiting import wait_until
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace
from webhook.core.profiles import parse_profiles
from webhook.serve.admission import Admission
from webhook.serve.metrics import WebhookMetrics
from webhook.world.lookup import IN_TIME_SECONDS, InTime, NotCached
from webhook.world.objects import ObjectsWorld, load_objects

JSON = {"Content-Type": "application/json"}


class Slow(ObjectsWorld):
    """A cluster that holds the namespace ``default`` only, and answers once the gate is open."""

    def __init__(self) -> None:
        super().__init__(load_objects([OBJECTS]))
        self.gate = threading.Event()
        self.asking = 0
        self.cached = ObjectsWorld(load_objects([OBJECTS]))
        self.cached.namespace = self._cached
        self._find = self.namespace
        self.namespace = self._ask

    def _cached(self, name: str) -> Namespace | None:
        if name != "default":
            raise NotCached
        return self._find(name)

    def _ask(self, name: str) -> Namespace | None:
        self.asking += 1
        assert self.gate.wait(30)
        if name == "broken":
            raise Unavailable("https://10.0.0.1 does not answer")
        if name == "odd":
            raise StopIteration  # which no future takes
        return self._find("default")


class Admitting:
    """An admission endpoint that listens."""

    def __init__(self, address: str, world: Slow, review: bytes) -> None:
        self.address, self.world, self.review = address, world, json.loads(review)

    def body(self, namespace: str) -> bytes:
        return json.dumps({**self.review, "request": self.request(namespace)}).encode()

    def request(self, namespace: str) -> dict[str, object]:
        return {**self.review["request"], "namespace": namespace}

    def post(self, namespace: str) -> Reply:
        with closing(http.client.HTTPConnection(self.address, timeout=20)) as client:
            return ask(client, "POST", "/mutate", self.body(namespace), JSON)


@pytest.fixture
def server(review: bytes) -> Iterator[Admitting]:
    world, profiles = Slow(), parse_profiles(PROFILES.read_bytes())
    admission = Admission(lambda: profiles, world, world.cached, WebhookMetrics())
    with running(admission) as server:
        try:
            yield Admitting(str(server.listener.address), world, review)
        finally:
            world.gate.set()
            admission.stop()


def test_what_must_ask_the_cluster_stops_nobody_else(server: Admitting) -> None:
    with ThreadPoolExecutor(2) as clients:
        asking = [clients.submit(server.post, name) for name in ("slow", "broken")]
        wait_until(lambda: server.world.asking == 2, "those that ask")
        assert b'"patch"' in server.post("default").body
        server.world.gate.set()
        answered, failed = (each.result() for each in asking)
        assert b'"patch"' in answered.body
        assert (failed.status, failed.headers["retry-after"]) == (503, "1")
        assert b"10.0.0.1" not in failed.body
        assert b"the cluster cannot be asked" in failed.body


def test_a_failure_in_a_thread_is_answered_whatever_it_is(server: Admitting) -> None:
    server.world.gate.set()
    assert server.post("odd").status == 500


def test_the_cluster_is_not_asked_when_the_answer_would_come_too_late() -> None:
    world, now = ObjectsWorld(load_objects([OBJECTS])), time.perf_counter()
    assert InTime(world, now).namespace("default") == world.namespace("default")
    with pytest.raises(
        Unavailable, match="what is asked of the cluster takes longer than 3 s: ask again"
    ):
        InTime(world, now - IN_TIME_SECONDS - 1).namespace("default")


def test_forgets_a_client_that_leaves_while_its_review_is_worked_on(server: Admitting) -> None:
    with closing(http.client.HTTPConnection(server.address, timeout=20)) as client:
        client.request("POST", "/mutate", server.body("slow"), JSON)
        wait_until(lambda: server.world.asking == 1, "one that asks")
    server.world.gate.set()
    assert server.post("default").status == 200
