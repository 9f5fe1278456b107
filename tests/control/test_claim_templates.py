"""The keeper of ResourceClaimTemplates: what it makes, removes and leaves alone."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.core.builders import profile
from tests.fake_apiserver import (
    CLAIM_TEMPLATES,
    NOT_INSTALLED,
    PODS,
    Behaviour,
    FakeApiServer,
    hang,
    status,
    text,
)
from tests.tables import table
from tests.waiting import Clock, wait_until
from webhook.control import claim_templates as module
from webhook.control import leader_loop
from webhook.control.claim_templates import UNNEEDED_SECONDS, ClaimTemplates
from webhook.core.claim_templates import make_template, template_name, template_spec
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim
from webhook.kube import connection

NIC = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))
RAIL = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com"),))
NAME = template_name(NIC)
LABELS = {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"}


def cards(*claims: ProfileClaim, **tweaks: Any) -> Profile:
    return profile(name="cards", claims=claims or (NIC,), **tweaks)


class World:
    """An API server, and a keeper, whose leadership, profiles and namespaces the test gives."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server, self.clock = server, Clock()
        self.leads = True
        self.named: dict[str, str] | None = {}
        self.keeper = ClaimTemplates(
            server.connection(),
            lambda: self.leads,
            lambda: self.named,
            own_namespace="fabric-injector",
            monotonic=self.clock,
        )

    def give(self, *namespaces: str, **profiles: Profile | None) -> None:
        """Put profiles in force, and have these namespaces name profile ``cards``."""
        self.keeper.put(profiles or {"cards": cards()})
        self.named = dict.fromkeys(namespaces, "cards")
        self.keeper.wake()

    def there(self) -> set[tuple[str, str]]:
        return set(self.server._collections[CLAIM_TEMPLATES].objects)

    def wait_for(self, *expected: tuple[str, str]) -> None:
        wait_until(lambda: self.there() == set(expected), f"{expected}", 20)

    def look(self, seconds: float = 0.0) -> None:
        """Let time go by, and wait until all has been judged after it: a new namespace tells."""
        self.clock.now += seconds
        new = f"seen-{len(self.named or ())}"
        self.named = {**(self.named or {}), new: "cards"}
        self.keeper.wake()
        wait_until(lambda: (new, NAME) in self.there(), "a look", 20)

    def pod(self, name: str, namespace: str) -> None:
        claim = {"name": "fabric-nic", "resourceClaimTemplateName": NAME}
        spec = {"containers": [{"name": "c"}], "resourceClaims": [claim]}
        labels = {"fabric-injector.io/claims": "referenced"}
        self.server.put(PODS, name, namespace, uid=f"uid-{name}", labels=labels, spec=spec)

    def foreign(self, namespace: str, claim: ProfileClaim, labels: Any, name: str = NAME) -> None:
        spec, uid = template_spec(claim), f"uid-{namespace}"
        self.server.put(CLAIM_TEMPLATES, name, namespace, uid=uid, labels=labels, spec=spec)

    def made(self, namespace: str = "") -> int:
        path = f"/apis/resource.k8s.io/v1/namespaces/{namespace}"
        return len(self.server.asked("PATCH", path))


