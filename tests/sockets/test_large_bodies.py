"""Reviews of large pods, many at once: memory stays within its bound, and others are admitted."""

import json
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path

from tests.sockets.server import Server, admit, admitting
from webhook.core.bounds import REVIEW_BYTES

LARGEST = 3 << 20
MOST_MEGABYTES = 140.0
AT_ONCE = 24
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
SHAPES: list[Callable[[int], str]] = [
    lambda size: '"' + "x" * (size - 2) + '"',
    lambda size: "[" + ",".join(['"aa"'] * ((size - 2) // 5)) + "]",
    lambda size: "[" + ",".join(['{"":0}'] * ((size - 2) // 7)) + "]",
    lambda size: "{" + ",".join(f'"{each:06}":0' for each in range((size - 2) // 11)) + "}",
]
"""A text, texts, objects and keys of so many bytes: the shapes that need most memory."""


def large_reviews(review: bytes, size: int) -> list[bytes]:
    """Return a review of *size* bytes of each shape."""
    asked = json.loads(review)
    asked["request"]["object"]["status"] = "HERE"
    text = json.dumps(asked)
    return [
        text.replace('"HERE"', value(size - len(text))).ljust(size).encode() for value in SHAPES
    ]


def test_many_at_once_fit_the_memory_and_others_are_admitted(own: Server, review: bytes) -> None:
    bodies = large_reviews(review, LARGEST)

    def ask(number: int) -> int:
        with closing(own.client(timeout=60)) as client:
            reply = admit(client, bodies[number % len(bodies)])
        assert reply.status != 503 or reply.headers["retry-after"] == "1"
        return reply.status

    with admitting(own, review) as statuses, ThreadPoolExecutor(AT_ONCE) as clients:
        answered = list(clients.map(ask, range(AT_ONCE)))
    assert set(statuses) == {200}
    # 408: sent more slowly than any API server does, by a busy machine
    assert set(answered) <= {200, 408, 503}
    assert [ask(number) for number in range(len(bodies))] == [200] * len(bodies)
    assert own.peak_megabytes() <= MOST_MEGABYTES


def test_memory_stays_bounded_however_often(own: Server, authority: Path, review: bytes) -> None:
    bodies = [body for size in (REVIEW_BYTES, LARGEST) for body in large_reviews(review, size)]

    def ask(number: int) -> str:
        """Send a body whether or not it is read; return the status, empty where none came."""
        body = bodies[number % len(bodies)]
        with suppress(OSError), own.connect_tls(authority, timeout=20) as connection:
            sending = threading.Thread(target=send, args=(connection.sendall, body))
            sending.start()
            status = connection.recv(12)[9:].decode()
            sending.join()
            return status
        return ""

    def send(send_all: Callable[[bytes], None], body: bytes) -> None:
        with suppress(OSError):  # it was refused, and nobody reads the rest
            send_all(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)

    for connections in (60, 60, 200):
        with ThreadPoolExecutor(connections) as clients:
            assert Counter(clients.map(ask, range(connections)))["200"] > 0
    assert own.peak_megabytes() <= MOST_MEGABYTES
