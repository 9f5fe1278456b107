"""Reviews of large pods, many at once: memory stays within its bound, and others are admitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.sockets.server import Server, admit, admitting

pytestmark = pytest.mark.sockets

MOST_MEGABYTES = 160.0
LARGEST = 3 << 20
AT_ONCE = 24


def texts(size: int) -> str:
    return ",".join(['"aa"'] * (size // 5))


SHAPES: dict[str, Callable[[int], str]] = {
    "a text": lambda size: '"' + "x" * (size - 2) + '"',
    "texts": lambda size: "[" + texts(size - 2) + "]",
    "objects and texts": lambda size: "[" + '{"":0},' * 50_000 + texts(size - 7 * 50_000) + "]",
    "keys": lambda size: "{" + ",".join(f'"{number:06}":0' for number in range((size - 2) // 11)) + "}",
}


def test_many_at_once_need_no_more_memory_than_the_container_has_and_others_are_admitted(
    own: Server, authority: Path, review: bytes
) -> None:
    bodies = []
    for value in SHAPES.values():
        asked = json.loads(review)
        asked["request"]["object"]["status"] = "HERE"
        text = json.dumps(asked)
        bodies.append(text.replace('"HERE"', value(LARGEST - len(text))).encode())

    def ask(number: int) -> int:
        with closing(own.client(authority, timeout=60)) as client:
            reply = admit(client, bodies[number % len(bodies)])
        assert reply.status != 503 or reply.headers["retry-after"] == "1"
        return reply.status

    with admitting(own, authority, review) as statuses, ThreadPoolExecutor(AT_ONCE) as clients:
        answered = list(clients.map(ask, range(AT_ONCE)))
    assert set(statuses) == {200}
    assert 503 in answered
    assert set(answered) <= {200, 408, 503}  # 408: sent more slowly than any API server does, by a busy machine
    assert [ask(number) for number in range(len(bodies))] == [200] * len(bodies)
    assert own.peak_megabytes() <= MOST_MEGABYTES
