"""Probes and metrics on their own port."""

import pytest

from tests.sockets.listening import running
from tests.sockets.server import Server, ask_at
from webhook.http.health import Health
from webhook.http.metrics import Metrics


@pytest.mark.parametrize(
    ("path", "lines"),
    [
        ("/livez", ["[+]ping ok", "livez check passed"]),
        ("/readyz?verbose", ["[+]certificate ok", "[+]shutdown ok", "readyz check passed"]),
        ("/healthz?verbose", ["[+]certificate ok", "[+]shutdown ok", "healthz check passed"]),
    ],
)
def test_lists_its_checks_as_an_api_server(server: Server, path: str, lines: list[str]) -> None:
    reply = server.get(path)
    assert (reply.status, reply.body.decode().splitlines()) == (200, lines)


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("POST", "/readyz", 405), ("GET", "/mutate", 404), ("GET", "/", 404), ("HEAD", "/livez", 200)],
)
def test_answers_nothing_else(server: Server, method: str, path: str, status: int) -> None:
    assert server.plain(method, path, which="metrics").status == status


def test_refuses_a_body(server: Server) -> None:
    assert server.plain("GET", "/readyz", b"x", which="metrics").status == 413


def test_does_not_log_probes(server: Server) -> None:
    before = server.log.read_bytes()
    for path in ("/livez", "/readyz", "/metrics"):
        server.get(path)
    assert server.log.read_bytes() == before


def test_says_why_it_is_not_ready() -> None:
    health = Health(lambda: {"pods": "not listed yet"}, Metrics())
    with running(health) as server:
        reply = ask_at(server.listener.url, "GET", "/readyz")
        told = b"[-]pods failed: not listed yet\n[+]shutdown ok\nreadyz check failed\n"
        assert (reply.status, reply.body) == (503, told)
        assert ask_at(server.listener.url, "GET", "/livez").status == 200


def test_a_check_that_fails_itself_is_told_and_hides_no_liveness() -> None:
    def checks() -> dict[str, str]:
        raise ValueError("secret")

    health = Health(checks, Metrics())
    with running(health) as server:
        reply = ask_at(server.listener.url, "GET", "/readyz")
        assert (reply.status, b"secret" in reply.body) == (500, False)
        assert ask_at(server.listener.url, "GET", "/livez").status == 200
