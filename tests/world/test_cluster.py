"""What a cluster answers, from watches and from live look-ups."""

import json
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tests.fake_apiserver import (
    FABRIC_PROFILES,
    NAMESPACES,
    NETWORKS,
    NOT_INSTALLED,
    Exchange,
    FakeApiServer,
    hang,
    status,
    text,
)
from tests.waiting import Clock, wait_until
from webhook.core import names
from webhook.core.errors import Unavailable
from webhook.core.model import Namespace
from webhook.world.active_profiles import ActiveProfiles
from webhook.world.cluster import MOST_LOOKUPS, Cluster
from webhook.world.lookup import NotCached
from webhook.world.profile_objects import ProfileObjects

CONFIG = json.dumps({"type": "macvlan", "ipam": {"type": "whereabouts", "range": "192.168.1.0/24"}})
RAIL = "/apis/k8s.cni.cncf.io/v1/namespaces/ml/network-attachment-definitions/rail-0"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def cluster(server: FakeApiServer, clock: Clock) -> Iterator[Cluster]:
    cluster = Cluster(server.connection(), monotonic=clock)
    yield cluster
    cluster.stop()


@pytest.fixture
def watched(server: FakeApiServer, cluster: Cluster) -> Cluster:
    return started(server, cluster)


def started(server: FakeApiServer, cluster: Cluster) -> Cluster:
    cluster.start()
    wait_until(lambda: len(server.asked("watch")) == 2, "both watches")
    return cluster


def test_answers_from_watches_without_a_question(server: FakeApiServer, cluster: Cluster) -> None:
    server.put(NAMESPACES, "ml", labels={names.PROFILE: "hostdev"}, annotations={"a": "b"})
    server.put(
        NETWORKS,
        "rail-0",
        "ml",
        annotations={names.RESOURCE_NAME: "nvidia.com/hostdev"},
        spec={"config": CONFIG},
    )
    started(server, cluster)
    assert cluster.namespace("ml") == Namespace("ml", {names.PROFILE: "hostdev"})
    network = cluster.network("ml", "rail-0")
    assert network
    assert (network.namespace, network.name, network.resources) == (
        "ml",
        "rail-0",
        ("nvidia.com/hostdev",),
    )
    assert network.has_ipam
    assert server.asked("get") == []
    assert cluster.checks() == {"namespaces": "", "network-attachment-definitions": ""}


def test_a_namespace_being_deleted_has_no_profile(server: FakeApiServer, cluster: Cluster) -> None:
    server.put(
        NAMESPACES,
        "ending",
        labels={names.PROFILE: "old"},
        deletionTimestamp="2026-01-01T00:00:00Z",
    )
    server.put(NAMESPACES, "ml", labels={names.PROFILE: "hostdev"})
    assert cluster.names_profile("old"), "not known yet"
    started(server, cluster)
    assert [cluster.names_profile(name) for name in ("old", "hostdev", "other")] == [
        False,
        True,
        False,
    ]


def test_asks_once_for_what_no_watch_has_brought(server: FakeApiServer, cluster: Cluster) -> None:
    server.put(NAMESPACES, "ml", labels={names.PROFILE: "hostdev"})
    server.put(NETWORKS, "rail-0", "ml", spec={"config": CONFIG})
    for _ in range(3):
        assert cluster.namespace("ml") == Namespace("ml", {names.PROFILE: "hostdev"})
        network = cluster.network("ml", "rail-0")
        assert network
        assert network.has_ipam
    assert [request.path for request in server.requests] == [f"{NAMESPACES}/ml", RAIL]
    assert "as=PartialObjectMetadata;" in server.requests[0].headers["Accept"]


def test_slow_networks_hold_up_no_namespace(server: FakeApiServer, cluster: Cluster) -> None:
    server.put(NAMESPACES, "ml", labels={names.PROFILE: "hostdev"})
    go = threading.Event()

    def slow(exchange: Exchange) -> None:
        go.wait(5)
        status(404, "not found")(exchange)

    networks = [f"rail-{number}" for number in range(MOST_LOOKUPS)]
    for name in networks:
        server.misbehave("get", RAIL.replace("rail-0", name), slow)
    asking = [threading.Thread(target=cluster.network, args=("ml", name)) for name in networks]
    for thread in asking:
        thread.start()
    wait_until(
        lambda: len(server.requests) == MOST_LOOKUPS,
        "as many networks as may be asked for at a time",
    )
    try:
        assert cluster.namespace("ml") == Namespace("ml", {names.PROFILE: "hostdev"})
    finally:
        go.set()
        for thread in asking:
            thread.join()


def test_says_absent_where_the_server_says_so(server: FakeApiServer, cluster: Cluster) -> None:
    assert cluster.namespace("none") is None
    assert cluster.fresh_namespace("none") is None
    assert cluster.network("ml", "none") is None
    server.misbehave("get", RAIL, text(404, NOT_INSTALLED))
    assert cluster.network("ml", "rail-0") is None