@pytest.fixture
def world(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(module, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(leader_loop, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(leader_loop, "SETTLE_SECONDS", 0.01)
    return World(server)


@contextmanager
def running(world: World) -> Iterator[None]:
    world.keeper.start()
    try:
        yield
    finally:
        world.keeper.stop()


def test_makes_one_in_each_namespace_of_the_profile(world: World) -> None:
    world.give("ml", "team", "kube-system", "fabric-injector", cards=cards())
    with running(world):
        world.wait_for(("ml", NAME), ("team", NAME))
        [request] = world.server.asked("PATCH", "/apis/resource.k8s.io/v1/namespaces/ml")
        body = {"apiVersion": "resource.k8s.io/v1", **make_template("ml", NIC)}
        assert json.loads(request.body) == body
        assert request.query == {"fieldManager": "fabric-injector", "force": "true"}
        assert request.headers["Content-Type"] == "application/apply-patch+yaml"
        world.look()
        [listed] = world.server.asked("list", CLAIM_TEMPLATES)
        ours = "app.kubernetes.io/managed-by=fabric-injector,fabric-injector.io/claim"
        assert listed.query["labelSelector"] == ours
        assert "PartialObjectMetadata" in listed.headers["Accept"], "no content is read"


def test_makes_it_again_when_somebody_deletes_it(world: World) -> None:
    world.give("ml")
    with running(world):
        world.wait_for(("ml", NAME))
        before = world.made("ml")
        world.server.delete(CLAIM_TEMPLATES, NAME, "ml")
        wait_until(lambda: world.made("ml") > before, "another one")
        world.wait_for(("ml", NAME))


def test_makes_what_a_pod_of_another_namespace_names(world: World) -> None:
    world.give(cards=cards(allowed_namespaces=frozenset({"ml"})))
    with running(world):
        world.pod("other-0", "web")
        world.pod("train-0", "ml")
        world.wait_for(("ml", NAME))


def test_removes_it_a_while_after_nobody_needs_it(world: World) -> None:
    world.give("ml")
    with running(world):
        world.wait_for(("ml", NAME))
        world.pod("train-0", "ml")
        world.named = {}
        world.look()
        world.look(2 * UNNEEDED_SECONDS)
        assert ("ml", NAME) in world.there(), "a pod names it"
        world.server.delete(PODS, "train-0", "ml")
        world.look()
        assert ("ml", NAME) in world.there(), "it has only just become unneeded"
        world.clock.now += UNNEEDED_SECONDS
        world.keeper.wake()
        wait_until(lambda: ("ml", NAME) not in world.there(), "its end")
    [removed] = world.server.asked("DELETE")
    assert json.loads(removed.body)["preconditions"]["uid"]


def test_leaves_alone_what_is_not_ours(world: World) -> None:
    world.foreign("ml", RAIL, LABELS)  # our name and labels, and another content
    world.foreign("team", RAIL, {})  # our name
    world.foreign("web", RAIL, {}, "fabric-injector-nic-0123456789abcdef")
    world.foreign("other", NIC, LABELS, "nic")
    before = world.there()
    world.give("new")
    with running(world):
        wait_until(lambda: ("new", NAME) in world.there(), "a look")
        world.clock.now += 2 * UNNEEDED_SECONDS
        world.keeper.wake()
        wait_until(lambda: ("ml", NAME) not in world.there(), "the end of what says it is ours")
    assert world.there() == (before - {("ml", NAME)}) | {("new", NAME)}


def test_keeps_a_bounded_part_of_what_a_pod_names() -> None:
    found = [f"fabric-injector-x-{number:016x}" for number in range(10_000)]
    claims = [{"name": name, "resourceClaimTemplateName": name} for name in found]
    kept = module._read_pod({"metadata": {"name": "p"}, "spec": {"resourceClaims": claims}})
    assert kept is not None
    assert len(kept) == module.MOST_NAMED


def test_keeps_what_pods_of_a_deleted_or_unusable_profile_need(world: World) -> None:
    """A webhook serves on with the last content of either."""
    world.give("ml", cards=cards(), other=profile(name="other", claims=(RAIL,)))
    world.named = {"ml": "cards", "team": "other"}
    both = ("ml", NAME), ("team", template_name(RAIL))
    with running(world):
        world.wait_for(*both)
        world.keeper.put({"cards": None})
        for _ in range(2):
            world.look(2 * UNNEEDED_SECONDS)
    assert set(both) < world.there()


@table(
    "answer",
    {"quota": status(403, "exceeded"), "broken": status(500), "slow": status(429), "hangs": hang},
)
def test_one_that_cannot_be_made_is_tried_again_and_told_once(
    world: World,
    answer: Behaviour,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(connection, "WRITE_SECONDS", 0.3)
    monkeypatch.setattr(world.keeper, "most_pause_seconds", 0.05)
    path = f"{CLAIM_TEMPLATES.replace('v1/', 'v1/namespaces/a/')}/{NAME}"
    world.server.misbehave("PATCH", path, answer, answer)
    world.give("a", "b")
    with running(world):
        world.wait_for(("a", NAME), ("b", NAME))
    assert world.made("a/") >= 3
    assert caplog.text.count("ResourceClaimTemplates are not kept: PATCH") == 1


def test_only_who_leads_asks_or_writes(world: World) -> None:
    world.leads = False
    world.give("ml")
    with running(world):
        world.keeper._stopped.wait(0.1)
        assert world.server.requests == []
        world.leads = True
        world.wait_for(("ml", NAME))


def test_tells_of_no_claims_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.server.misbehave("list", CLAIM_TEMPLATES, *[text(404, NOT_INSTALLED)] * 9)
    world.give("ml")
    with running(world):
        wait_until(lambda: "does not serve resource.k8s.io/v1" in caplog.text, "the word")
        world.keeper.wake()
        wait_until(lambda: len(world.server.asked("list", CLAIM_TEMPLATES)) > 1, "a look", 20)
    assert not world.server.asked("PATCH")
    assert caplog.text.count("does not serve") == 1
