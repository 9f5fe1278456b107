"""Clients that stall, drip, flood or go away: others are served meanwhile, and nothing is left behind."""

from __future__ import annotations

import json
import socket
import ssl
import threading
import time
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from tests.sockets.server import Server, admit, is_closed, read_all, read_reply
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets

MANY = 64
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MOST_BYTES = 7 << 20


def assert_serves(server: Server, authority: Path, review: bytes, times: int = 6) -> None:
    """Ask over new connections, which a server that is stuck does not answer within the timeout."""
    for _ in range(times):
        client = server.client(authority, timeout=5)
        assert admit(client, review).status == 200
        client.close()


def assert_at_rest(server: Server) -> None:
    wait_until(
        lambda: b"fabric_injector_admission_in_flight 0.0" in server.get("/metrics").body,
        "no request in flight",
    )


def test_serves_others_while_bodies_stall_and_gives_those_up(
    server: Server, authority: Path, review: bytes
) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(server.connect_tls(authority)) for _ in range(MANY)]
        for connection in stalled:
            connection.sendall(HEAD + b"Content-Length: 6000\r\n\r\n" + review[:3000])
        assert_serves(server, authority, review)
        for connection in stalled:
            assert read_reply(connection).status == 408
            assert read_all(connection) == b""
    assert_at_rest(server)


@pytest.mark.parametrize(
    "sent", [0, 64_000], ids=["as many as may connect", "as much as may be held"]
)
def test_serves_others_while_hundreds_of_bodies_stall(
    server: Server, authority: Path, review: bytes, sent: int
) -> None:
    with ExitStack() as stack:
        for _ in range(320):
            connection = stack.enter_context(server.connect_tls(authority))
            connection.sendall(HEAD + b"Content-Length: 65000\r\n\r\n" + b" " * sent)
        assert_serves(server, authority, review)


@pytest.mark.parametrize("most", [100, 10_000], ids=["half a greeting", "a greeting"])
def test_serves_others_while_handshakes_stall(
    server: Server, authority: Path, review: bytes, most: int
) -> None:
    outgoing = ssl.MemoryBIO()
    near = ssl.create_default_context().wrap_bio(
        ssl.MemoryBIO(), outgoing, server_hostname="localhost"
    )
    with suppress(ssl.SSLWantReadError):
        near.do_handshake()
    greeting = outgoing.read()[:most]
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(server.connect()).sendall(greeting)
        assert_serves(server, authority, review)


@pytest.mark.parametrize(
    "tls",
    [pytest.param(False, id="without a handshake"), pytest.param(True, id="after a handshake")],
)
def test_serves_others_while_connections_are_silent(
    server: Server, authority: Path, review: bytes, tls: bool
) -> None:
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(server.connect_tls(authority) if tls else server.connect())
        assert_serves(server, authority, review)


def test_serves_others_while_heads_are_half_sent(
    server: Server, authority: Path, review: bytes
) -> None:
    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(server.connect_tls(authority)).sendall(HEAD[:40])
        assert_serves(server, authority, review)


def test_makes_room_when_there_are_too_many_silent_connections(
    server: Server, authority: Path, review: bytes
) -> None:
    with ExitStack() as stack:
        silent = [stack.enter_context(server.connect_tls(authority)) for _ in range(520)]
        assert_serves(server, authority, review)
        assert is_closed(silent[0])


def test_keeps_a_connection_that_is_in_use_when_there_are_too_many(
    server: Server, authority: Path, review: bytes
) -> None:
    client = server.client(authority)
    assert admit(client, review).status == 200
    opened = client.sock
    with ExitStack() as stack:
        for _ in range(510):
            stack.enter_context(server.connect_tls(authority))
        assert admit(client, review).status == 200
    assert client.sock is opened
    client.close()


def test_gives_up_on_a_body_that_drips(server: Server, authority: Path, review: bytes) -> None:
    with server.connect_tls(authority) as connection:
        connection.sendall(HEAD + b"Content-Length: 100000\r\n\r\n")
        begun = time.monotonic()
        connection.settimeout(0.1)
        received = b""
        while not received and time.monotonic() < begun + 30:
            connection.sendall(b" ")
            try:
                received = connection.recv(65536)
            except TimeoutError:
                continue
    assert received.startswith(b"HTTP/1.1 408 ")


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 3 * MOST_BYTES])
def test_refuses_a_body_that_is_too_large_so_that_its_sender_learns_it(
    server: Server, authority: Path, size: int
) -> None:
    with server.connect_tls(authority) as connection:
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % size)
        connection.sendall(b" " * size)
        reply = read_reply(connection)
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert "too large" in reply.json()["message"]


def test_takes_the_largest_body(server: Server, authority: Path, review: bytes) -> None:
    asked = json.loads(review)
    asked["request"]["object"]["metadata"]["annotations"]["filler"] = "x" * (
        MOST_BYTES - 2 * len(review)
    )
    client = server.client(authority)
    assert admit(client, json.dumps(asked).encode()).status == 200
    client.close()


def test_forgets_clients_that_go_away_in_the_middle(
    server: Server, authority: Path, review: bytes
) -> None:
    for _ in range(MANY):
        connection = server.connect_tls(authority)
        connection.sendall(HEAD + b"Content-Length: 6000\r\n\r\n" + review[:3000])
        connection.setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0"
        )  # close by reset
        connection.close()
    for _ in range(MANY):
        connection = server.connect_tls(authority)
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(review) + review)
        connection.close()
    assert_at_rest(server)
    assert_serves(server, authority, review, times=1)


def test_serves_others_while_answers_are_not_read(
    server: Server, authority: Path, review: bytes
) -> None:
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(review) + review
    with ExitStack() as stack:
        for _ in range(16):
            connection = stack.enter_context(server.connect_tls(authority))
            connection.settimeout(0.2)
            try:
                for _ in range(40):
                    connection.sendall(request)
            except TimeoutError:
                continue
        assert_serves(server, authority, review)


def test_answers_many_clients_at_a_time(server: Server, authority: Path, review: bytes) -> None:
    statuses: list[int] = []

    def ask_often() -> None:
        client = server.client(authority, timeout=30)
        statuses.extend(admit(client, review).status for _ in range(10))
        client.close()

    threads = [threading.Thread(target=ask_often) for _ in range(40)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 400
