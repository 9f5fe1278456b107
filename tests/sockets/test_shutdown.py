"""The end of the process: nothing that was asked goes unanswered."""

import http.client
import signal
import threading

import pytest

from tests.sockets.server import Server, admit, is_closed, read_reply
from tests.tables import table
from tests.waiting import wait_until

REQUEST = (
    b"POST /mutate HTTP/1.1\r\nHost: localhost\r\n"
    b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
)


class Clients:
    """Ask all the time over connections that are kept alive, until the server refuses new ones."""

    def __init__(self, server: Server, review: bytes, count: int = 8) -> None:
        self.answered, self.failures = 0, list[str]()
        self._server, self._review = server, review
        self._threads = [threading.Thread(target=self._ask) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        for thread in self._threads:
            thread.join(30)
            assert not thread.is_alive()

    def _ask(self) -> None:
        client = self._server.client()
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


def test_answers_what_was_asked_before_it_ends(own: Server, review: bytes) -> None:
    clients = Clients(own, review)
    wait_until(lambda: clients.answered > 100, "answers")
    own.process.send_signal(signal.SIGTERM)
    clients.join()
    assert own.process.wait(25) == 0
    assert clients.failures == []
    assert own.lines("ending")


@table(
    "sent, rest",
    {
        "half the head": (REQUEST[:60], REQUEST[60:] % 2 + b"{}"),
        "half the body": (REQUEST % 2 + b"{", b"}"),
    },
)
def test_answers_a_request_that_is_under_way_and_is_not_ready_meanwhile(
    own: Server, sent: bytes, rest: bytes
) -> None:
    with own.connect_tls() as connection:
        connection.sendall(sent)
        own.process.send_signal(signal.SIGTERM)
        wait_until(lambda: own.lines("ending"), "the end to begin")
        reply = own.get("/readyz")
        assert reply.status == 503
        assert b"[-]shutdown failed" in reply.body
        assert own.get("/livez").status == 200
        connection.sendall(rest)
        reply = read_reply(connection)
        assert (reply.status, reply.headers["connection"]) == (400, "close")
    assert own.process.wait(25) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ends_by(own: Server, number: signal.Signals) -> None:
    with own.connect_tls() as idle:
        assert own.end(number) == 0
        assert is_closed(idle)
    assert "Traceback" not in own.log.read_text()
