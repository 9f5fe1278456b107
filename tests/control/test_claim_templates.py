"""The keeper of ResourceClaimTemplates: what it makes, removes and leaves alone, and what it asks of the API server for it."""

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
from tests.waiting import Clock, wait_until
from webhook.control import claim_templates as module
from webhook.control import leader_loop
from webhook.control.claim_templates import UNNEEDED_SECONDS, ClaimTemplates
from webhook.core.claim_templates import make_template, template_name, template_spec
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim

GROUP = "/apis/resource.k8s.io"
NIC = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))
RAIL = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com"),))
NAME = template_name(NIC)
LABELS = {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"}


class World:
    """An API server, and a keeper, whose leadership, profiles and namespaces the test gives and takes."""

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

    def profiles(self, **found: Profile | None) -> None:
        self.keeper.put(found)

    def there(self) -> set[tuple[str, str]]:
        return set(self.server._collections[CLAIM_TEMPLATES].objects)

    def pod(self, name: str, namespace: str, template: str = NAME) -> None:
        claim = {"name": "fabric-nic", "resourceClaimTemplateName": template}
        spec = {"containers": [{"name": "c"}], "resourceClaims": [claim]}
        self.server.put(
            PODS,
            name,
            namespace,
            uid=f"uid-{name}",
            labels={"fabric-injector.io/claims": "referenced"},
            spec=spec,
        )

    def foreign(
        self,
        namespace: str,
        spec: Any = None,
        *,
        labels: Any = None,
        name: str = NAME,
        uid: str = "uid-foreign",
    ) -> None:
        labels = LABELS if labels is None else labels
        self.server.put(
            CLAIM_TEMPLATES,
            name,
            namespace,
            uid=uid,
            labels=labels,
            spec=spec or template_spec(RAIL),
        )

    def made(self, namespace: str = "") -> int:
        return len(self.server.asked("PATCH", f"{GROUP}/v1/namespaces/{namespace}"))

    def pass_by(self, seconds: float) -> None:
        self.clock.now += seconds
        self.keeper.wake()


@pytest.fixture
def world(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(module, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(leader_loop, "FOLLOWER_SECONDS", 0.02)
    monkeypatch.setattr(leader_loop, "SETTLE_SECONDS", 0.01)
    return World(server)


@contextmanager
def running(keeper: ClaimTemplates) -> Iterator[None]:
    keeper.start()
    try:
        yield
    finally:
        keeper.stop()


def cards(*claims: ProfileClaim, **tweaks: Any) -> Profile:
    return profile(name="cards", claims=claims or (NIC,), **tweaks)


def test_makes_one_in_each_namespace_of_the_profile(world: World) -> None:
    world.profiles(cards=cards(), plain=profile(name="plain"))
    world.named = {
        "ml": "cards",
        "team": "cards",
        "web": "plain",
        "kube-system": "cards",
        "fabric-injector": "cards",
    }
    with running(world.keeper):
        wait_until(lambda: world.there() == {("ml", NAME), ("team", NAME)}, "the templates")
        [request] = world.server.asked("PATCH", f"{GROUP}/v1/namespaces/ml")
        assert json.loads(request.body) == {
            "apiVersion": "resource.k8s.io/v1",
            **make_template("ml", NIC),
        }
        assert request.query == {"fieldManager": "fabric-injector", "force": "true"}
        assert request.headers["Content-Type"] == "application/apply-patch+yaml"
        world.named = {"ml": "cards", "team": "cards", "new": "cards"}
        world.keeper.wake()
        wait_until(
            lambda: ("new", NAME) in world.there(), "the one of a namespace that was labelled later"
        )
        assert world.made() >= 3, "a write that the watch has not brought yet may be made again"
        [listed] = world.server.asked("list", CLAIM_TEMPLATES)
        assert (
            listed.query["labelSelector"]
            == "app.kubernetes.io/managed-by=fabric-injector,fabric-injector.io/claim"
        )
        assert "PartialObjectMetadata" in listed.headers["Accept"], (
            "what others write in them is not read"
        )


def test_makes_it_again_when_somebody_deletes_it(world: World) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")
        before = world.made("ml")
        world.server.delete(CLAIM_TEMPLATES, NAME, "ml")
        wait_until(
            lambda: world.made("ml") > before and world.there() == {("ml", NAME)}, "another one"
        )


def test_makes_what_a_pod_of_another_namespace_names(world: World) -> None:
    world.profiles(cards=cards(allowed_namespaces=frozenset({"ml"})))
    with running(world.keeper):
        world.pod("other-0", "web")
        world.pod("train-0", "ml")
        wait_until(
            lambda: world.there() == {("ml", NAME)}, "the template of the pod that may have it"
        )


def test_removes_it_a_while_after_nobody_needs_it(world: World) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")
        world.pod("train-0", "ml")
        world.named = {"seen": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("seen", NAME) in world.there(), "a look")
        world.pass_by(2 * UNNEEDED_SECONDS)
        world.named = {"seen": "cards", "again": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("again", NAME) in world.there(), "another look")
        assert ("ml", NAME) in world.there(), "a pod names it"
        world.server.delete(PODS, "train-0", "ml")
        world.named = {"seen": "cards", "again": "cards", "third": "cards"}
        wait_until(lambda: ("third", NAME) in world.there(), "a look without the pod")
        assert ("ml", NAME) in world.there(), "it has only just become unneeded"
        world.pass_by(UNNEEDED_SECONDS)
        wait_until(lambda: ("ml", NAME) not in world.there(), "its end")
    [removed] = world.server.asked("DELETE")
    assert json.loads(removed.body)["preconditions"]["uid"]


def test_leaves_alone_what_is_not_ours(world: World) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards", "team": "cards"}
    world.foreign("ml", uid="uid-1")  # our name and labels, and another content
    world.foreign("team", labels={}, uid="uid-2")  # our name alone
    world.foreign(
        "web",
        template_spec(RAIL),
        name="fabric-injector-nic-0123456789abcdef",
        labels={},
        uid="uid-3",
    )
    world.foreign("web", template_spec(NIC), name="nic", uid="uid-4")
    before = world.there()
    with running(world.keeper):
        world.named = {"new": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("new", NAME) in world.there(), "a look")
        world.pass_by(2 * UNNEEDED_SECONDS)
        wait_until(
            lambda: ("ml", NAME) not in world.there(), "the end of what says that it is ours"
        )
    assert world.there() == (before - {("ml", NAME)}) | {("new", NAME)}


def test_one_that_cannot_be_made_holds_up_no_other(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.profiles(cards=cards(NIC, RAIL))
    world.named = {"ml": "cards"}
    world.foreign("ml", labels={})
    with running(world.keeper):
        wait_until(
            lambda: ("ml", template_name(RAIL)) in world.there(), "the template of the other claim"
        )
        wait_until(
            lambda: f"resourceclaimtemplates/{NAME} answered" in caplog.text, "the complaint"
        )


def test_keeps_a_bounded_part_of_what_a_pod_names() -> None:
    claims = [
        {
            "name": f"fabric-{number}",
            "resourceClaimTemplateName": f"fabric-injector-x-{number:016x}",
        }
        for number in range(10_000)
    ]
    kept = module._read_pod({"metadata": {"name": "p"}, "spec": {"resourceClaims": claims}})
    assert kept is not None
    assert len(kept) == module.MOST_NAMED


def test_one_whose_labels_somebody_removed_is_ours_again(world: World) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    world.foreign("ml", template_spec(NIC), labels={})
    with running(world.keeper):
        wait_until(
            lambda: (
                world.server._collections[CLAIM_TEMPLATES].objects["ml", NAME]["metadata"]["labels"]
                == LABELS
            ),
            "its labels",
        )


def test_keeps_what_pods_of_a_deleted_or_unusable_profile_need(
    world: World,
) -> None:
    """A webhook serves on with the last content of either."""
    world.profiles(cards=cards(), other=profile(name="other", claims=(RAIL,)))
    world.named = {"ml": "cards", "team": "other"}
    both = {("ml", NAME), ("team", template_name(RAIL))}
    with running(world.keeper):
        wait_until(lambda: world.there() == both, "the templates")
        world.profiles(cards=None)
        world.pass_by(2 * UNNEEDED_SECONDS)
        world.named = {**world.named, "new": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("new", NAME) in world.there(), "a look")
        world.pass_by(2 * UNNEEDED_SECONDS)
        world.named = {**world.named, "last": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("last", NAME) in world.there(), "another look")
    assert both < world.there()


@pytest.mark.parametrize(
    "answer", [status(403, "exceeded quota"), status(500), status(429, "slow"), hang]
)
def test_one_that_cannot_be_made_is_tried_again_and_told_once(
    world: World,
    answer: Behaviour,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setattr(module, "WRITE_SECONDS", 0.3)
    monkeypatch.setattr(world.keeper._loop, "_most_pause", 0.05)
    world.profiles(cards=cards())
    world.named = {"a": "cards", "b": "cards"}
    world.server.misbehave(
        "PATCH", f"{GROUP}/v1/namespaces/a/resourceclaimtemplates/{NAME}", answer, answer
    )
    with running(world.keeper):
        wait_until(lambda: world.there() == {("a", NAME), ("b", NAME)}, "both templates")
    assert world.made("a/") >= 3
    assert caplog.text.count("ResourceClaimTemplates are not kept: PATCH") == 1


def test_only_who_leads_asks_or_writes(world: World) -> None:
    world.leads = False
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        world.keeper.wake()
        before = len(world.server.requests)
        world.keeper._loop._stopped.wait(0.1)
        assert len(world.server.requests) == before == 0
        world.leads = True
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")


def test_tells_of_no_claims_once(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.server.misbehave("list", CLAIM_TEMPLATES, *[text(404, NOT_INSTALLED)] * 9)
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: "does not serve resource.k8s.io/v1" in caplog.text, "the word")
        world.keeper.wake()
        wait_until(lambda: len(world.server.asked("list", CLAIM_TEMPLATES)) > 1, "another look", 20)
    assert not world.server.asked("PATCH")
    assert caplog.text.count("does not serve") == 1
