"""Endpoints and the listener around what blocks, raises and waits."""

import asyncio
import http.client
import threading
from collections.abc import Awaitable, Iterator
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
import uvloop

from tests.sockets.server import Reply, ask, is_closed
from tests.waiting import wait_until
from webhook.http.connection import HEAD, IDLE, SECONDS, Endpoint, Request, Response
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.refusal import Refusal


class Echo(Endpoint):
    """Answer with the body, a moment later."""

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def answer(self, request: Request) -> Response | Refusal | Awaitable[Response]:
        return self._later(bytes(request.body))

    def refuse(self, refusal: Refusal, _request: Request | None) -> Refusal:
        self.refusals.append(refusal)
        return refusal

    async def _later(self, body: bytes) -> Response:
        await asyncio.sleep(0)
        return Response(200, body)


class Gate(Echo):
    """Answer with the body once the gate is open."""

    def __init__(self) -> None:
        super().__init__()
        self.open = threading.Event()
        self.inside = 0

    async def _later(self, body: bytes) -> Response:
        self.inside += 1
        assert await asyncio.to_thread(self.open.wait, 30)
        return Response(200, body)


class Running:
    """A listener that runs in an event loop of its own thread."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def post(self, body: bytes = b"x") -> Reply:
        with closing(self.client()) as client:
            return ask(client, "POST", "/", body)

    def client(self, source: str = "127.0.0.1") -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            str(self.listener.address), timeout=20, source_address=(source, 0)
        )


@contextmanager
def running(endpoint: Endpoint, connections: int = 100, **options: Any) -> Iterator[Running]:
    with listened(endpoint, connections, **options) as (listener, _):
        yield Running(listener)


@contextmanager
def listened(
    app: Endpoint, connections: int = 100, **options: Any
) -> Iterator[tuple[Listener, asyncio.AbstractEventLoop]]:
    """Serve *app* in an event loop of its own thread."""
    loop = uvloop.new_event_loop()
    listener = Listener(
        bind(ListenAddress("127.0.0.1", 0)), app, connections=connections, **options
    )
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(listener.start(), loop).result(10)
        yield listener, loop
    finally:
        asyncio.run_coroutine_threadsafe(
            listener.close(linger_seconds=0, grace_seconds=1), loop
        ).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_bodies_of_one_peer_leave_room_for_those_of_others() -> None:
    with running(Echo()) as server, closing(server.client()) as stalled:
        server.listener.bodies.most_of_one = 400_000
        stalled.connect()
        stalled.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 300000\r\n\r\n")
        stalled.sock.sendall(b"x" * 280_000)
        wait_until(lambda: server.listener.bodies.taken == 280_000, "the body")
        reply = server.post(b"x" * 150_000)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        with closing(server.client("127.0.0.2")) as other:
            assert ask(other, "POST", "/", b"x" * 150_000).status == 200
        stalled.close()
        wait_until(lambda: server.listener.bodies.taken == 0, "the room to be given back")
        assert server.post(b"x" * 400_000).status == 200


def test_keeps_the_beginning_of_a_body_that_is_not_read() -> None:
    echo = Echo()
    echo.read_bytes, echo.kept_bytes = 1000, 10
    with running(echo) as server, closing(server.client()) as client:
        body = b"0123456789" * 50_000
        assert ask(client, "POST", "/", body).body == body[:10]
        assert ask(client, "POST", "/", body[:1000]).body == body[:1000]


@pytest.mark.parametrize("error", [ValueError("secret"), KeyError("secret"), StopIteration()])
def test_answers_500_for_whatever_is_raised_and_serves_on(error: BaseException) -> None:
    class Raising(Echo):
        def answer(self, request: Request) -> Response | Refusal | Awaitable[Response]:
            if request.length == 5:
                raise error
            return super().answer(request)

    endpoint = Raising()
    with running(endpoint) as server, closing(server.client()) as client:
        reply = ask(client, "POST", "/", b"raise")
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert ask(client, "POST", "/", b"x").body == b"x"
    assert [each.reason for each in endpoint.refusals] == ["internal"]


def test_asks_clients_to_connect_anew_while_closing() -> None:
    with running(Echo()) as server:
        assert "connection" not in server.post().headers
        server.listener.closing = True
        assert server.post().headers["connection"] == "close"


def test_drops_a_connection_whose_request_never_gets_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECONDS, HEAD, 0.2)
    with running(Echo()) as server, closing(server.client()) as client:
        assert ask(client, "POST", "/", b"x").status == 200
        client.sock.sendall(b"POST / HTTP/1.1\r\nHost:")
        assert is_closed(client.sock)
        assert server.post().status == 200


def test_drops_a_connection_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SECONDS, IDLE, 0.2)
    with running(Echo()) as server, closing(server.client()) as client:
        client.connect()
        assert is_closed(client.sock)


def test_peers_take_turns() -> None:
    """Of many requests of one and one of another that come at a time, the other is not last."""
    order: list[bytes] = []
    inside, blocked = threading.Event(), threading.Event()

    class Ordered(Echo):
        def answer(self, request: Request) -> Response | Refusal | Awaitable[Response]:
            if request.body == b"block":
                inside.set()
                assert blocked.wait(20)
            order.append(bytes(request.body))
            return Response(200, b"")

    sources = ["127.0.0.3", *["127.0.0.1"] * 40, "127.0.0.2"]
    with running(Ordered()) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(server.client(each))) for each in sources]
        for client in clients:
            assert ask(client, "GET", "/").status == 200
        order.clear()
        clients[0].request("POST", "/", b"block")
        assert inside.wait(20)
        for client in clients[1:-1]:
            client.request("POST", "/", b"many")
        clients[-1].request("POST", "/", b"one")
        blocked.set()
        assert {client.getresponse().status for client in clients} == {200}
    assert order.index(b"one") < 1 + 40 - 8  # it came last
