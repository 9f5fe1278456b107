"""The end of the process: nothing that was asked goes unanswered."""

from __future__ import annotations

import http.client
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import Server, admit, is_closed, read_reply
from tests.waiting import wait_until

pytestmark = pytest.mark.sockets
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"


@pytest.fixture
def ending(tmp_path: Path, tls_dir: Path) -> Iterator[Server]:
    options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={tls_dir}")
    with Server(tmp_path / "log", *options) as server:
        yield server


class Clients:
    """Ask all the time over kept-alive connections, anew where the server asks for that, until it refuses connections."""

    def __init__(self, server: Server, authority: Path, review: bytes, count: int = 8) -> None:
        self.answered, self.failures = 0, list[str]()
        self._server, self._authority, self._review = server, authority, review
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def _ask(self) -> None:
        client = self._server.client(self._authority)
        while True:
            try:
                if client.sock is None:
                    client.connect()
            except ConnectionRefusedError:
                return
            except OSError as error:
                self.failures.append(f"connecting: {error!r}")
                return
            try:
                reply = admit(client, self._review)
            except (OSError, http.client.HTTPException) as error:
                self.failures.append(repr(error))
                client.close()
                continue
            if reply.status == 200:
                self.answered += 1
            else:
                self.failures.append(f"{reply.status} {reply.body!r}")
            if reply.headers.get("connection") == "close":
                client.close()


def test_answers_what_was_asked_before_it_ends(
    ending: Server, authority: Path, review: bytes
) -> None:
    clients = Clients(ending, authority, review)
    wait_until(lambda: clients.answered > 100, "answers")
    ending.process.send_signal(signal.SIGTERM)
    clients.join()
    assert ending.process.wait(20) == 0
    assert clients.failures == []
    assert ending.lines("ending")


def test_waits_for_a_request_that_is_under_way(
    ending: Server, authority: Path, review: bytes
) -> None:
    with ending.connect_tls(authority) as connection:
        connection.sendall(HEAD % len(review) + review[:1000])
        ending.process.send_signal(signal.SIGTERM)
        wait_until(lambda: ending.lines("ending"), "the end to begin")
        connection.sendall(review[1000:])
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (200, "close")
    assert ending.process.wait(20) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_by(ending: Server, authority: Path, number: signal.Signals) -> None:
    with ending.connect_tls(authority) as idle:
        ending.process.send_signal(number)
        assert ending.process.wait(20) == 0
        assert is_closed(idle)
    assert "Traceback" not in ending.log.read_text()


def test_is_not_ready_while_it_ends(ending: Server, authority: Path, review: bytes) -> None:
    with ending.connect_tls(authority) as connection:
        connection.sendall(
            HEAD % len(review) + review[:1000]
        )  # a request under way keeps the process for seconds
        ending.process.send_signal(signal.SIGTERM)
        wait_until(lambda: ending.lines("ending"), "the end to begin")
        reply = ending.get("/readyz")
        assert reply.status == 503
        assert b"[-]shutdown failed" in reply.body
        assert ending.get("/livez").status == 200
        connection.sendall(review[1000:])
        assert read_reply(connection).status == 200
    assert ending.process.wait(20) == 0
