"""Endpoints and the listener around what blocks, raises and waits."""

import asyncio
import http.client
import threading
from collections.abc import Awaitable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from typing import Any

import pytest
import uvloop

from tests.sockets.server import Reply, ask, is_closed, read_reply
from tests.waiting import wait_until
from webhook.http import connection as connection_module
from webhook.http import endpoint as endpoint_module
from webhook.http.endpoint import Endpoint, Limits
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.refusal import STARTING, Refusal
from webhook.http.request import Request, Response


class Echo(Endpoint):
    """Answer with the body, a moment later."""

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        return self._later(request.body.take())

    async def _later(self, body: bytes) -> Response:
        await asyncio.sleep(0)
        return Response(200, b"", body)


class Gate(Endpoint):
    """Answer with the body once the gate is open."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.open = threading.Event()
        self.inside = 0

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        self.inside += 1
        return self._wait(request.body.take())

    async def _wait(self, body: bytes) -> Response:
        assert await asyncio.to_thread(self.open.wait, 30)
        return Response(200, b"", body)


class Running:
    """A listener that runs in an event loop of its own thread."""

    def __init__(self, listener: Listener, endpoint: Endpoint) -> None:
        self.listener, self.endpoint = listener, endpoint

    def post(self, body: bytes = b"x") -> Reply:
        with closing(self.client()) as client:
            return ask(client, "POST", "/", body)

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(str(self.listener.address), timeout=20)


@contextmanager
def running(endpoint: Endpoint, connections: int = 100, **options: Any) -> Iterator[Running]:
    with listened(endpoint, connections, **options) as (listener, _):
        yield Running(listener, endpoint)


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


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"Content-Length: 300000\r\n\r\n", id="declared"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n493e0\r\n" + b"x" * 280_000, id="come"),
    ],
)
def test_a_stalled_body_takes_room_and_gives_it_back(
    head: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint_module, "LARGE_SECONDS", 60.0)
    with running(Echo(Limits(body_seconds=20, large_bytes=400_000))) as server:
        with closing(server.client()) as client:
            client.connect()
            client.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + head)
            wait_until(lambda: server.endpoint._budgets[1]._left <= 120_000, "the room to be taken")
            assert server.post(b"x" * 150_000).status == 503
            assert server.post(b"x" * 60_000).status == 200
        wait_until(lambda: server.post(b"x" * 400_000).status == 200, "the room to be given back")


@pytest.mark.parametrize("length", [60_000, 90_000], ids=["small", "large"])
def test_the_oldest_stalled_body_gives_way(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "LARGE_SECONDS", 0.0)
    limits = Limits(body_seconds=20, small_bytes=150_000, large_bytes=200_000)
    with running(Echo(limits)) as server, ExitStack() as stack:
        stalled = [stack.enter_context(closing(server.client())) for _ in range(2)]
        for count, client in enumerate(stalled, start=1):
            client.connect()
            client.sock.sendall(
                b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length
            )
            client.sock.sendall(b"x" * (length - 10))
            wait_until(lambda held=count: len(server.endpoint._coming) == held, "the body")  # type: ignore[misc]
        left = server.endpoint._budgets[length > 64 << 10]
        wait_until(lambda: left._left <= 30_020, "the room to be taken")
        assert server.post(b"x" * length).body == b"x" * length
        reply = read_reply(stalled[0].sock)
        assert (reply.status, reply.headers["connection"]) == (503, "close")
        assert "before others needed its room" in reply.json()["message"]
        stalled[1].sock.sendall(b"x" * 10)
        assert read_reply(stalled[1].sock).body == b"x" * length


def test_small_bodies_have_a_bound_too() -> None:
    gate = Gate(Limits(small_bytes=100_000))
    with running(gate) as server, ThreadPoolExecutor(1) as clients:
        held = clients.submit(server.post, b"x" * 60_000)
        wait_until(lambda: gate.inside == 1, "the first request")
        assert server.post(b"x" * 60_000).status == 503
        gate.open.set()
        assert held.result().status == 200
        assert server.post(b"x" * 60_000).status == 200


def test_takes_no_room_for_bodies_that_are_refused_in_any_case() -> None:
    with running(Echo(Limits(large_bytes=100_000), refuse=lambda: STARTING)) as server:
        assert server.post(b"x" * 200_000).json()["message"] == STARTING.message


@pytest.mark.parametrize(
    "error", [ValueError("secret"), RecursionError(), MemoryError(), SystemExit(1), StopIteration()]
)
def test_answers_500_for_whatever_is_raised_and_serves_on(error: BaseException) -> None:
    class Raising(Echo):
        def answer(self, request: Request) -> Response | Awaitable[Response]:
            if request.body.length == 5:
                raise error
            return super().answer(request)

    refused: list[Refusal] = []
    with (
        running(Raising(Limits(), on_refused=refused.append)) as server,
        closing(server.client()) as client,
    ):
        reply = ask(client, "POST", "/", b"raise")
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert ask(client, "POST", "/", b"x").body == b"x"
    assert [each.reason for each in refused] == ["internal"]


def test_refuses_before_the_start_and_keeps_the_connection() -> None:
    ready = False
    with (
        running(Echo(Limits(), refuse=lambda: None if ready else STARTING)) as server,
        closing(server.client()) as client,
    ):
        reply = ask(client, "POST", "/", b"x" * 100_000)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        opened = client.sock
        ready = True
        assert ask(client, "POST", "/", b"x" * 100_000).body == b"x" * 100_000
        assert client.sock is opened


def test_asks_clients_to_connect_anew_while_closing() -> None:
    with running(Echo(Limits())) as server:
        assert "connection" not in server.post().headers
        server.endpoint.closing = True
        assert server.post().headers["connection"] == "close"


def test_drops_a_connection_whose_request_never_gets_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HEAD_SECONDS", 0.2)
    with running(Echo(Limits())) as server, closing(server.client()) as client:
        assert ask(client, "POST", "/", b"x").status == 200
        client.sock.sendall(b"POST / HTTP/1.1\r\nHost:")
        assert is_closed(client.sock)
        assert server.post().status == 200


def test_drops_a_connection_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "KEEP_ALIVE_SECONDS", 0.2)
    with running(Echo(Limits())) as server, closing(server.client()) as client:
        client.connect()
        assert is_closed(client.sock)


def test_drops_the_oldest_silent_connection_where_there_are_too_many() -> None:
    with running(Echo(Limits()), connections=3) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(server.client())) for _ in range(4)]
        assert ask(clients[0], "POST", "/", b"x").status == 200
        for client in clients[1:]:
            client.connect()
        assert is_closed(clients[1].sock)
        for client in (clients[0], *clients[2:]):
            assert ask(client, "POST", "/", b"x").status == 200
