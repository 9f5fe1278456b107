"""Labels of namespaces full of large pods, many at once: memory stays within its bound, and others are admitted."""

from __future__ import annotations

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import cache
from pathlib import Path

import pytest

from tests.core.validation.worlds import review as asked_about
from tests.fake_apiserver import NAMESPACES, Exchange, FakeApiServer
from tests.sockets.server import Server, admitting
from tests.sockets.test_profile_objects import cluster, put, start, wait_ready
from tests.sockets.test_validation import validate
from tests.worlds import namespace
from webhook.core.model import Object

__all__ = ["cluster", "start"]
pytestmark = pytest.mark.sockets

MOST_MEGABYTES = 160.0
AT_ONCE = 8
VARIABLES = 2000


@cache
def crowd(number: int) -> str:
    """Return a list of a tenant's pods, 28 KB each: many values of few bytes, as the API server takes them."""
    pods = [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"p-{each}", "namespace": "crowded", "uid": f"u-{each}"},
            "spec": {"containers": [{"name": "a", "image": "a", "env": [{"name": "A"}] * VARIABLES}]},
        }
        for each in range(number)
    ]
    return json.dumps({"kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": pods}, separators=(",", ":"))


def as_many_as_asked_for(exchange: Exchange) -> None:
    exchange.answer(200, crowd(int(exchange.request.query["limit"])))


def labelled(profile: str) -> Object:
    obj = namespace(profile=profile)
    obj["metadata"]["name"] = "crowded"
    return obj


def test_labels_of_crowded_namespaces_need_no_more_memory_than_the_container_has(
    cluster: FakeApiServer, start: Callable[[], Server], authority: Path, review: bytes
) -> None:
    put(cluster, "shared", "one")
    cluster.misbehave("get", f"{NAMESPACES}/crowded/pods", *[as_many_as_asked_for] * 10 * AT_ONCE)
    server = start()
    wait_ready(server)
    body = asked_about("namespaces", "UPDATE", labelled("shared"), labelled("none"))

    def relabel(_: int) -> int:
        with closing(server.client(authority, timeout=60)) as client:
            return validate(client, body).status

    with admitting(server, authority, review) as statuses, ThreadPoolExecutor(AT_ONCE) as clients:
        answered = list(clients.map(relabel, range(AT_ONCE)))
    assert set(answered) <= {200, 503}, "what comes too late for the API server is refused, and let in by it"
    assert 200 in answered
    assert set(statuses) == {200}
    assert server.peak_megabytes() <= MOST_MEGABYTES
