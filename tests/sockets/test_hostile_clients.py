"""Clients that stall, flood or go away: others are served meanwhile, and nothing is left behind."""

import json
import socket
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.sockets.conftest import FILES
from tests.sockets.server import Server, admit, is_closed, read_all, read_reply
from tests.tables import table
from tests.waiting import wait_until

MANY = 64
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MOST_BYTES = 7 << 20


def client_hello() -> bytes:
    """Give the first bytes of a handshake."""
    outgoing = ssl.MemoryBIO()
    context = ssl.create_default_context()
    near = context.wrap_bio(ssl.MemoryBIO(), outgoing, server_hostname="localhost")
    with suppress(ssl.SSLWantReadError):
        near.do_handshake()
    return outgoing.read()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server of this file's own: what is left in it is looked for."""
    folder = tmp_path_factory.mktemp("hostile")
    with Server(folder / "log", *FILES) as running:
        yield running


def assert_serves(server: Server, review: bytes, times: int = 6) -> None:
    """Ask over new connections, which a server that is stuck does not answer within the timeout."""
    for _ in range(times):
        assert server.admit(review).status == 200


def assert_at_rest(server: Server) -> None:
    wait_until(
        lambda: b"fabric_injector_admission_in_flight 0.0" in server.get("/metrics").body,
        "no request in flight",
    )


@table(
    "tls, count, sent",
    {
        "silent": (False, MANY, b""),
        "half a greeting": (False, MANY, client_hello()[:100]),
        "a greeting": (False, MANY, client_hello()),
        "silent after the handshake": (True, MANY, b""),
        "half a head": (True, MANY, HEAD[:40]),
        "bodies, as many as may connect": (True, 320, HEAD + b"Content-Length: 65000\r\n\r\n"),
        "bodies, as much as may be held": (
            True,
            320,
            HEAD + b"Content-Length: 65000\r\n\r\n" + b" " * 64_000,
        ),
    },
)
def test_serves_others_while_connections_stall(
    server: Server, review: bytes, tls: bool, count: int, sent: bytes
) -> None:
    with ExitStack() as stack:
        for _ in range(count):
            stalled = stack.enter_context(server.connect_tls() if tls else server.connect())
            stalled.sendall(sent)
        assert_serves(server, review)


def test_gives_up_bodies_that_stall(server: Server, review: bytes) -> None:
    with ExitStack() as stack:
        stalled = [stack.enter_context(server.connect_tls(timeout=60)) for _ in range(MANY)]
        for connection in stalled:
            connection.sendall(HEAD + b"Content-Length: 6000\r\n\r\n" + review[:3000])
        for connection in stalled:
            assert read_reply(connection).status == 408
            assert read_all(connection) == b""
    assert_at_rest(server)


def test_makes_room_where_there_are_too_many_silent_connections_but_not_of_one_that_is_in_use(
    server: Server, review: bytes
) -> None:
    client = server.client()
    assert admit(client, review).status == 200
    opened = client.sock
    with ExitStack() as stack:
        silent = [stack.enter_context(server.connect_tls()) for _ in range(520)]
        assert admit(client, review).status == 200
        assert client.sock is opened
        assert is_closed(silent[0])
    client.close()


@pytest.mark.parametrize("size", [MOST_BYTES + 1, 3 * MOST_BYTES])
def test_tells_the_sender_that_a_body_is_too_large(server: Server, size: int) -> None:
    with server.connect_tls() as connection:
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % size)
        connection.sendall(b" " * size)
        reply = read_reply(connection)
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert "too large" in reply.json()["message"]


def test_takes_the_largest_body(server: Server, review: bytes) -> None:
    asked = json.loads(review)
    filler = "x" * (MOST_BYTES - 2 * len(review))
    asked["request"]["object"]["metadata"]["annotations"]["filler"] = filler
    assert server.admit(json.dumps(asked).encode()).status == 200


def test_forgets_clients_that_go_away_in_the_middle(server: Server, review: bytes) -> None:
    for _ in range(MANY):
        connection = server.connect_tls()
        connection.sendall(HEAD + b"Content-Length: 6000\r\n\r\n" + review[:3000])
        reset = b"\x01\0\0\0\0\0\0\0"
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, reset)
        connection.close()
    for _ in range(MANY):
        connection = server.connect_tls()
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(review) + review)
        connection.close()
    assert_at_rest(server)
    assert_serves(server, review, times=1)


def test_serves_others_while_answers_are_not_read(server: Server, review: bytes) -> None:
    request = HEAD + b"Content-Length: %d\r\n\r\n" % len(review) + review
    with ExitStack() as stack:
        for _ in range(16):
            connection = stack.enter_context(server.connect_tls())
            connection.settimeout(0.2)
            with suppress(TimeoutError):
                for _ in range(40):
                    connection.sendall(request)
        assert_serves(server, review)
