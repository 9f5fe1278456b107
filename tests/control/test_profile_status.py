"""The status of FabricProfiles: who writes it and when, what is asked of the API server for it, and what fails alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

import pytest

from tests.control.test_controller import World as Pods
from tests.fake_apiserver import (
    DEVICE_CLASSES,
    FABRIC_PROFILES,
    NAMESPACES,
    NETWORKS,
    NODES,
    NOT_INSTALLED,
    FakeApiServer,
    hang,
    status,
    text,
)
from tests.waiting import wait_until
from webhook.control import leader_loop
from webhook.control import profile_status as module
from webhook.control.profile_status import ProfileStatus
from webhook.core import names
from webhook.core.profiles import ClusterSettings, Multus

SHARED = {"networks": [{"network": "default/rdma", "resource": "rdma/hca"}]}
CONFIG = json.dumps({"type": "macvlan"})


class World:
    """An API server, and one writer of statuses, whose leadership and namespaces the test gives and takes."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.leads = True
        self.questions = 0
        self.named: dict[str, str] | None = {}
        self.settings = ClusterSettings()
        self.date = datetime(2026, 1, 1, tzinfo=UTC)
        self.statuses = self.writer(period_seconds=3600, unsound_seconds=3600)

    def writer(self, **settings: Any) -> ProfileStatus:
        return ProfileStatus(
            self.server.connection(),
            self.may_write,
            lambda: self.named,
            lambda: self.settings,
            own_namespace="fabric-injector",
            now=lambda: self.date,
            **settings,
        )

    def may_write(self) -> bool:
        self.questions += 1
        return self.leads

    def put(self, name: str = "a", generation: int = 1, spec: Any = None, **more: Any) -> None:
        self.server.put(
            FABRIC_PROFILES,
            name,
            uid=f"uid-{name}",
            generation=generation,
            spec=spec or SHARED,
            **more,
        )

    def network(self, name: str = "rdma", namespace: str = "default", **annotations: str) -> None:
        self.server.put(NETWORKS, name, namespace, annotations=annotations, spec={"config": CONFIG})

    def node(self, name: str, **allocatable: str) -> None:
        offered = {key.replace("__", "/"): value for key, value in allocatable.items()}
        self.server.put(NODES, name, labels={}, status={"allocatable": offered})

    def writes(self, name: str = "a") -> list[dict[str, Any]]:
        return [
            json.loads(one.body)["status"]
            for one in self.server.asked("PATCH", f"{FABRIC_PROFILES}/{name}/status")
        ]

    def told(self, name: str = "a") -> dict[str, str]:
        """Give the reason of each condition that was written last, before it its status."""
        written = self.writes(name)
        return (
            {
                each["type"]: f"{each['status']} {each['reason']}"
                for each in written[-1]["conditions"]
            }
            if written
            else {}
        )

    def asked(self) -> dict[str, int]:
        """Count the lists so far."""
        return {
            path.rpartition("/")[2]: len(self.server.asked("list", path))
            for path in (NETWORKS, NODES, DEVICE_CLASSES)
        }


