"""Start the process that answers dry runs when it is first asked, pass connections through to it, and outlive whatever becomes of it.

This process reads nothing of what is pasted: it passes bytes on, a few at a time, and answers itself only where that process cannot.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import socket
import subprocess
import threading
from dataclasses import dataclass, field

from webhook.http.listener import ListenAddress
from webhook.http.refusal import Refusal
from webhook.serve.child import how_ended, start_child
from webhook.serve.questions import Answers
from webhook.serve.slot import Slot

IDLE_SECONDS = 300.0
ANSWER_SECONDS = 30.0
"""How long an answer may take from the last byte of the request: a dry run of a thousand pods takes a few seconds."""
START_SECONDS = 30.0
"""How long a connection waits for the process before it, which must end first."""
CLIENT_SECONDS = 10.0
"""How long a client may take to ask at first, and to read what it was answered."""
LINGER_SECONDS = 2.0
"""How long the rest of a request is read that cannot be answered, so that its sender sees why instead of a reset connection."""
CONNECTIONS = 64
"""More than the page's process keeps: that drops those which only wait."""
PIECE_BYTES = 16 << 10
ELSEWHERE = "fabric-injector dry-run -f FILE answers it on your own machine, however large it is"
SLOW = f"the dry run took longer than {{:g}} s and was ended: give fewer objects at once, or ask elsewhere: {ELSEWHERE}"
CHANGED = "the profiles have changed, and the dry run was ended: ask again"
_LOST = f"the process of the dry run has ended ({{}}): ask again; if the manifest ends it, {ELSEWHERE}"
_IDLE = "nobody asks"
_ENDING = "the webhook ends"

log = logging.getLogger(__name__)


@dataclass(eq=False)
class _Child:
    """Hold the process, the socket by which it gets connections, and why we ended it: empty if we did not."""

    process: subprocess.Popen[bytes]
    connections: socket.socket
    why: str = ""
    ended: asyncio.Event = field(default_factory=asyncio.Event)

    def end(self, why: str) -> None:
        self.why = self.why or why
        self.process.kill()

    def how(self) -> str:
        """Say how it has ended."""
        return self.why or how_ended(self.process.returncode)

    def epitaph(self) -> str:
        """Say why an answer does not come."""
        return self.why or _LOST.format(self.how())


@dataclass(eq=False)
class _Exchange:
    """Hold when, by the loop's clock, a connection asked what is not answered yet; None where it waits for nothing."""

    asked: float | None

    @property
    def is_open(self) -> bool:
        """Return whether nothing has come yet of an answer that is due."""
        return self.asked is not None


