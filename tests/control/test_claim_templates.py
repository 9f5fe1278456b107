"""The keeper of ResourceClaimTemplates: what it makes, removes and leaves alone, and what it asks of the API server for it."""

from __future__ import annotations

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
    Exchange,
    FakeApiServer,
    hang,
    status,
    text,
)
from tests.waiting import wait_until
from webhook.control import claim_templates as module
from webhook.control.claim_templates import ClaimTemplates
from webhook.core.claim_templates import make_template, template_name, template_spec
from webhook.core.profiles import ClaimRequest, Profile, ProfileClaim
from webhook.core.reconcile.claim_templates import UNNEEDED_SECONDS
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials

GROUP = "/apis/resource.k8s.io"
CONFIGURATIONS = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
OWNER = {
    "apiVersion": "admissionregistration.k8s.io/v1",
    "kind": "MutatingWebhookConfiguration",
    "name": "zz-fabric-injector",
    "uid": "uid-owner",
}
NIC = ProfileClaim("nic", (ClaimRequest("r", "dranet.net"),))
RAIL = ProfileClaim("rail", (ClaimRequest("r", "rail.example.com"),))
NAME = template_name(NIC)
LABELS = {"app.kubernetes.io/managed-by": "fabric-injector", "fabric-injector.io/claim": "nic"}


class Clock:
    """A clock that the test sets."""

    seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds


