"""Connections by the thousand: nothing of them stays behind."""

import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.sockets.conftest import Serve
from tests.sockets.server import SERVE_ANYWHERE, Server
from tests.waiting import wait_until

RESET = b"\x01\0\0\0\0\0\0\0"
HELLO = bytes.fromhex("16030100")
MOST_GROWTH = 12 << 20
"""Of resident memory, in bytes. A leak of whole TLS connections would be fifteen times as much."""


def descriptors(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def resident(server: Server) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(240)
def test_forgets_thousands_of_connections(own: Server, review: bytes) -> None:
    def churn(count: int) -> None:
        """Open and close: one in ten in a handshake, one in twenty after a request."""
        for number in range(count):
            if number % 20 == 0:
                assert own.admit(review).status == 200
                continue
            with own.connect() as connection:
                if number % 10 == 1:
                    connection.sendall(HELLO)
                if number % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    churn(500)  # what grows only once, grows now
    wait_until(lambda: descriptors(own) < 60, "the first connections to be closed", 30)
    before, memory = descriptors(own), resident(own)
    churn(3000)
    wait_until(lambda: descriptors(own) <= before, "all connections to be closed", 30)
    assert resident(own) - memory < MOST_GROWTH
    assert "Traceback" not in own.log.read_text()


def test_ends_silent_connections_where_file_descriptors_are_lacking(
    serve: Serve, review: bytes
) -> None:
    server = serve(command=("sh", "-c", 'ulimit -n 60; exec "$@"', "sh", *SERVE_ANYWHERE))
    with ExitStack() as stack:
        for _ in range(100):
            stack.enter_context(server.connect())
        assert server.admit(review).status == 200
    dropped = 'fabric_injector_connections_dropped_total{reason="too-many"}'
    assert server.metric(dropped) > 30
