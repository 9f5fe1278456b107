"""Send many large reviews at once, of the shapes that need most memory, as clients do that keep to no rule."""

import json
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

from tests.sockets.server import Server

LARGEST = 3 << 20
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"

SHAPES: dict[str, Callable[[int], str]] = {
    "a text": lambda size: '"' + "x" * (size - 2) + '"',
    "texts": lambda size: "[" + ",".join(['"aa"'] * ((size - 2) // 5)) + "]",
    "objects": lambda size: "[" + ",".join(['{"":0}'] * ((size - 2) // 7)) + "]",
    "keys": lambda size: (
        "{" + ",".join(f'"{number:06}":0' for number in range((size - 2) // 11)) + "}"
    ),
}
"""JSON values of at most so many bytes, which are answered and not refused."""


def large_reviews(review: bytes, size: int = LARGEST) -> list[bytes]:
    """Return a review of *size* bytes of each shape."""
    asked = json.loads(review)
    asked["request"]["object"]["status"] = "HERE"
    text = json.dumps(asked)
    return [
        text.replace('"HERE"', value(size - len(text))).ljust(size).encode()
        for value in SHAPES.values()
    ]


def request(body: bytes) -> bytes:
    """Return the bytes of a request."""
    return HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body


def flood(
    server: Server, authority: Path, requests: Sequence[bytes], connections: int
) -> Counter[str]:
    """Send on each connection one of *requests*, all at once; count the statuses of the first answers, empty where none came."""

    def ask(number: int) -> str:
        with suppress(OSError), server.connect_tls(authority, timeout=20) as connection:
            sending = threading.Thread(
                target=_send, args=(connection.sendall, requests[number % len(requests)])
            )
            sending.start()
            try:
                status = connection.recv(12)[9:].decode()
                with suppress(OSError):
                    connection.settimeout(1)
                    while connection.recv(1 << 16):
                        pass
                return status
            finally:
                sending.join()
        return ""

    with ThreadPoolExecutor(connections) as clients:
        return Counter(clients.map(ask, range(connections)))


def _send(send: Callable[[bytes], None], data: bytes) -> None:
    with suppress(OSError):  # it was refused, and nobody reads the rest
        send(data)
