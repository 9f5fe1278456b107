"""Run a listener with an endpoint of the test's own, in an event loop of another thread."""

import asyncio
import http.client
import socket
import threading
from collections.abc import Awaitable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import uvloop

from tests.sockets.server import Reply, ask
from webhook.http.connection import Endpoint, Request
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.refusal import Refusal, Response

GET = b"GET / HTTP/1.1\r\nHost: x\r\n"
POST = b"POST / HTTP/1.1\r\nHost: x\r\n"


class Echo(Endpoint):
    """Answer with the body, a moment later."""

    def __init__(self) -> None:
        self.refusals: list[Refusal] = []

    def answer(self, request: Request) -> Response | Refusal | Awaitable[Response | Refusal]:
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
    """A listener that runs."""

    def __init__(self, listener: Listener) -> None:
        self.listener = listener

    def post(self, body: bytes = b"x") -> Reply:
        with closing(self.client()) as client:
            return ask(client, "POST", "/", body)

    def client(self, source: str = "127.0.0.1") -> http.client.HTTPConnection:
        return http.client.HTTPConnection(
            str(self.listener.address), timeout=20, source_address=(source, 0)
        )

    def connect(self) -> socket.socket:
        address = self.listener.address
        return socket.create_connection((address.host, address.port), 20)


@contextmanager
def running(endpoint: Endpoint, connections: int = 100, **options: Any) -> Iterator[Running]:
    """Serve *endpoint* on a free port."""
    loop = uvloop.new_event_loop()
    sock = bind(ListenAddress("127.0.0.1", 0))
    listener = Listener(sock, endpoint, connections=connections, **options)
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(listener.start(), loop).result(10)
        yield Running(listener)
    finally:
        closed = listener.close(linger_seconds=0, grace_seconds=1)
        asyncio.run_coroutine_threadsafe(closed, loop).result(10)
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