@pytest.fixture
def world(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(leader_loop, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(leader_loop, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(module, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(module, "REST", 0.0)
    return World(server)


@contextmanager
def running(statuses: ProfileStatus) -> Iterator[None]:
    statuses.start()
    try:
        yield
    finally:
        statuses.stop()


GOOD = {
    "Ready": "True Usable",
    "NetworksFound": "True AllFound",
    "DevicesOffered": "True AllOffered",
}


def test_writes_what_it_found_and_then_nothing_more(world: World) -> None:
    world.put()
    world.network()
    world.node("n", rdma__hca="8")
    world.named = {"ml": "a", "team": "a", "other": "b", "off": "none"}
    with running(world.statuses):
        wait_until(lambda: world.told() == GOOD, "the status")
        (written,) = world.writes()
        assert written["observedGeneration"] == 1
        assert written["namespaces"] == 2
        assert {each["lastTransitionTime"] for each in written["conditions"]} == {
            "2026-01-01T00:00:00Z"
        }
        asked = world.asked()
        for _ in range(3):
            before = len(world.server.asked("list", NETWORKS))
            world.statuses.wake()
            wait_until(
                lambda before=before: len(world.server.asked("list", NETWORKS)) > before,  # type: ignore[misc]
                "another look",
            )
        assert len(world.writes()) == 1
        assert asked == {"network-attachment-definitions": 1, "nodes": 1, "deviceclasses": 0}, (
            "our own write wakes nobody"
        )
        assert world.asked()["nodes"] == 1, "what is offered is not looked for again at once"


def test_follows_generation_networks_and_labels(world: World) -> None:
    world.put(spec={"networks": [{"network": "rdma", "resource": "rdma/hca"}]})
    world.node("n", rdma__hca="8")
    with running(world.statuses):
        wait_until(
            lambda: world.told().get("NetworksFound") == "Unknown NoNamespace", "the first status"
        )
        assert world.told()["Ready"] == "True Usable"
        world.date = datetime(2026, 1, 2, tzinfo=UTC)
        world.named = {"ml": "a", "kube-system": "a", "fabric-injector": "a"}
        world.statuses.wake()
        wait_until(
            lambda: world.told().get("NetworksFound") == "False NetworkMissing",
            "the missing network",
        )
        last = world.writes()[-1]
        assert last["namespaces"] == 3
        times = {each["type"]: each["lastTransitionTime"] for each in last["conditions"]}
        assert times == {
            "Ready": "2026-01-02T00:00:00Z",
            "NetworksFound": "2026-01-02T00:00:00Z",
            "DevicesOffered": "2026-01-01T00:00:00Z",
        }
        found = next(each for each in last["conditions"] if each["type"] == "NetworksFound")
        assert found["message"].startswith("network rdma does not exist (for pods of ml)"), (
            "pods of the others are never sent"
        )
        world.network(namespace="ml")
        world.statuses.wake()
        wait_until(lambda: world.told() == GOOD, "the network")
        world.put(generation=2)
        wait_until(lambda: world.writes()[-1]["observedGeneration"] == 2, "the other content")


def test_follows_how_multus_is_configured(world: World) -> None:
    world.put(spec={"networks": [{"network": "rails/rail-0", "resource": "rdma/hca"}]})
    world.network("rail-0", "rails")
    world.node("n", rdma__hca="8")
    world.named = {"ml": "a"}
    with running(world.statuses):
        wait_until(lambda: world.told() == GOOD, "the first status")
        world.settings = ClusterSettings(Multus(namespace_isolation=True))
        world.statuses.wake()
        wait_until(
            lambda: world.told().get("Ready") == "False NetworkIsolated", "the other configuration"
        )
        assert world.told()["NetworksFound"] == "False NetworkIsolated"
        world.settings = ClusterSettings(
            Multus(namespace_isolation=True, global_namespaces=("rails",))
        )
        world.statuses.wake()
        wait_until(lambda: world.told() == GOOD, "one that lets the pods have it")


def test_looks_again_by_itself_soon_where_something_lacks(world: World) -> None:
    world.put()
    with running(world.writer(period_seconds=3600, unsound_seconds=0.05)):
        wait_until(lambda: world.told().get("Ready") == "False NetworkMissing", "what lacks")
        assert world.told()["DevicesOffered"] == "False NoNodeOffers"
        world.network()
        world.node("n", rdma__hca="1")
        wait_until(lambda: world.told() == GOOD, "what was mended", 20)


def test_content_that_is_refused_stands_beside_good_ones(world: World) -> None:
    world.put("bad", spec={"networks": [{"network": "a/b", "resource": "rdma/a,rdma/a"}]})
    world.put("empty", spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: world.told("bad") and world.told("empty"), "both")
    assert world.told("bad")["Ready"] == "False ContentRefused"
    assert "spec.networks[0].resource" in world.writes("bad")[0]["conditions"][0]["message"]
    assert world.told("empty")["Ready"] == "True Usable"
    assert world.asked() == {"network-attachment-definitions": 0, "nodes": 0, "deviceclasses": 0}, (
        "nobody needs them"
    )


def test_of_two_profiles_with_the_same_pod_labels_the_later_is_not_ready(world: World) -> None:
    for name in ("b", "a", "c"):
        world.put(name, spec={"podLabels": {"team": "vision" if name != "c" else "speech"}})
    with running(world.statuses):
        wait_until(lambda: all(world.told(name) for name in "abc"), "all")
    assert [world.told(name)["Ready"] for name in "abc"] == [
        "True Usable",
        "False PodLabelsTaken",
        "True Usable",
    ]
    assert "a has the same" in world.writes("b")[0]["conditions"][0]["message"]


def test_writes_nothing_and_asks_nothing_while_another_leads(world: World) -> None:
    world.leads = False
    world.put()
    world.network()
    world.node("n", rdma__hca="8")
    with running(world.statuses):
        wait_until(lambda: world.server.asked("watch", FABRIC_PROFILES), "the watch")
        world.statuses.wake()
        before = world.questions
        wait_until(lambda: world.questions > before + 2, "more looks at the Lease")
        assert world.asked() == {
            "network-attachment-definitions": 0,
            "nodes": 0,
            "deviceclasses": 0,
        }
        world.leads = True
        wait_until(lambda: world.told() == GOOD, "the status")
    assert len(world.writes()) == 1


def test_waits_until_the_namespaces_are_known(world: World) -> None:
    world.named = None
    world.put(spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: world.server.asked("watch", FABRIC_PROFILES), "the watch")
        world.named = {"ml": "a"}
        wait_until(lambda: world.told(), "the status")
    assert [each["namespaces"] for each in world.writes()] == [1]


def test_a_status_that_somebody_else_changed_is_put_right(world: World) -> None:
    world.put(spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: len(world.writes()) == 1, "the status")
        world.put(
            spec={"pods": "all"},
            status={"namespaces": 7, "conditions": [{"type": "Other", "status": "True"}]},
        )
        wait_until(lambda: len(world.writes()) == 2, "it once more")
        assert [each["type"] for each in world.writes()[-1]["conditions"]] == [
            "Ready",
            "NetworksFound",
            "DevicesOffered",
        ]


@pytest.mark.parametrize(
    "answer", [status(409, "modified"), status(503, "down"), status(429, "slow"), status(500, "x")]
)
def test_a_failed_write_is_repeated(
    world: World, answer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/a/status", answer)
    world.put(spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: len(world.writes()) == 2, "another write", 20)
    assert world.told()["Ready"] == "True Usable"


def test_one_refused_or_gone_stops_no_other(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/a/status", status(422, "no"))
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/b/status", status(404, "gone"))
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/c/status", *[status(503, "down")] * 100)
    for name in "abcd":
        world.put(name, spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: world.told("d"), "the fourth")
        wait_until(lambda: len(world.writes("c")) > 1, "another try")
        assert len(world.writes("d")) == 1
    assert "the status of profiles is not written: PATCH" in caplog.text
    assert "fabricprofiles/b" not in caplog.text


def test_stops_at_nodes_once_all_is_found(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "NODES_A_PAGE", 5)
    world.server.groups["/apis/resource.k8s.io"] = ["v1"]
    world.network()
    world.put()
    for number in range(50):
        world.node(f"n-{number:02}", **({"rdma__hca": "8"} if number == 7 else {}))
    with running(world.statuses):
        wait_until(lambda: world.told() == GOOD, "the status")
        assert world.asked()["nodes"] == 2, "the second page holds it"
        world.put("b", spec={"container": {"resources": {"limits": {"rdma/other": 1}}}})
        wait_until(
            lambda: world.told("b").get("DevicesOffered") == "False NoNodeOffers",
            "what no node offers",
        )
        assert world.asked() == {
            "network-attachment-definitions": 2,
            "nodes": 12,
            "deviceclasses": 1,
        }


def test_a_device_class_that_offers_the_resource_makes_it_unknown(world: World) -> None:
    world.server.groups["/apis/resource.k8s.io"] = ["v1"]
    cel = {"cel": {"expression": "device.attributes['x'].fast"}}
    world.server.put(
        DEVICE_CLASSES, "nic", spec={"extendedResourceName": "rdma/hca", "selectors": [cel]}
    )
    world.network()
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told(), "the status")
    assert world.told() == {**GOOD, "DevicesOffered": "Unknown DeviceClassOffers"}


def test_what_may_not_be_read_is_unknown(world: World) -> None:
    for path in (NETWORKS, NODES):
        world.server.misbehave("list", path, status(403, "forbidden"))
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told(), "the status")
    assert world.told() == {
        "Ready": "True Usable",
        "NetworksFound": "Unknown NotRead",
        "DevicesOffered": "Unknown NotRead",
    }


def test_an_api_server_that_is_down_for_a_moment_changes_no_status(world: World) -> None:
    world.server.misbehave("list", NETWORKS, status(503, "starting"))
    world.server.misbehave("list", NODES, status(503, "starting"))
    world.network()
    world.node("n", rdma__hca="8")
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told(), "the status")
    assert world.told() == GOOD
    assert len(world.writes()) == 1


def test_what_gets_no_answer_for_long_is_unknown(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "PATIENCE", 1)
    world.server.misbehave("list", NODES, *[status(500, "broken")] * 20)
    world.network()
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told(), "the status")
    assert world.told() == {**GOOD, "DevicesOffered": "Unknown NotRead"}


def test_without_multus_no_network_is_found(world: World) -> None:
    world.server.misbehave("list", NETWORKS, text(404, NOT_INSTALLED))
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told().get("NetworksFound") == "False MultusMissing", "the status")


def test_a_missing_definition_is_said_once_and_addresses_are_published(
    server: FakeApiServer, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    server.misbehave("list", FABRIC_PROFILES, *[text(404, NOT_INSTALLED)] * 3)
    pods = Pods(server)
    world = World(server)
    world.statuses._profiles._pause = lambda _seconds: None
    pods.put("m-a", "10.0.0.1")
    pods.controller.start()
    try:
        with running(world.statuses):
            wait_until(lambda: pods.told() == {"m-a": "10.0.0.1"}, "the address")
            wait_until(lambda: server.asked("watch", FABRIC_PROFILES), "the definition")
            assert caplog.text.count("watch of fabricprofiles") == 1
    finally:
        pods.controller.stop()


def test_a_write_that_hangs_holds_no_address_up(server: FakeApiServer) -> None:
    server.misbehave("PATCH", f"{FABRIC_PROFILES}/a/status", *[hang] * 10)
    pods, world = Pods(server), World(server)
    world.put(spec={"pods": "all"})
    with running(world.statuses):
        wait_until(lambda: world.writes(), "the write that hangs")
        pods.controller.start()
        pods.put("m-a", "10.0.0.1")
        try:
            wait_until(lambda: pods.told() == {"m-a": "10.0.0.1"}, "the address")
            assert len(world.writes()) < 10, "it hangs still"
        finally:
            pods.controller.stop()


def test_ends_at_once_while_it_looks_and_writes_nothing_more() -> None:
    with FakeApiServer() as server:
        world = World(server)
        server.misbehave("list", NODES, hang)
        world.network()
        world.put()
        with running(world.statuses):
            wait_until(lambda: server.asked("list", NODES), "the list that hangs")
        assert world.statuses._loop._thread.is_alive(), "nobody waits for the list"
    world.statuses._loop._thread.join(20)
    assert not world.statuses._loop._thread.is_alive()
    assert world.writes() == []


def test_the_controller_tells_which_namespaces_name_which_profile(server: FakeApiServer) -> None:
    pods = Pods(server)
    assert pods.controller.profiles_named() is None
    server.put(NAMESPACES, "team", labels={names.PROFILE: "rails"})
    server.put(
        NAMESPACES,
        "ending",
        labels={names.PROFILE: "rails"},
        deletionTimestamp="2026-01-01T00:00:00Z",
    )
    server.put(NAMESPACES, "other", labels={})
    pods.controller.start()
    try:
        wait_until(
            lambda: pods.controller.profiles_named() == {"ml": "shared", "team": "rails"},
            "the namespaces",
        )
        server.put(NAMESPACES, "team", labels={names.PROFILE: "shared"})
        wait_until(
            lambda: pods.controller.profiles_named() == {"ml": "shared", "team": "shared"},
            "the other label",
        )
    finally:
        pods.controller.stop()
