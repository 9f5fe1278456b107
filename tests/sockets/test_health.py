"""Probes and metrics on their own port."""

import socket
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import pytest
import urllib3
from prometheus_client import CollectorRegistry, Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from tests.sockets.server import Server
from tests.sockets.test_endpoint import listened
from tests.waiting import wait_until
from webhook.http.health import Health


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_answers_ok(server: Server, path: str) -> None:
    reply = server.get(path)
    assert (reply.status, reply.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("/livez?verbose", ["[+]ping ok", "livez check passed"]),
        (
            "/readyz?verbose",
            ["[+]profiles ok", "[+]certificate ok", "[+]shutdown ok", "readyz check passed"],
        ),
        (
            "/healthz?verbose",
            ["[+]profiles ok", "[+]certificate ok", "[+]shutdown ok", "healthz check passed"],
        ),
    ],
)
def test_lists_its_checks_as_an_api_server(server: Server, path: str, lines: list[str]) -> None:
    assert server.get(path).body.decode().splitlines() == lines


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/readyz", 405), ("GET", "/mutate", 404), ("GET", "/", 404), ("HEAD", "/livez", 200)],
)
def test_answers_nothing_else(server: Server, method: str, path: str, status: int) -> None:
    assert server.plain(method, path, which="metrics").status == status


def test_refuses_a_body(server: Server) -> None:
    assert server.plain("GET", "/readyz", b"x", which="metrics").status == 413


def test_offers_every_metric_by_its_name(server: Server) -> None:
    reply = server.get("/metrics")
    assert reply.headers["content-type"].startswith("text/plain")
    families = {
        family.name: family.type for family in text_string_to_metric_families(reply.body.decode())
    }
    assert {
        name: kind for name, kind in families.items() if name.startswith("fabric_injector_")
    } == {
        "fabric_injector_admission_requests": "counter",
        "fabric_injector_admission_duration_seconds": "histogram",
        "fabric_injector_admission_in_flight": "gauge",
        "fabric_injector_injected": "counter",
        "fabric_injector_would_inject": "counter",
        "fabric_injector_connections_dropped": "counter",
        "fabric_injector_watch_restarts": "counter",
        "fabric_injector_profiles_reloads": "counter",
        "fabric_injector_faulty": "gauge",
        "fabric_injector_certificate_reloads": "counter",
        "fabric_injector_certificate_not_after_timestamp_seconds": "gauge",
        "fabric_injector_build_info": "gauge",
    }


def test_does_not_log_probes(server: Server) -> None:
    before = server.log.read_bytes()
    for path in ("/livez", "/readyz", "/metrics"):
        server.get(path)
    assert server.log.read_bytes() == before


def test_answers_every_probe_while_many_clients_ask_for_metrics(
    server: Server,
) -> None:
    enough, statuses = threading.Event(), set[int]()

    def scrape() -> None:
        while not enough.is_set():
            statuses.add(server.get("/metrics").status)

    with ThreadPoolExecutor(48) as clients:
        for _ in range(48):
            clients.submit(scrape)
        try:
            probes = [server.get(path).status for path in ("/livez", "/readyz") for _ in range(10)]
            wait_until(lambda: statuses == {200}, "a client that is answered")
        finally:
            enough.set()
    assert probes == [200] * 20


class Stuck(Collector):
    """Metrics that nobody gets before the gate is opened."""

    def __init__(self) -> None:
        self.gate = threading.Event()

    def collect(self) -> Iterable[Metric]:
        assert self.gate.wait(30)
        return ()

    def describe(self) -> Iterable[Metric]:
        return ()


def test_answers_probes_whatever_the_metrics_wait_for() -> None:
    registry, stuck = CollectorRegistry(), Stuck()
    registry.register(stuck)
    health = Health(lambda: {"pods": "not listed yet"}, lambda: registry)

    def get(path: str) -> urllib3.BaseHTTPResponse:
        return urllib3.request("GET", f"{listener.url}{path}", retries=False, timeout=20)

    with (
        listened(health) as (listener, _),
        ThreadPoolExecutor(2) as clients,
        ExitStack() as stack,
    ):
        stack.callback(stuck.gate.set)
        asked = [clients.submit(get, "/metrics") for _ in range(2)]
        wait_until(lambda: listener.in_flight == 2, "two that ask")
        assert get("/livez").status == 200
        assert (get("/readyz").status, get("/readyz").data) == (
            503,
            b"[-]pods failed: not listed yet\nreadyz check failed\n",
        )
        stuck.gate.set()
        assert [each.result().status for each in asked] == [200] * 2
        health.stop()


def test_a_check_that_fails_itself_is_told_and_hides_no_liveness() -> None:
    def checks() -> dict[str, str]:
        raise ValueError("secret")

    health = Health(checks, CollectorRegistry)
    with listened(health) as (listener, _):
        reply = urllib3.request("GET", f"{listener.url}/readyz", retries=False, timeout=20)
        assert (reply.status, b"secret" in reply.data) == (500, False)
        assert (
            urllib3.request("GET", f"{listener.url}/livez", retries=False, timeout=20).status == 200
        )
        health.stop()


def test_drops_who_reads_no_answers_where_there_are_too_many() -> None:
    registry, large = CollectorRegistry(), Metric("large", "x" * (8 << 20), "gauge")

    class Large(Collector):
        def collect(self) -> Iterable[Metric]:
            return [large]

    registry.register(Large())
    health = Health(dict, lambda: registry)
    with listened(health, 2) as (listener, _), ExitStack() as stack:
        for _ in range(2):
            connection = stack.enter_context(
                socket.create_connection((listener.address.host, listener.address.port))
            )
            connection.sendall(b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")
            assert connection.recv(1)
        assert (
            urllib3.request("GET", f"{listener.url}/livez", retries=False, timeout=20).status == 200
        )
        health.stop()
