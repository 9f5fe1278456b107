"""Where admissions are answered: at once, or in a thread, so that nothing stops the event loop."""

import http.client
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass

import pytest

from tests.sockets.server import Reply, ask
from tests.sockets.test_endpoint import listened
from tests.waiting import wait_until
from tests.worlds import namespace
from webhook.core.errors import Unavailable
from webhook.core.review import Answer
from webhook.serve.admission import SECONDS, Admission, AdmissionRecorder, WorldInTime
from webhook.serve.metrics import WebhookMetrics
from webhook.world.lookup import NotCached
from webhook.world.objects import ObjectsWorld


class Cluster:
    """Reviews of which some must ask, and get their answer once the gate is open."""

    def __init__(self) -> None:
        self.gate = threading.Event()
        self.threads: list[str] = []
        self.came_at = 0.0

    def at_once(self, body: bytes) -> Answer:
        self.threads.append(threading.current_thread().name)
        if body.startswith(b"ask"):
            raise NotCached
        return self.answer(body)

    def admit(self, body: bytes, came_at: float) -> Answer:
        self.came_at = came_at
        self.threads.append(threading.current_thread().name)
        if body.startswith(b"ask"):
            assert self.gate.wait(30)
        if body == b"ask and fail":
            raise Unavailable("the API server does not answer")  # names its address
        return self.answer(body)

    @staticmethod
    def answer(body: bytes) -> Answer:
        return Answer(b"answer to " + body[:20], None, "uid", "ns", "name", False)


@dataclass
class Admitting:
    """An admission endpoint that listens."""

    address: str
    cluster: Cluster

    def post(self, body: bytes) -> Reply:
        with closing(http.client.HTTPConnection(self.address, timeout=20)) as client:
            return ask(client, "POST", "/mutate", body, {"Content-Type": "application/json"})


@contextmanager
def admitting() -> Iterator[Admitting]:
    cluster = Cluster()
    record = AdmissionRecorder(WebhookMetrics())
    admission = Admission(cluster.admit, cluster.at_once, record)
    with listened(admission) as (listener, _):
        try:
            yield Admitting(str(listener.address), cluster)
        finally:
            cluster.gate.set()
            admission.stop()


def test_what_not_cached_the_cluster_stops_nobody_else() -> None:
    with admitting() as server, ThreadPoolExecutor(2) as clients:
        asking = [clients.submit(server.post, body) for body in (b"ask", b"ask and fail")]
        wait_until(
            lambda: any(name.startswith("mutate") for name in server.cluster.threads),
            "one that asks",
        )
        assert server.post(b"{}").body == b"answer to {}"
        server.cluster.gate.set()
        answered, failed = (each.result() for each in asking)
        assert answered.body == b"answer to ask"
        assert (failed.status, failed.headers["retry-after"]) == (503, "1")
        assert b"the API server does not answer" not in failed.body
        assert b"the cluster cannot be asked" in failed.body


def test_a_thread_is_told_when_its_review_came() -> None:
    with admitting() as server:
        server.cluster.gate.set()
        before = time.monotonic()
        assert server.post(b"ask").status == 200
        assert before <= server.cluster.came_at <= time.monotonic()


def test_the_cluster_is_not_asked_when_the_answer_would_come_too_late() -> None:
    world = ObjectsWorld([namespace("ml", "shared")])
    assert WorldInTime(world, time.monotonic()).namespace("ml") == world.namespace("ml")
    with pytest.raises(
        Unavailable, match="what is asked of the cluster takes longer than 3 s: ask again"
    ):
        WorldInTime(world, time.monotonic() - SECONDS - 1).namespace("ml")


def test_a_client_that_leaves_while_its_review_is_worked_on_is_forgotten() -> None:
    with admitting() as server:
        with closing(http.client.HTTPConnection(server.address, timeout=20)) as client:
            client.request("POST", "/mutate", b"ask", {"Content-Type": "application/json"})
            wait_until(
                lambda: any(name.startswith("mutate") for name in server.cluster.threads),
                "one that asks",
            )
        server.cluster.gate.set()
        assert server.post(b"{}").status == 200
