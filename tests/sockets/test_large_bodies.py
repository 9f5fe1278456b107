"""Reviews of large pods, many at once: memory stays within its bound, and others are admitted."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from tests.sockets.server import Server, admit, admitting

LARGEST = 3 << 20
MOST_MEGABYTES = 140.0
AT_ONCE = 24
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