class World:
    """An API server, and a keeper, whose leadership, profiles and namespaces the test gives and takes."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server, self.clock = server, Clock()
        self.leads = True
        self.named: dict[str, str] | None = {}
        self.versions = ["v1"]
        self.templates = CLAIM_TEMPLATES
        server.put(CONFIGURATIONS, OWNER["name"], uid=OWNER["uid"])
        self.serve("v1")
        self.keeper = ClaimTemplates(
            Connection(Credentials("test", server.url)),
            lambda: self.leads,
            lambda: self.named,
            own_namespace="fabric-injector",
            monotonic=self.clock,
        )

    def serve(self, *versions: str) -> None:
        listed = [{"groupVersion": f"resource.k8s.io/{version}", "version": version} for version in versions]
        answer = text(200, json.dumps({"versions": listed})) if versions else text(404, NOT_INSTALLED)
        self.server.misbehave("get", GROUP, *[answer] * 50)

    def profiles(self, **found: Profile | None) -> None:
        self.keeper.put(found)

    def there(self) -> set[tuple[str, str]]:
        return set(self.server._collections[self.templates].objects)

    def pod(self, name: str, namespace: str, template: str = NAME) -> None:
        claim = {"name": "fabric-nic", "resourceClaimTemplateName": template}
        spec = {"containers": [{"name": "c"}], "resourceClaims": [claim]}
        self.server.put(
            PODS, name, namespace, uid=f"uid-{name}", labels={"fabric-injector.io/claims": "referenced"}, spec=spec
        )

    def foreign(
        self, namespace: str, spec: Any = None, *, labels: Any = None, name: str = NAME, uid: str = "uid-foreign"
    ) -> None:
        labels = LABELS if labels is None else labels
        self.server.put(self.templates, name, namespace, uid=uid, labels=labels, spec=spec or template_spec(RAIL))

    def made(self, namespace: str = "") -> int:
        return len(self.server.asked("POST", f"{GROUP}/v1/namespaces/{namespace}"))

    def pass_by(self, seconds: float) -> None:
        self.clock.seconds += seconds
        self.keeper.wake()


@pytest.fixture
def world(server: FakeApiServer, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setattr(module, "FOLLOWER_SECONDS", 0.02)
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
    world.named = {"ml": "cards", "team": "cards", "web": "plain", "kube-system": "cards", "fabric-injector": "cards"}
    with running(world.keeper):
        wait_until(lambda: world.there() == {("ml", NAME), ("team", NAME)}, "the templates")
        [made] = [json.loads(one.body) for one in world.server.asked("POST", f"{GROUP}/v1/namespaces/ml")]
        assert made == {
            "apiVersion": "resource.k8s.io/v1",
            **make_template("ml", NAME, "nic", template_spec(NIC), OWNER),
        }
        world.named = {"ml": "cards", "team": "cards", "new": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("new", NAME) in world.there(), "the one of a namespace that was labelled later")
        assert world.made() == 3
        [listed] = world.server.asked("list", CLAIM_TEMPLATES)
        assert listed.query["labelSelector"] == "app.kubernetes.io/managed-by=fabric-injector,fabric-injector.io/claim"
        assert "PartialObjectMetadata" in listed.headers["Accept"], "what others write in them is not read"


def test_makes_it_again_when_somebody_deletes_it(world: World) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")
        world.server.delete(CLAIM_TEMPLATES, NAME, "ml")
        wait_until(lambda: world.made("ml") == 2, "another one")
    assert world.there() == {("ml", NAME)}


def test_makes_it_again_when_it_was_deleted_before_the_answer_came(world: World) -> None:
    def answer_late(exchange: Exchange) -> None:
        made = world.server.put(CLAIM_TEMPLATES, NAME, "ml", uid="uid-late", labels=LABELS, spec=template_spec(NIC))
        watched = world.keeper._watched
        assert watched is not None
        wait_until(lambda: ("ml", NAME) in watched.templates.items, "the watch to bring it")
        world.server.delete(CLAIM_TEMPLATES, NAME, "ml")
        wait_until(lambda: ("ml", NAME) not in watched.templates.items, "the watch to bring its end")
        exchange.answer(201, made)

    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    world.server.misbehave("POST", f"{GROUP}/v1/namespaces/ml/resourceclaimtemplates", answer_late)
    with running(world.keeper):
        wait_until(lambda: world.made("ml") == 2, "another one")
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")


def test_makes_what_a_pod_of_another_namespace_names(world: World) -> None:
    world.profiles(cards=cards(allowed_namespaces=frozenset({"ml"})))
    with running(world.keeper):
        world.pod("other-0", "web")
        world.pod("train-0", "ml")
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template of the pod that may have it")


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


def test_leaves_alone_what_is_not_ours(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards", "team": "cards"}
    world.foreign("ml", uid="uid-1")  # our name and labels, and another content
    world.foreign("team", labels={}, uid="uid-2")  # our name alone
    world.foreign("web", template_spec(RAIL), name="fabric-injector-nic-0123456789abcdef", uid="uid-3")
    world.foreign("web", template_spec(NIC), name="nic", uid="uid-4")
    before = world.there()
    with running(world.keeper):
        wait_until(lambda: "ml/" + NAME + " was made by somebody with another content" in caplog.text, "the complaint")
        wait_until(lambda: "team/" + NAME + " is there with another content" in caplog.text, "the other complaint")
        world.named = {"new": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("new", NAME) in world.there(), "a look")
        world.pass_by(2 * UNNEEDED_SECONDS)
        world.named = {"new": "cards", "last": "cards"}
        world.keeper.wake()
        wait_until(lambda: ("last", NAME) in world.there(), "another look")
    assert before < world.there()
    assert world.server.asked("DELETE") == []


def test_one_that_cannot_be_made_holds_up_no_other_of_its_namespace(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.profiles(cards=cards(NIC, RAIL))
    world.named = {"ml": "cards"}
    world.foreign("ml", labels={})
    with running(world.keeper):
        wait_until(lambda: ("ml", template_name(RAIL)) in world.there(), "the template of the other claim")
        wait_until(lambda: f"ml/{NAME} is there with another content" in caplog.text, "the complaint")


def test_keeps_a_bounded_part_of_what_a_pod_names() -> None:
    claims = [
        {"name": f"fabric-{number}", "resourceClaimTemplateName": f"fabric-injector-x-{number:016x}"}
        for number in range(10_000)
    ]
    kept = module._read_pod({"metadata": {"name": "p"}, "spec": {"resourceClaims": claims}})
    assert kept is not None
    assert len(kept) == module.MOST_NAMED


def test_uses_one_whose_labels_somebody_removed(world: World, caplog: pytest.LogCaptureFixture) -> None:
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    world.foreign("ml", template_spec(NIC), labels={})
    with running(world.keeper):
        wait_until(lambda: "is there without its labels" in caplog.text, "the complaint")
    assert world.there() == {("ml", NAME)}


@pytest.mark.parametrize(
    "answer", [status(403, "exceeded quota"), status(500), status(429, "slow", Retry_After="1"), hang]
)
def test_a_namespace_that_refuses_rests_while_others_are_served(
    world: World, answer: Behaviour, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(module, "REQUEST_SECONDS", 0.3)
    world.profiles(cards=cards())
    world.named = {"a": "cards", "b": "cards"}
    world.server.misbehave("POST", f"{GROUP}/v1/namespaces/a/resourceclaimtemplates", answer, answer)
    with running(world.keeper):
        wait_until(lambda: world.there() == {("b", NAME)}, "the template of the other namespace")
        wait_until(lambda: f"a/{NAME} is not made" in caplog.text, "the complaint")
        for attempts in (2, 3):
            world.named = {**world.named, f"n{attempts}": "cards"}
            world.keeper.wake()
            wait_until(lambda n=f"n{attempts}": (n, NAME) in world.there(), "a look")  # type: ignore[misc]
            assert world.made("a/") == attempts - 1, "it is not tried again at once"
            world.pass_by(10.0)
            wait_until(lambda n=attempts: world.made("a/") == n, "another attempt")  # type: ignore[misc]
        wait_until(lambda: ("a", NAME) in world.there(), "its template")


def test_only_who_leads_asks_or_writes(world: World) -> None:
    world.leads = False
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        world.keeper.wake()
        before = len(world.server.requests)
        world.keeper._stopped.wait(0.1)
        assert len(world.server.requests) == before == 0
        world.leads = True
        wait_until(lambda: world.there() == {("ml", NAME)}, "the template")


def test_makes_none_without_what_is_to_own_them(world: World, caplog: pytest.LogCaptureFixture) -> None:
    """After an uninstall the controller may live a little longer than what its templates went with."""
    world.server.delete(CONFIGURATIONS, OWNER["name"])
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: "there is no MutatingWebhookConfiguration zz-fabric-injector" in caplog.text, "the word")
    assert world.made() == 0


def test_a_cluster_without_claims_is_told_of_once(server: FakeApiServer, caplog: pytest.LogCaptureFixture) -> None:
    server.misbehave("get", GROUP, *[text(404, NOT_INSTALLED)] * 9)
    world = World(server)
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: "the cluster serves neither resource.k8s.io/v1 nor v1beta2" in caplog.text, "the word")
        world.keeper.wake()
    assert not server.asked("list")
    assert not server.asked("watch")
    assert caplog.text.count("serves neither") == 1


def test_writes_in_the_version_that_is_served(world: World, server: FakeApiServer) -> None:
    server._next["get", GROUP].clear()
    world.serve("v1beta2", "v1beta1")
    older = CLAIM_TEMPLATES.replace("/v1/", "/v1beta2/")
    answer = {"metadata": {"resourceVersion": "1"}, "items": []}
    server.misbehave("get", older, lambda exchange: exchange.answer(200, answer))
    world.profiles(cards=cards())
    world.named = {"ml": "cards"}
    with running(world.keeper):
        wait_until(lambda: bool(server.asked("POST", f"{GROUP}/v1beta2/namespaces/ml")), "the template")
    [made] = [json.loads(one.body) for one in server.asked("POST")]
    assert made["apiVersion"] == "resource.k8s.io/v1beta2"
    assert made["spec"] == template_spec(NIC)