class PageProcess:
    """Serve the listening socket *sock* through the process of the page, whose questions *answers* answers.

    The process runs in *slot*, while it is used and *idle_seconds* longer; it is killed where an answer takes longer than
    *answer_seconds*. `start` is awaited in the main thread, for the process ends with the thread that started it.
    """

    def __init__(
        self,
        sock: socket.socket,
        answers: Answers,
        slot: Slot,
        *,
        idle_seconds: float = IDLE_SECONDS,
        answer_seconds: float = ANSWER_SECONDS,
    ) -> None:
        self.url = f"http://{ListenAddress(*sock.getsockname()[:2])}"
        self._socket, self._answers, self._slot = sock, answers, slot
        self._idle_seconds, self._answer_seconds = idle_seconds, answer_seconds
        self._child: _Child | None = None
        self._starting = asyncio.Lock()
        self._exchanges: set[_Exchange] = set()
        self._moved = 0.0

    async def start(self) -> None:
        """Start to accept connections; the process is started by the first that asks something."""
        self._loop = asyncio.get_running_loop()
        self._server = await asyncio.start_server(self._accepted, sock=self._socket, limit=PIECE_BYTES)

    async def close(self, *, grace_seconds: float) -> None:
        """Refuse connections, wait *grace_seconds* for what was asked, and end the process."""
        self._server.close()
        deadline = self._loop.time() + grace_seconds
        while any(each.is_open for each in self._exchanges) and self._loop.time() < deadline:
            await asyncio.sleep(0.02)
        if self._child:
            self._child.end(_ENDING)
            await self._child.ended.wait()

    async def _accepted(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            if len(self._exchanges) < CONNECTIONS:
                await self._serve(reader, writer)
        except (OSError, TimeoutError):
            writer.transport.abort()
        finally:
            writer.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        exchange = _Exchange(None)
        self._exchanges.add(exchange)
        try:
            async with asyncio.timeout(CLIENT_SECONDS):
                first = await reader.read(PIECE_BYTES)
            if not first:
                return
            exchange.asked = self._moved = self._loop.time()
            try:
                child, near = await self._connect()
            except (OSError, TimeoutError) as error:
                reason = getattr(error, "strerror", "") or "the one before it does not end"
                problem = f"the process of the dry run cannot be started ({reason}): ask again in a minute; {ELSEWHERE}"
            else:
                await self._pass(first, exchange, child, near, reader, writer)
                if not exchange.is_open:
                    return
                # its end may be noticed later than that of the connection, while a question of it is being answered
                problem = child.epitaph() if await _has_ended(child) else _LOST.format("it closed the connection")
            await _refuse(problem, reader, writer)
        finally:
            self._exchanges.discard(exchange)

    async def _pass(
        self,
        first: bytes,
        exchange: _Exchange,
        child: _Child,
        near: socket.socket,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> None:
        """Pass bytes both ways until either side closes, or the process has ended."""
        answers, requests = await asyncio.open_unix_connection(sock=near, limit=PIECE_BYTES)

        async def ask() -> None:
            data = first
            with contextlib.suppress(OSError):
                while data:
                    exchange.asked = self._moved = self._loop.time()
                    requests.write(data)
                    await requests.drain()
                    data = await reader.read(PIECE_BYTES)
                requests.write_eof()

        asking = asyncio.create_task(ask())
        try:
            while data := await _read(answers):
                exchange.asked, self._moved = None, self._loop.time()
                writer.write(data)
                async with asyncio.timeout(CLIENT_SECONDS):
                    await writer.drain()
        finally:
            asking.cancel()
            requests.close()
            await asyncio.wait([asking])

    async def _connect(self) -> tuple[_Child, socket.socket]:
        """Hand a new connection to the process, which is started if need be. Raises OSError or TimeoutError where it cannot be."""
        near, far = socket.socketpair()
        try:
            with far:
                async with asyncio.timeout(START_SECONDS):
                    while True:
                        child = await self._running()
                        try:
                            socket.send_fds(child.connections, [b"+"], [far.fileno()])
                        except (BrokenPipeError, ConnectionResetError):  # it has just ended
                            await child.ended.wait()
                        else:
                            return child, near
        except BaseException:
            near.close()
            raise

    async def _running(self) -> _Child:
        async with self._starting:
            while not (child := self._child) or child.why or child.ended.is_set():
                if self._slot.take(self._evict):
                    try:
                        self._start()
                    except BaseException:
                        self._slot.leave()
                        raise
                else:
                    await asyncio.sleep(0.02)
            return child

    def _start(self) -> None:
        asked, asking = socket.socketpair()
        connections, handed_over = socket.socketpair()
        with asking, handed_over:
            try:
                process = start_child("webhook", "page-process", inherited=(handed_over.fileno(), asking.fileno()))
            except BaseException:
                asked.close()
                connections.close()
                raise
        connections.setblocking(False)
        child = self._child = _Child(process, connections)
        threading.Thread(
            target=self._attend, args=(child, asked), name=f"page-questions-{process.pid}", daemon=True
        ).start()
        self._watching = self._loop.create_task(self._watch(child))
        log.info("the process of the dry run starts: %d", process.pid)

    def _attend(self, child: _Child, asked: socket.socket) -> None:
        """Answer the process' questions until it ends, in a thread: an answer may have to be asked for in the cluster."""
        try:
            with asked:
                self._answers.serve(asked)
        except OSError:  # it ended before it had read the answer
            pass
        except Exception:
            log.exception("a question of the dry run's process cannot be answered")
        finally:
            child.process.kill()
            child.process.wait()
            self._slot.leave()
            with contextlib.suppress(RuntimeError):  # the event loop has ended
                self._loop.call_soon_threadsafe(self._reaped, child)

    def _reaped(self, child: _Child) -> None:
        child.connections.close()
        child.ended.set()
        if self._child is child:
            self._child = None
        is_expected = child.why or child.process.returncode == 0
        log.log(
            logging.INFO if is_expected else logging.WARNING, "the process of the dry run has ended: %s", child.how()
        )

    def _evict(self) -> None:
        if child := self._child:
            child.end(CHANGED)

    async def _watch(self, child: _Child) -> None:
        """End the process where it takes too long, or where nobody has asked it for long."""
        while not await _has_ended(child, min(self._answer_seconds, self._idle_seconds) / 10):
            now = self._loop.time()
            asked = [each.asked for each in self._exchanges if each.asked is not None]
            if asked and now - min(asked) > self._answer_seconds:
                child.end(SLOW.format(self._answer_seconds))
            elif not asked and now - self._moved > self._idle_seconds:
                child.end(_IDLE)


async def _has_ended(child: _Child, seconds: float = 1.0) -> bool:
    """Return whether the process has ended, or does within *seconds*."""
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(seconds):
            await child.ended.wait()
    return child.ended.is_set()


async def _read(reader: asyncio.StreamReader) -> bytes:
    """Return the next bytes; none where the other side has closed, in whatever way."""
    try:
        return await reader.read(PIECE_BYTES)
    except OSError:
        return b""


async def _refuse(problem: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Answer with 503, and read on for a moment."""
    refusal = Refusal(503, "page", problem)
    headers = {
        **refusal.headers,
        "Content-Length": str(len(refusal.body)),
        "Cache-Control": "no-store",
        "X-Content-Type-Options": "nosniff",
        "Connection": "close",
    }
    lines = ["HTTP/1.1 503 Service Unavailable", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    writer.write("\r\n".join(lines).encode() + refusal.body)
    with contextlib.suppress(OSError, TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(PIECE_BYTES):
                pass
