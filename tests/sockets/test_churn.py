"""Connections by the thousand: nothing of them stays behind, and what the system cannot hold waits."""

from __future__ import annotations

import os
import socket
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import SERVE_ANYWHERE, Server, admit
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets

RESET = b"\x01\0\0\0\0\0\0\0"
HELLO = bytes.fromhex("16030100")
MOST_GROWTH = 24 << 20
"""Of resident memory, in bytes. A leak of a whole TLS connection, about 60 kB, would be fifteen times as much."""


def descriptors(server: Server) -> int:
    return len(os.listdir(f"/proc/{server.process.pid}/fd"))


def resident(server: Server) -> int:
    pages = int(Path(f"/proc/{server.process.pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.timeout(240)
def test_forgets_ten_thousand_connections(server: Server, authority: Path, review: bytes) -> None:
    def churn(count: int) -> None:
        """Open and close: most at once, one in ten in the middle of a handshake, one in twenty after a request."""
        for number in range(count):
            if number % 20 == 0:
                client = server.client(authority)
                assert admit(client, review).status == 200
                client.close()
                continue
            with server.connect() as connection:
                if number % 10 == 1:
                    connection.sendall(HELLO)
                if number % 2:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)

    churn(1000)  # what grows only once, grows now
    wait_until(lambda: descriptors(server) < 60, "the first connections to be closed", 30)
    before, memory = descriptors(server), resident(server)
    churn(10_000)
    wait_until(lambda: descriptors(server) <= before, "all connections to be closed", 30)
    assert resident(server) - memory < MOST_GROWTH
    assert "Traceback" not in server.log.read_text()


def test_waits_for_file_descriptors_and_serves_on(
    tmp_path: Path, tls_dir: Path, authority: Path, review: bytes
) -> None:
    few = ("sh", "-c", 'ulimit -n 60; exec "$@"', "sh", *SERVE_ANYWHERE)
    options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(tmp_path / "log", *options, command=few) as server:
        with ExitStack() as stack:
            for _ in range(100):
                stack.enter_context(server.connect())
            wait_until(lambda: bool(server.lines("connections wait")), "the server to tell of it")
        client = server.client(authority, timeout=30)
        assert admit(client, review).status == 200
        client.close()
        assert len(server.lines("connections wait")) < 50
