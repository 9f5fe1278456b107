"""Reviews of large pods, many at once: memory stays within its bound, and others are admitted."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

from tests.sockets.flood import LARGEST, flood, large_reviews, request
from tests.sockets.server import Server, admit, admitting
from webhook.core.bounds import REVIEW_BYTES

MOST_MEGABYTES = 120.0
AT_ONCE = 24


def test_many_at_once_fit_the_memory_and_others_are_admitted(own: Server, review: bytes) -> None:
    bodies = large_reviews(review)

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
    sizes = (REVIEW_BYTES, LARGEST)
    requests = [request(body) for size in sizes for body in large_reviews(review, size)]
    for connections in (60, 60, 60, 200):
        assert flood(own, authority, requests, connections)["200"] > 0
    assert own.peak_megabytes() <= MOST_MEGABYTES
