"""Listen on one address: accept connections within caps, and end those that take too long.

asyncio's own server keeps the TLS context of its start, while ours is replaced with the
certificate, and it accepts without a bound.
"""

import asyncio
import logging
import re
import socket
import ssl
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain
from typing import Any

from webhook.core.errors import InputError
from webhook.http.connection import ANSWER, IDLE, Endpoint, HttpConnection
from webhook.http.logs import log_fields
from webhook.http.refusal import STRANGER, Refusal

RECEIVE_BYTES = 16 << 10
"""What the kernel keeps of a connection, and so the most that TLS decrypts at a time."""
BODIES_BYTES = 16 << 20
"""How much of bodies is held in all."""
DEADLINES = {"ssl_handshake_timeout": 10.0, "ssl_shutdown_timeout": 3.0}
"""How long a client may take for a handshake, and to confirm the end (close_notify), in s."""
BACKLOG = 1024
BURST = 8
"""Most connections accepted, and most requests answered, before the loop looks what has come."""
SWEEP_SECONDS = 0.25
LOG_SECONDS = 10.0
"""Least time between log lines about failed handshakes: any client can cause many."""
VERIFIED = ""
"""The peer of all whose client certificate was verified: bound only in all."""
_ADDRESS = re.compile(r"(\[[^][]*\]|[^][:]*):(\d{1,5})", re.ASCII)

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ListenAddress:
    """Hold where to listen; port 0 means any free one."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "ListenAddress":
        """Read ``0.0.0.0:8443``, ``[::1]:0`` or ``:8080`` (all addresses). Raises ValueError."""
        found = _ADDRESS.fullmatch(text)
        if not found or int(found[2]) > 65535:
            advice = "write for example 0.0.0.0:8443 or [::1]:8443"
            raise ValueError(f"{text!r} is not host:port; {advice}")
        return cls(found[1].strip("[]"), int(found[2]))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def bind(address: ListenAddress) -> socket.socket:
    """Bind a listening socket. Raises InputError where the address is taken or not ours."""
    try:
        family, _, _, _, target = socket.getaddrinfo(
            address.host or None, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        sock = socket.create_server(target[:2], family=family, backlog=BACKLOG)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, RECEIVE_BYTES)  # also of connections
        return sock
    except OSError as error:
        reason = (error.strerror or str(error)).partition(" (while ")[0]
        raise InputError(f"cannot listen on {address}: {reason}; choose another address") from None


class Share:
    """Count what is taken of *most*; one peer takes two thirds at most.

    Not half: all API servers may stand behind one address.
    """

    def __init__(self, most: int) -> None:
        self.most, self.most_of_one, self.taken = most, most * 2 // 3, 0
        self._by_peer = Counter[str]()

    def take(self, peer: str, count: int = 1) -> bool:
        """Count *count* more, unless that is too many; return whether they were counted."""
        if self.taken + count > self.most or not self.has_room_for(peer, count):
            return False
        self.taken += count
        self._by_peer[peer] += count
        return True

    def has_room_for(self, peer: str, count: int = 1) -> bool:
        """Return whether the peer has not its share yet."""
        return peer == VERIFIED or self._by_peer[peer] + count <= self.most_of_one

    def give_back(self, peer: str, count: int = 1) -> None:
        """Count *count* less."""
        self.taken -= count
        self._by_peer[peer] -= count
        if not self._by_peer[peer]:
            del self._by_peer[peer]


class Listener:
    """Let *endpoint* answer at most *connections* clients, two thirds of them from one address.

    *context* returns the TLS context for a new connection; without it there is no TLS. *names*: a
    client's certificate must carry one of them; empty: any verified one will do. Of too many
    connections the one that waits longest for its client gives way, but none with a whole request.
    *on_dropped* gets ``too-many`` then, and ``handshake`` where one failed.

    Attributes:
        closing: Every answer ends its connection.
        url: Where it listens, ``https://127.0.0.1:8443``.
        requested_at: When the last request was whole, by ``time.monotonic()``.
    """

    def __init__(
        self,
        sock: socket.socket,
        endpoint: Endpoint,
        *,
        connections: int,
        context: Callable[[], ssl.SSLContext] | None = None,
        names: frozenset[str] = frozenset(),
        on_dropped: Callable[[str], None] = lambda reason: None,
    ) -> None:
        self.endpoint, self.closing, self.requested_at = endpoint, False, time.monotonic()
        self.address = ListenAddress(*sock.getsockname()[:2])
        self.url = f"{'https' if context else 'http'}://{self.address}"
        self.connections: dict[HttpConnection, asyncio.Task[None]] = {}
        self.bodies, self._places = Share(BODIES_BYTES), Share(connections)
        self._socket, self._context, self._names = sock, context, names
        self._on_dropped = on_dropped
        self._waiting: dict[str, deque[HttpConnection]] = {}  # for their answers, by peer
        self._logs_at = 0.0

    async def start(self) -> None:
        """Start to accept connections."""
        self._loop = asyncio.get_running_loop()
        self._socket.setblocking(False)
        self._loop.add_reader(self._socket, self._accept)
        self._sweep()

    async def close(self, *, linger_seconds: float, grace_seconds: float) -> None:
        """Close idle connections after *linger_seconds*, all others *grace_seconds* later."""
        self._accept(BACKLOG)  # else those that wait in the backlog would be reset
        self.closing = True
        self._loop.remove_reader(self._socket)
        self._socket.close()
        await self._wait(linger_seconds)
        for connection in list(self.connections):
            if connection.state == IDLE and connection.transport:
                connection.transport.close()
        await self._wait(grace_seconds)
        for connection in list(self.connections):
            self._drop(connection)
        self._sweeping.cancel()

    def judge_client(self, connection: HttpConnection) -> Refusal | None:
        """Return why all requests of a new connection are refused, None where they are not."""
        certificate = connection.transport and connection.transport.get_extra_info("peercert")
        if not certificate or connection not in self.connections:
            return None
        self._places.give_back(connection.peer)
        address, connection.peer = connection.peer, VERIFIED
        self._places.take(VERIFIED)
        found = names_of(certificate)
        if not self._names or not self._names.isdisjoint(found):
            return None
        carried, allowed = ", ".join(found) or "no name", ", ".join(sorted(self._names))
        message = f"its certificate carries {carried}, and none of the allowed {allowed}"
        log_fields(log, logging.WARNING, f"client refused: {message}", {"peer": address})
        return STRANGER

    def answer_in_turn(self, connection: HttpConnection) -> None:
        """Answer a whole request when its peer's turn has come: many of one hold up no other."""
        self.requested_at = time.monotonic()
        if not self._waiting:
            self._loop.call_soon(self._answer_some)
        self._waiting.setdefault(connection.peer, deque()).append(connection)

    def forget(self, connection: HttpConnection) -> None:
        """Count a connection no longer."""
        if self.connections.pop(connection, None):
            self._places.give_back(connection.peer)

    def _answer_some(self) -> None:
        for _ in range(BURST):
            if not self._waiting:
                return
            peer = next(iter(self._waiting))
            waiting = self._waiting.pop(peer)
            connection = waiting.popleft()
            if waiting:
                self._waiting[peer] = waiting  # behind all others
            connection.answer()
        if self._waiting:
            self._loop.call_soon(self._answer_some)

    def _accept(self, most: int = BURST) -> None:
        for _ in range(most):
            try:
                accepted, (peer, *_) = self._socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no file descriptor or memory is left
                self._drop_one(self.connections)
                return
            if self._make_room(peer):
                self._take(accepted, peer)
            else:
                accepted.close()

    def _make_room(self, peer: str) -> bool:
        """Take a place for *peer*, if need be that of another connection."""
        if self._places.take(peer):
            return True
        is_own_fault = not self._places.has_room_for(peer)
        self._drop_one(each for each in self.connections if each.peer == peer or not is_own_fault)
        return self._places.take(peer)

    def _drop_one(self, rivals: Iterable[HttpConnection]) -> None:
        """End the connection that waits longest for its client, if one does."""
        self._on_dropped("too-many")
        waiting = [each for each in rivals if each.state != ANSWER]
        if waiting:
            self._drop(min(waiting, key=lambda each: each.since))

    def _take(self, accepted: socket.socket, peer: str) -> None:
        accepted.setblocking(False)
        connection = HttpConnection(self, peer)
        handshake = self._loop.create_task(self._shake_hands(connection, accepted))
        handshake.add_done_callback(partial(self._handshake_done, connection, accepted))
        self.connections[connection] = handshake

    def _drop(self, connection: HttpConnection) -> None:
        self.connections[connection].cancel()
        self.forget(connection)
        connection.drop()

    async def _shake_hands(self, connection: HttpConnection, accepted: socket.socket) -> None:
        tls: dict[str, Any] = {}  # asyncio takes no deadlines without a context
        if self._context:
            tls = {"ssl": self._context(), **DEADLINES}
        try:
            await self._loop.connect_accepted_socket(lambda: connection, accepted, **tls)
        except OSError as error:
            self._on_dropped("handshake")
            # port scans and probes that connect and leave are of no interest
            if isinstance(error, ssl.SSLError) and self._loop.time() >= self._logs_at:
                self._logs_at = self._loop.time() + LOG_SECONDS
                log.warning("TLS handshake with %s failed: %s", connection.peer, error)

    def _handshake_done(
        self, connection: HttpConnection, accepted: socket.socket, _: asyncio.Task[None]
    ) -> None:
        if connection.transport is None:
            accepted.close()
            self.forget(connection)

    def _sweep(self) -> None:
        now = self._loop.time()
        for connection in list(self.connections):
            if connection.expires_at <= now:
                connection.expire()
        self._sweeping = self._loop.call_later(SWEEP_SECONDS, self._sweep)

    async def _wait(self, seconds: float) -> None:
        deadline = self._loop.time() + seconds
        while self.connections and self._loop.time() < deadline:
            await asyncio.sleep(0.02)


def names_of(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the common and DNS names of a certificate as ``getpeercert`` of ssl shows it."""
    subject = chain.from_iterable(certificate.get("subject", ()))
    pairs = (*subject, *certificate.get("subjectAltName", ()))
    return tuple(dict.fromkeys(value for kind, value in pairs if kind in ("commonName", "DNS")))