@pytest.mark.parametrize(
    "behaviour",
    [
        pytest.param(status(403, "forbidden"), id="forbidden"),
        pytest.param(status(401, "unauthorized"), id="unauthorized"),
        pytest.param(status(429, "full"), id="throttled"),
        pytest.param(status(500, "etcd"), id="broken"),
        pytest.param(hang, id="silent"),
        pytest.param(text(200, "<html>"), id="not an object"),
        pytest.param(text(200, '{"kind": "Status"}'), id="another object"),
    ],
)
def test_says_that_it_cannot_know_without_an_answer(server: FakeApiServer, behaviour: Any) -> None:
    cluster = Cluster(server.connection(), lookup_seconds=0.2)
    path = f"{NAMESPACES}/ml"
    server.misbehave("get", path, behaviour, behaviour)
    with pytest.raises(Unavailable, match=f"^GET {path}"):
        cluster.namespace("ml")


@pytest.mark.parametrize(
    "name", ["", "..", "../../v1/secrets/x", "Rail-0", "-rail", "a/b", "a b", "ü", "x" * 254]
)
def test_asks_for_no_name_that_cannot_be(
    server: FakeApiServer, cluster: Cluster, name: str
) -> None:
    assert cluster.network("ml", name) is None
    assert cluster.network(name or "A", "rail-0") is None
    assert cluster.namespace(name) is None
    assert server.requests == []


def test_prefers_the_watch_s_news_to_an_answer(server: FakeApiServer, watched: Cluster) -> None:
    assert watched.network("ml", "rail-0") is None
    server.put(NETWORKS, "rail-0", "ml", spec={"config": CONFIG})
    wait_until(lambda: watched.network("ml", "rail-0"), "the network")
    server.delete(NETWORKS, "rail-0", "ml")
    wait_until(lambda: watched.network("ml", "rail-0") is None, "its end")
    assert [request.path for request in server.asked("get")] == [RAIL, RAIL]


def test_sees_a_label_before_the_watch_brings_it(server: FakeApiServer, cluster: Cluster) -> None:
    server.put(NAMESPACES, "ml")
    server.misbehave("watch", NAMESPACES, hang)
    cluster.start()
    wait_until(lambda: server.asked("watch", NAMESPACES), "the watch that brings nothing")
    server.put(NAMESPACES, "ml", labels={names.PROFILE: "hostdev"})
    assert cluster.namespace("ml") == Namespace("ml", {})
    assert cluster.fresh_namespace("ml") == Namespace("ml", {names.PROFILE: "hostdev"})
    assert cluster.namespace("ml") == Namespace("ml", {names.PROFILE: "hostdev"})
    assert len(server.asked("get")) == 1


def test_serves_the_last_known_state_when_the_server_is_gone(
    clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    with FakeApiServer() as server:
        server.put(NAMESPACES, "ml")
        server.put(NETWORKS, "rail-0", "ml", spec={"config": CONFIG})
        cluster = started(server, Cluster(server.connection(), monotonic=clock))
    try:
        assert cluster.namespace("ml") == Namespace("ml")
        assert cluster.network("ml", "rail-0")
        with pytest.raises(Unavailable):
            cluster.network("ml", "rail-1")
        with pytest.raises(Unavailable):
            cluster.fresh_namespace("ml")
        assert set(cluster.checks().values()) == {""}
        lost = "namespaces: Failed to establish"
        wait_until(lambda: lost in caplog.text, "the watch to end, whose answer may come late")
        clock.now += 481
        wait_until(lambda: "refused" in cluster.checks()["namespaces"], "the reason")
        assert cluster.checks()["namespaces"].startswith(
            "no contact with the API server for 481 s (GET /api/v1/namespaces: "
        )
    finally:
        cluster.stop()


def test_is_ready_without_multus(server: FakeApiServer, cluster: Cluster) -> None:
    server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    server.misbehave("get", RAIL, text(404, NOT_INSTALLED))
    cluster.start()
    wait_until(lambda: set(cluster.checks().values()) == {""}, "readiness")
    assert cluster.network("ml", "rail-0") is None


PROFILE = f"{FABRIC_PROFILES}/new"


@pytest.mark.parametrize(
    ("spec", "is_new"), [({}, True), ({"networks": 5}, False), (None, False)], ids=repr
)
def test_asks_for_a_profile_that_the_watch_has_not_brought(
    server: FakeApiServer, cluster: Cluster, spec: Any, is_new: bool
) -> None:
    """One that cannot be used, or does not exist, is no news."""
    if spec is not None:
        server.put(FABRIC_PROFILES, "new", spec=spec)
    assert not cluster.has_profile("new"), "where a file holds the profiles, nothing is asked"
    follow(cluster)
    with pytest.raises(NotCached):
        cluster.cached.has_profile("new")
    assert cluster.has_profile("new") == is_new
    assert [request.path for request in server.requests] == [PROFILE]


def test_asks_for_no_profile_that_the_watch_has_brought(
    server: FakeApiServer, cluster: Cluster
) -> None:
    server.put(FABRIC_PROFILES, "bad", spec={"networks": 5})
    profiles = follow(cluster)
    profiles.start()
    wait_until(lambda: profiles.synced, "the profiles")
    assert not cluster.cached.has_profile("bad")
    server.put(FABRIC_PROFILES, "bad", spec={})
    wait_until(lambda: cluster.cached.has_profile("bad"), "the mended one")
    profiles.stop()
    assert server.asked("get") == []


def follow(cluster: Cluster) -> ProfileObjects:
    return cluster.follow_profiles(ActiveProfiles())
