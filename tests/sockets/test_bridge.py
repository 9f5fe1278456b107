"""The bridge, its pool and the listener around applications that block, raise and wait."""

from __future__ import annotations

import _thread
import asyncio
import http.client
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from typing import Any

import pytest
import uvloop

from tests.sockets.server import Reply, ask, is_closed, read_reply
from tests.waiting import wait_until
from webhook.http import connection as connection_module
from webhook.http import endpoint as endpoint_module
from webhook.http.bridge import Bridge
from webhook.http.connection import Connections
from webhook.http.endpoint import Endpoint, Limits
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.pool import WorkerPool
from webhook.http.refusal import STARTING, Refusal

pytestmark = pytest.mark.sockets

Start = Callable[..., Any]


def say(text: bytes, start_response: Start) -> Iterable[bytes]:
    start_response("200 OK", [("Content-Length", str(len(text)))])
    return [text]


def echo(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
    return say(environ["wsgi.input"].read(), start_response)


class Gate:
    """An application whose every call waits until the gate is opened."""

    def __init__(self) -> None:
        self.open = threading.Event()
        self.inside = 0
        self._lock = threading.Lock()

    def __call__(self, environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        with self._lock:
            self.inside += 1
        assert self.open.wait(30)
        return say(b"done", start_response)


class Running:
    """A listener that runs in an event loop of its own thread."""

    def __init__(self, listener: Listener, bridge: Bridge, loop: asyncio.AbstractEventLoop) -> None:
        self.listener, self.bridge, self.loop = listener, bridge, loop

    def post(self, body: bytes = b"x") -> Reply:
        with closing(self.client()) as client:
            return ask(client, "POST", "/", body)

    def client(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(str(self.listener.address), timeout=20)


@contextmanager
def running(
    app: Callable[[dict[str, Any], Start], Iterable[bytes]],
    pool: WorkerPool,
    limits: Limits = Limits(),  # noqa: B008  # frozen
    connections: int = 100,
    listening: dict[str, Any] | None = None,
    **options: Any,
) -> Iterator[Running]:
    bridge = Bridge(app, pool, limits, **options)
    with listened(bridge, connections, **(listening or {})) as (listener, loop):
        try:
            yield Running(listener, bridge, loop)
        finally:
            pool.stop()


@contextmanager
def listened(
    app: Endpoint, connections: int = 100, **options: Any
) -> Iterator[tuple[Listener, asyncio.AbstractEventLoop]]:
    """Serve *app* in an event loop of its own thread."""
    loop = uvloop.new_event_loop()
    listener = Listener(bind(ListenAddress("127.0.0.1", 0)), app, connections=connections, **options)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(listener.start(), loop).result(10)
        yield listener, loop
    finally:
        asyncio.run_coroutine_threadsafe(listener.close(linger_seconds=0, grace_seconds=1), loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


def test_refuses_what_a_full_pool_cannot_take_and_answers_the_rest() -> None:
    gate, refused = Gate(), list[Refusal]()
    pool = WorkerPool("full", threads=1, spares=1, waiting=2)
    with running(gate, pool, on_refused=refused.append) as server, ThreadPoolExecutor(4) as clients:
        held = [clients.submit(server.post) for _ in range(4)]
        wait_until(lambda: server.bridge.in_flight == 4 and gate.inside == 2, "a full pool")
        reply = server.post()
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        gate.open.set()
        assert [each.result().status for each in held] == [200] * 4
        assert server.post().status == 200
    assert [each.reason for each in refused] == ["overloaded"]


def test_starts_spare_threads_while_functions_wait_and_ends_them() -> None:
    gate = Gate()
    pool = WorkerPool("spare", threads=2, spares=6, waiting=10)
    with running(gate, pool) as server, ThreadPoolExecutor(12) as clients:
        held = [clients.submit(server.post) for _ in range(12)]
        wait_until(lambda: gate.inside == 8, "eight functions that wait")
        assert pool._spares == 6
        gate.open.set()
        assert [each.result().status for each in held] == [200] * 12
        wait_until(lambda: pool._spares == 0, "the spares' end")


@pytest.mark.parametrize("where", ["before it begins", "at all"])
def test_answers_on_where_no_spare_thread_has_memory(where: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: object) -> None:
        raise MemoryError if where == "before it begins" else RuntimeError("can't start new thread")

    gate = Gate()
    pool = WorkerPool("crowded", threads=1, spares=2, waiting=4)
    with running(gate, pool) as server, ThreadPoolExecutor(3) as clients:
        asked = [clients.submit(server.post) for _ in range(3)]
        wait_until(lambda: gate.inside == 3, "two spares")
        gate.open.set()
        assert [each.result().status for each in asked] == [200] * 3
        wait_until(lambda: pool._spares == 0, "the spares' end")
        gate.open.clear()
        with monkeypatch.context() as changed:
            changed.setattr(threading.Thread, "_bootstrap_inner", fails)
            if where == "at all":
                changed.setattr(_thread, "start_new_thread", fails)
            asked = [clients.submit(server.post) for _ in range(3)]
            wait_until(lambda: server.bridge.in_flight == 3, "three that wait")
            threading.Event().wait(0.1)
            gate.open.set()
            assert [each.result().status for each in asked] == [200] * 3


def test_refuses_what_has_waited_too_long() -> None:
    gate = Gate()
    pool = WorkerPool("patience", threads=1, waiting=5, patience_seconds=0.2)
    with running(gate, pool) as server, ThreadPoolExecutor(2) as clients:
        first = clients.submit(server.post)
        wait_until(lambda: gate.inside == 1, "the first request")
        second = clients.submit(server.post)
        wait_until(lambda: server.bridge.in_flight == 2, "the second request")
        threading.Event().wait(0.3)
        gate.open.set()
        assert first.result().status == 200
        assert second.result().status == 503


def test_large_bodies_wait_for_one_another_within_their_bound_and_small_ones_for_none() -> None:
    gate = Gate()

    def app(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        return (
            gate(environ, start_response) if int(environ["CONTENT_LENGTH"]) > 100_000 else echo(environ, start_response)
        )

    pools = WorkerPool("small"), WorkerPool("large", waiting=9)
    options: dict[str, Any] = {"large": pools[1]}
    with running(app, pools[0], Limits(large_bytes=400_000), **options) as server, ThreadPoolExecutor(2) as clients:
        held = [clients.submit(server.post, b"x" * 200_000) for _ in range(2)]
        wait_until(
            lambda: server.bridge.in_flight == 2 and gate.inside == 1, "one that is worked on, and one that waits"
        )
        reply = server.post(b"x" * 150_000)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        assert server.post(b"x" * 60_000).body == b"x" * 60_000
        gate.open.set()
        assert [each.result().status for each in held] == [200] * 2
        assert server.post(b"x" * 400_000).status == 200
        pools[1].stop()


@pytest.mark.parametrize(
    "head",
    [
        pytest.param(b"Content-Length: 300000\r\n\r\n", id="declared"),
        pytest.param(b"Transfer-Encoding: chunked\r\n\r\n493e0\r\n" + b"x" * 280_000, id="come"),
    ],
)
def test_room_for_a_body_that_stalls_is_taken_and_given_back(head: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "LARGE_SECONDS", 60.0)
    with running(echo, WorkerPool("stalled"), Limits(body_seconds=20, large_bytes=400_000)) as server:
        with closing(server.client()) as client:
            client.connect()
            client.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\n" + head)
            wait_until(lambda: server.bridge._budgets[1]._left <= 120_000, "the room to be taken")
            assert server.post(b"x" * 150_000).status == 503
            assert server.post(b"x" * 60_000).status == 200
        wait_until(lambda: server.post(b"x" * 400_000).status == 200, "the room to be given back")


@pytest.mark.parametrize("length", [60_000, 90_000], ids=["small", "large"])
def test_the_oldest_body_that_stalls_gives_up_its_room(length: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(endpoint_module, "LARGE_SECONDS", 0.0)
    limits = Limits(body_seconds=20, small_bytes=150_000, large_bytes=200_000)
    with running(echo, WorkerPool("oldest"), limits) as server, ExitStack() as stack:
        stalled = [stack.enter_context(closing(server.client())) for _ in range(2)]
        for count, client in enumerate(stalled, start=1):
            client.connect()
            client.sock.sendall(b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % length)
            client.sock.sendall(b"x" * (length - 10))
            wait_until(lambda held=count: len(server.bridge._coming) == held, "the body")  # type: ignore[misc]
        left = server.bridge._budgets[length > 64 << 10]
        wait_until(lambda: left._left <= 30_020, "the room to be taken")
        assert server.post(b"x" * length).body == b"x" * length
        reply = read_reply(stalled[0].sock)
        assert (reply.status, reply.headers["connection"]) == (503, "close")
        assert "before others needed its room" in reply.json()["message"]
        stalled[1].sock.sendall(b"x" * 10)
        assert read_reply(stalled[1].sock).body == b"x" * length


def test_small_bodies_have_a_bound_too() -> None:
    gate = Gate()
    pool = WorkerPool("bytes", waiting=9)
    with running(gate, pool, Limits(small_bytes=100_000)) as server, ThreadPoolExecutor(1) as clients:
        held = clients.submit(server.post, b"x" * 60_000)
        wait_until(lambda: gate.inside == 1, "the first request")
        assert server.post(b"x" * 60_000).status == 503
        gate.open.set()
        assert held.result().status == 200
        assert server.post(b"x" * 60_000).status == 200


def test_takes_no_room_for_bodies_that_are_refused_in_any_case() -> None:
    options: dict[str, Any] = {"refuse": lambda: STARTING}
    with running(echo, WorkerPool("refused"), Limits(large_bytes=100_000), **options) as server:
        assert server.post(b"x" * 200_000).json()["message"] == STARTING.message


@pytest.mark.parametrize(
    "error", [ValueError("secret"), RecursionError(), MemoryError(), SystemExit(1), StopIteration()]
)
def test_answers_500_for_whatever_is_raised_and_serves_on(error: BaseException) -> None:
    def app(environ: dict[str, Any], start_response: Start) -> Iterable[bytes]:
        if environ["wsgi.input"].read() == b"raise":
            raise error
        return say(b"fine", start_response)

    refused: list[Refusal] = []
    with running(app, WorkerPool("raise"), on_refused=refused.append) as server, closing(server.client()) as client:
        reply = ask(client, "POST", "/", b"raise")
        assert reply.status == 500
        assert b"secret" not in reply.body
        assert ask(client, "POST", "/", b"x").body == b"fine"
    assert [each.reason for each in refused] == ["internal"]


def test_refuses_before_the_start_and_keeps_the_connection() -> None:
    ready = False
    bridge_options: dict[str, Any] = {"refuse": lambda: None if ready else STARTING}
    with running(echo, WorkerPool("start"), **bridge_options) as server, closing(server.client()) as client:
        reply = ask(client, "POST", "/", b"x" * 100_000)
        assert (reply.status, reply.headers["retry-after"]) == (503, "1")
        opened = client.sock
        ready = True
        assert ask(client, "POST", "/", b"x" * 100_000).body == b"x" * 100_000
        assert client.sock is opened


def test_asks_clients_to_connect_anew_while_closing() -> None:
    with running(echo, WorkerPool("closing")) as server:
        assert "connection" not in server.post().headers
        server.bridge.closing = True
        assert server.post().headers["connection"] == "close"


def test_drops_a_connection_whose_request_never_gets_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "HEAD_SECONDS", 0.2)
    with running(echo, WorkerPool("head")) as server, closing(server.client()) as client:
        assert ask(client, "POST", "/", b"x").status == 200
        client.sock.sendall(b"POST / HTTP/1.1\r\nHost:")
        assert is_closed(client.sock)
        assert server.post().status == 200


def test_drops_a_connection_that_stays_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection_module, "KEEP_ALIVE_SECONDS", 0.2)
    with running(echo, WorkerPool("silent")) as server, closing(server.client()) as client:
        client.connect()
        assert is_closed(client.sock)


def test_drops_the_oldest_that_has_asked_nothing_whether_its_handshake_is_done_or_not() -> None:
    connections, dropped = Connections(2), list[str]()
    for name in ("silent", "greeting"):
        connections.handshaking.add(name)
        connections.waiting[name] = partial(dropped.append, name)
    connections.handshaking.remove("silent")
    connections.connections.add("silent")  # type: ignore[arg-type]  # any object will do
    assert connections.make_room()
    assert dropped == ["silent"]
    connections.most = 1
    assert connections.make_room()
    assert (dropped, connections.handshaking, connections.waiting) == (["silent", "greeting"], set(), {})


def test_drops_the_oldest_silent_connection_where_there_are_too_many() -> None:
    with running(echo, WorkerPool("many"), connections=3) as server, ExitStack() as stack:
        clients = [stack.enter_context(closing(server.client())) for _ in range(4)]
        assert ask(clients[0], "POST", "/", b"x").status == 200
        for client in clients[1:]:
            client.connect()
        assert is_closed(clients[1].sock)
        for client in (clients[0], *clients[2:]):
            assert ask(client, "POST", "/", b"x").status == 200
