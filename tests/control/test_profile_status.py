"""The status of FabricProfiles: who writes it and when, what that asks, and what fails alone."""

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
    NOT_INSTALLED,
    FakeApiServer,
    hang,
    status,
    text,
)
from tests.tables import table
from tests.waiting import wait_until
from webhook.control import leader_loop
from webhook.control import profile_status as module
from webhook.control.profile_status import ProfileStatus
from webhook.core import names
from webhook.core.profiles import ClusterSettings, Multus

SHARED = {"networks": [{"network": "default/rdma", "resource": "rdma/hca"}]}
EMPTY = {"pods": "all"}
CONFIG = json.dumps({"type": "macvlan"})
CLAIMS = {"claims": [{"name": "nic", "requests": [{"name": "r", "deviceClassName": "dranet.net"}]}]}
GOOD = {"Ready": "True Usable", "NetworksFound": "True AllFound"}


class World:
    """An API server, and one writer of statuses, whose leadership and namespaces the test gives."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.leads = True
        self.questions = 0
        self.named: dict[str, str] | None = {}
        self.settings = ClusterSettings()
        self.date = datetime(2026, 1, 1, tzinfo=UTC)
        self.statuses = ProfileStatus(
            server.connection(),
            self.may_write,
            lambda: self.named,
            lambda: self.settings,
            own_namespace="fabric-injector",
            now=lambda: self.date,
        )

    def may_write(self) -> bool:
        self.questions += 1
        return self.leads

    def put(self, name: str = "a", generation: int = 1, spec: Any = SHARED, **more: Any) -> None:
        uid = f"uid-{name}"
        self.server.put(FABRIC_PROFILES, name, uid=uid, generation=generation, spec=spec, **more)

    def network(self, name: str = "rdma", namespace: str = "default") -> None:
        self.server.put(NETWORKS, name, namespace, annotations={}, spec={"config": CONFIG})

    def writes(self, name: str = "a") -> list[dict[str, Any]]:
        asked = self.server.asked("PATCH", f"{FABRIC_PROFILES}/{name}/status")
        return [json.loads(one.body)["status"] for one in asked]

    def told(self, name: str = "a") -> dict[str, str]:
        """Give the status and the reason of each condition that was written last."""
        written = self.writes(name)[-1:]
        conditions = [each for last in written for each in last["conditions"]]
        return {each["type"]: f"{each['status']} {each['reason']}" for each in conditions}

    def looks(self) -> int:
        """Count the lists of networks and DeviceClasses so far."""
        return sum(len(self.server.asked("list", path)) for path in (NETWORKS, DEVICE_CLASSES))


@pytest.fixture
def world(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(leader_loop, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(leader_loop, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(module, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(ProfileStatus, "rest", 0.0)
    return World(server)


@contextmanager
def running(part: Any) -> Iterator[None]:
    part.start()
    try:
        yield
    finally:
        part.stop()


def test_writes_what_it_found_and_then_nothing_more(world: World) -> None:
    world.put()
    world.network()
    world.named = {"ml": "a", "team": "a", "other": "b", "off": "none"}
    with running(world.statuses):
        wait_until(lambda: world.told() == GOOD, "the status")
        (written,) = world.writes()
        assert (written["observedGeneration"], written["namespaces"]) == (1, 2)
        times = {each["lastTransitionTime"] for each in written["conditions"]}
        assert times == {"2026-01-01T00:00:00Z"}
        for _ in range(3):
            looks = world.looks()
            world.statuses.wake()
            wait_until(lambda: world.looks() > looks, "another look")  # noqa: B023  # at once
        assert len(world.writes()) == 1


def test_follows_generation_networks_and_labels(world: World) -> None:
    world.put(spec={"networks": [{"network": "rdma", "resource": "rdma/hca"}]})
    first = {"Ready": "True Usable", "NetworksFound": "Unknown NoNamespace"}
    with running(world.statuses):
        wait_until(lambda: world.told() == first, "the first status")
        world.date = datetime(2026, 1, 2, tzinfo=UTC)
        world.named = {"ml": "a", "kube-system": "a", "fabric-injector": "a"}
        world.statuses.wake()
        missing = "False NetworkMissing"
        wait_until(lambda: world.told()["NetworksFound"] == missing, "the missing network")
        last = world.writes()[-1]
        assert last["namespaces"] == 3
        told = "network rdma does not exist (for pods of ml)"
        assert last["conditions"][1]["message"].startswith(told), "others' pods are never sent"
        world.network(namespace="ml")
        world.statuses.wake()
        wait_until(lambda: world.told() == GOOD, "the network")
        world.put(generation=2)
        wait_until(lambda: world.writes()[-1]["observedGeneration"] == 2, "the other content")


def test_follows_how_multus_is_configured(world: World) -> None:
    world.put(spec={"networks": [{"network": "rails/rail-0", "resource": "rdma/hca"}]})
    world.network("rail-0", "rails")
    world.named = {"ml": "a"}
    isolated = dict.fromkeys(GOOD, "False NetworkIsolated")
    with running(world.statuses):
        for names_, told in (((), isolated), (("rails",), GOOD)):
            multus = Multus(namespace_isolation=True, global_namespaces=names_)
            world.settings = ClusterSettings(multus)
            world.statuses.wake()
            wait_until(lambda told=told: world.told() == told, str(told))  # type: ignore[misc]


def test_looks_again_by_itself_soon_where_something_lacks(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "UNSOUND_SECONDS", 0.05)
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told().get("Ready") == "False NetworkMissing", "what lacks")
        world.network()
        wait_until(lambda: world.told() == GOOD, "what was mended", 20)


def test_content_that_is_refused_stands_beside_good_ones(world: World) -> None:
    world.put("bad", spec={"networks": [{"network": "a/b", "resource": "rdma/a rdma/b"}]})
    world.put("empty", spec=EMPTY)
    with running(world.statuses):
        wait_until(lambda: world.told("bad") and world.told("empty"), "both")
    assert world.told("bad")["Ready"] == "False ContentRefused"
    assert "spec.networks[0].resource" in world.writes("bad")[0]["conditions"][0]["message"]
    assert world.told("empty")["Ready"] == "True Usable"
    assert world.looks() == 0, "nobody needs them"


def test_of_two_profiles_with_the_same_pod_labels_the_later_is_not_ready(world: World) -> None:
    for name, team in (("b", "vision"), ("a", "vision"), ("c", "speech")):
        world.put(name, spec={"podLabels": {"team": team}})
    with running(world.statuses):
        wait_until(lambda: all(world.told(name) for name in "abc"), "all")
    told = [world.told(name)["Ready"] for name in "abc"]
    assert told == ["True Usable", "False PodLabelsTaken", "True Usable"]


def test_the_api_server_judges_a_claim_once(world: World) -> None:
    world.server.put(DEVICE_CLASSES, "dranet.net")
    world.put(spec=CLAIMS)
    with running(world.statuses):
        wait_until(lambda: world.told().get("ClaimsUsable") == "True AllFound", "the status")
        world.statuses.wake()
        wait_until(lambda: len(world.server.asked("list", DEVICE_CLASSES)) == 2, "another look")
    [tried] = world.server.asked("PATCH", "/apis/resource.k8s.io/v1/namespaces/fabric-injector")
    assert tried.query["dryRun"] == "All"


def test_writes_nothing_and_asks_nothing_while_another_leads(world: World) -> None:
    world.leads = False
    world.put()
    world.network()
    with running(world.statuses):
        wait_until(lambda: world.server.asked("watch", FABRIC_PROFILES), "the watch")
        world.statuses.wake()
        before = world.questions
        wait_until(lambda: world.questions > before + 2, "more looks at the Lease")
        assert world.looks() == 0
        world.leads = True
        wait_until(lambda: world.told() == GOOD, "the status")
    assert len(world.writes()) == 1


def test_a_status_that_somebody_else_changed_is_put_right(world: World) -> None:
    world.put(spec=EMPTY)
    with running(world.statuses):
        wait_until(lambda: len(world.writes()) == 1, "the status")
        world.put(spec=EMPTY, status={"namespaces": 7, "conditions": [{"type": "Other"}]})
        wait_until(lambda: len(world.writes()) == 2, "it once more")
        assert set(world.told()) == set(GOOD)


def test_one_refused_or_gone_stops_no_other(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/a/status", status(422, "no"))
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/b/status", status(404, "gone"))
    world.server.misbehave("PATCH", f"{FABRIC_PROFILES}/c/status", *[status(503, "down")] * 100)
    for name in "abcd":
        world.put(name, spec=EMPTY)
    with running(world.statuses):
        wait_until(lambda: world.told("d"), "the fourth")
        wait_until(lambda: len(world.writes("c")) > 1, "another try")
        assert len(world.writes("d")) == 1
    assert "the status of profiles is not written: PATCH" in caplog.text
    assert "fabricprofiles/b" not in caplog.text


@table(
    "answers, told",
    {
        "forbidden": ([status(403)], "Unknown NotRead"),
        "not installed": ([text(404, NOT_INSTALLED)], "False MultusMissing"),
        "down for a moment": ([status(503)], "True AllFound"),
    },
)
def test_what_the_api_server_answers(world: World, answers: list[Any], told: str) -> None:
    world.server.misbehave("list", NETWORKS, *answers)
    world.network()
    world.put()
    with running(world.statuses):
        wait_until(lambda: world.told(), "the status", 20)
    assert world.told()["NetworksFound"] == told
    assert len(world.writes()) == 1


def test_ends_at_once_while_it_looks_and_writes_nothing_more() -> None:
    with FakeApiServer() as server:
        world = World(server)
        server.misbehave("list", NETWORKS, hang)
        world.put()
        with running(world.statuses):
            wait_until(lambda: server.asked("list", NETWORKS), "the list that hangs")
        assert world.statuses._thread.is_alive(), "nobody waits for the list"
    world.statuses._thread.join(20)
    assert not world.statuses._thread.is_alive()
    assert world.writes() == []


def test_the_controller_tells_which_namespaces_name_which_profile(server: FakeApiServer) -> None:
    pods = Pods(server)
    assert pods.controller.profiles_named() is None
    rails = {names.PROFILE: "rails"}
    server.put(NAMESPACES, "team", labels=rails)
    server.put(NAMESPACES, "ending", labels=rails, deletionTimestamp="2026-01-01T00:00:00Z")
    server.put(NAMESPACES, "other", labels={})
    with running(pods.controller):
        for told in ("rails", "shared"):
            server.put(NAMESPACES, "team", labels={names.PROFILE: told})
            known = {"ml": "shared", "team": told}
            wait_until(lambda: pods.controller.profiles_named() == known, told)  # noqa: B023
