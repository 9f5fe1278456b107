"""Clients that stall, flood or go away: others are served meanwhile, and nothing is left behind."""

import json
import ssl
from collections.abc import Iterator
from contextlib import ExitStack, suppress

import pytest

from tests.sockets.conftest import FILES
from tests.sockets.server import Server, read_reply

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


STALLS = {
    "silent": (False, b""),
    "half a greeting": (False, client_hello()[:100]),
    "a greeting": (False, client_hello()),
    "silent after the handshake": (True, b""),
    "half a head": (True, HEAD[:40]),
    "no body": (True, HEAD + b"Content-Length: 65000\r\n\r\n"),
    "half a body": (True, HEAD + b"Content-Length: 65000\r\n\r\n" + b" " * 20_000),
}


def stall(server: Server, stack: ExitStack, tls: bool, sent: bytes, source: str) -> None:
    """Open a connection that sends no more; the server may have closed it since."""
    with suppress(OSError):
        stalled = stack.enter_context(server.connect(source=source))
        if tls:
            context = ssl.create_default_context(cafile=server.authority)
            stalled = stack.enter_context(context.wrap_socket(stalled, server_hostname="localhost"))
        stalled.sendall(sent)


def test_serves_others_while_connections_stall_in_every_way_from_everywhere(
    server: Server, review: bytes
) -> None:
    """The reviewer's own address among them."""
    kinds = list(STALLS.values())
    with ExitStack() as stack:
        for number in range(800):
            tls, sent = kinds[number % len(kinds)]
            stall(server, stack, tls, sent, f"127.0.0.{1 + number % 4}")
            if number % 50 == 0:
                assert_serves(server, review, times=1)
        assert_serves(server, review)


def test_refuses_what_is_too_large_before_it_comes(server: Server) -> None:
    with server.connect_tls() as connection:
        connection.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (MOST_BYTES + 1))
        reply = read_reply(connection)
    assert (reply.status, reply.headers["connection"]) == (413, "close")
    assert "too large" in reply.json()["message"]


def test_denies_the_largest_body_by_its_size_and_keeps_little_of_it(
    server: Server, review: bytes
) -> None:
    asked = json.loads(review)
    filler = "x" * (MOST_BYTES - 2 * len(review))
    asked["request"]["object"]["metadata"]["annotations"]["filler"] = filler
    body = json.dumps(asked).encode()
    response = server.admit(body).json()["response"]
    assert (response["uid"], response["allowed"]) == (asked["request"]["uid"], False)
    assert f"has {len(body)} bytes" in response["status"]["message"]
