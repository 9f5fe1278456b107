"""The controller's parts together: whom it serves, and that nothing stays unpublished."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from tests.fake_apiserver import (
    NAMESPACES,
    NOT_INSTALLED,
    PODS,
    RESOURCE_CLAIMS,
    Behaviour,
    FakeApiServer,
    status,
    text,
)
from tests.pods import member_pod
from tests.tables import table
from tests.waiting import wait_until
from webhook.control import controller as module
from webhook.control.claims import ClaimWatch
from webhook.control.controller import Controller
from webhook.core import names
from webhook.kube.resource import Key

LABELLED = {names.PROFILE: "shared"}


class World:
    """An API server whose pods take what is written, and the leadership, which the test gives."""

    def __init__(self, server: FakeApiServer, *, pod_opt_in: bool = False) -> None:
        self.server = server
        self.leads = True
        server.put(NAMESPACES, "ml", labels=LABELLED)
        self.controller = Controller(
            server.connection(),
            lambda _pod, _reason, _message: None,
            lambda: self.leads,
            pod_opt_in=pod_opt_in,
        )

    def put(
        self, name: str, address: str = "", *, namespace: str = "ml", job: str = "j-1", **more: Any
    ) -> None:
        """Put a member there, rank 0 where its name begins with m."""
        role = "master" if name.startswith("m") else "worker"
        labels = more.pop("labels", {})
        pod = member_pod(name, role, job, address=address, namespace=namespace, **more)
        pod["metadata"]["labels"] |= labels
        self.server.put(PODS, **pod["metadata"])

    def writes(self) -> list[tuple[str, str]]:
        """Give the pods written to so far, and the address of rank 0, empty where none was."""
        asked = self.server.asked("PATCH", NAMESPACES)
        bodies = [(one.path.split("/")[-2], json.loads(one.body)) for one in asked]
        return [
            (name, body["metadata"]["annotations"].get(names.MASTER_ADDR, ""))
            for name, body in bodies
        ]

    def told(self) -> dict[str, str]:
        """Give the last address of rank 0 that was written to each pod."""
        return {name: address for name, address in self.writes() if address}

    def wait_for(self, **told: str) -> None:
        """Wait until these pods, and no others, were told these addresses; ``_`` stands for -."""
        wanted = {name.replace("_", "-"): address for name, address in told.items()}
        wait_until(lambda: self.told() == wanted, f"{wanted}", 20)

    def wait_for_list(self) -> None:
        ready = {"namespaces": "", "pods": ""}
        wait_until(lambda: self.controller.checks() == ready, "the list", 20)


@pytest.fixture
def world(server: FakeApiServer) -> World:
    return World(server)


@contextmanager
def running(world: World) -> Iterator[Controller]:
    world.controller.start()
    try:
        yield world.controller
    finally:
        world.controller.stop()


def test_publishes_nothing_before_all_pods_are_known(world: World) -> None:
    world.put("m-a", "10.0.0.1")
    for number in range(1500):
        world.put(f"w-{number}")
    world.put("m-b", "10.0.0.2", creationTimestamp="2026-01-01T00:00:09Z")
    with running(world):
        wait_until(lambda: len(world.told()) >= 200, "the addresses", 60)
    assert set(world.told().values()) == {"10.0.0.2"}, "the older rank 0 does not count"


def test_begins_with_all_that_lacks_once_it_leads(world: World) -> None:
    world.leads = False
    world.put("m", "10.0.0.1")
    world.put("w")
    with running(world) as controller:
        world.wait_for_list()
        assert world.writes() == []
        world.leads = True
        controller.wake()
        world.wait_for(m="10.0.0.1", w="10.0.0.1")


def test_what_nobody_might_write_is_published_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.05)
    world.put("m")
    with running(world) as controller:
        world.wait_for_list()
        world.leads = False
        world.put("m", "10.0.0.1")
        wait_until(lambda: controller._jobs.units(), "the address")
        world.leads = True
        world.wait_for(m="10.0.0.1")


def test_counts_who_waits_and_for_how_long(world: World) -> None:
    world.leads = False
    world.put("m")
    world.put("w")
    with running(world) as controller:
        wait_until(lambda: controller.pods_waiting() == 2, "the pods")
        assert controller.oldest_wait_seconds() > 3600
        world.server.delete(PODS, "m", "ml")
        world.server.delete(PODS, "w", "ml")
        wait_until(lambda: controller.pods_waiting() == 0, "their end")
        assert controller.oldest_wait_seconds() == 0.0


def test_follows_rank_zero_to_another_address_and_drops_what_it_may_not_write(world: World) -> None:
    world.put("m", "10.0.0.1")
    with running(world) as controller:
        world.wait_for(m="10.0.0.1")
        world.put("m", "10.0.0.9")
        world.wait_for(m="10.0.0.9")
        world.leads = False
        controller.wake()
        world.put("m", "10.0.0.7")
        wait_until(lambda: controller._jobs.units(), "the newest address")
        assert len(controller._queue) == 0
    assert world.told() == {"m": "10.0.0.9"}


def test_nothing_is_done_in_a_namespace_without_the_label_until_it_has_it(world: World) -> None:
    world.server.put(NAMESPACES, "evil", labels={})
    world.put("m-evil", "10.6.6.6", namespace="evil")
    world.put("m", "10.0.0.1")
    with running(world) as controller:
        world.wait_for(m="10.0.0.1")
        world.put("w-evil", namespace="evil")
        world.put("w")
        world.wait_for(m="10.0.0.1", w="10.0.0.1")
        assert controller.pods_waiting() == 2
        world.server.put(NAMESPACES, "evil", labels=LABELLED)
        world.wait_for(m="10.0.0.1", w="10.0.0.1", m_evil="10.6.6.6", w_evil="10.6.6.6")
    assert len(world.server.asked("list", PODS)) == 1, "the others are not listed again"


def test_a_job_is_served_to_its_end_where_the_label_is_removed_while_it_waits(world: World) -> None:
    world.put("m")
    world.put("w")
    with running(world) as controller:
        wait_until(lambda: controller.pods_waiting() == 2, "the pods")
        world.server.delete(NAMESPACES, "ml")  # a watch by label is told so
        wait_until(lambda: not controller._namespaces.items, "the end of the label")
        world.put("w-late")
        world.put("m", "10.0.0.1")
        world.wait_for(m="10.0.0.1", w="10.0.0.1")
        world.server.compact()
        world.server.end_watches()
        wait_until(lambda: len(world.server.asked("list", PODS)) == 2, "the second list", 20)
        world.put("m", "10.0.0.2")
        world.wait_for(m="10.0.0.2", w="10.0.0.2")


def test_publishes_nothing_while_the_labelled_namespaces_are_unknown(world: World) -> None:
    refusal = "may not list namespaces"
    world.server.misbehave("list", NAMESPACES, *[status(403, refusal)] * 2)
    world.put("m", "10.0.0.1")
    with running(world) as controller:
        wait_until(lambda: refusal in controller.checks()["namespaces"], "the problem")
        assert world.server.asked("list", PODS) == []
        world.wait_for(m="10.0.0.1")
        world.wait_for_list()


@table("pod_opt_in", {"opt-in installed": True, "not": False})
def test_pods_that_opted_in_or_out_themselves(server: FakeApiServer, pod_opt_in: bool) -> None:
    world = World(server, pod_opt_in=pod_opt_in)
    for name, namespace, labels in (
        ("m-in", "elsewhere", LABELLED),
        ("m-out", "ml", {names.PROFILE: names.PROFILE_NONE}),
        ("m-other-out", "elsewhere", {names.PROFILE: names.PROFILE_NONE}),
        ("m-evil", "elsewhere", {}),
        ("m-ml", "ml", {}),
    ):
        world.put(name, "10.0.0.1", namespace=namespace, job=f"j-{name}", labels=labels)
    with running(world):
        world.wait_for(**dict.fromkeys(("m_ml", "m_in") if pod_opt_in else ("m_ml",), "10.0.0.1"))


CLAIM_POD = {names.ADDRESS_SOURCE: "claim", names.RENDEZVOUS_NETWORK: "any claim@/any"}


def put_pod(world: World, name: str, uid: str = "", job: str = "j-1") -> None:
    uid = uid or f"uid-{name}"
    world.put(name, job=job, network="", annotations=CLAIM_POD, uid=uid)


def put_claim(world: World, pod: str, *ips: str, uid: str = "", name: str = "") -> None:
    """Write a claim as scheduler and driver leave it for a pod; no *ips* before the driver has."""
    device = {"driver": "dra.net", "pool": "n", "device": "d"}
    told = [{**device, "networkData": {"interfaceName": "net1", "ips": list(ips)}}] if ips else []
    status = {
        "allocation": {"devices": {"results": [{**device, "request": "nic"}]}},
        "reservedFor": [{"resource": "pods", "name": pod, "uid": uid or f"uid-{pod}"}],
        "devices": told,
    }
    spec = {"devices": {"requests": [{"name": "nic"}]}}
    world.server.put(RESOURCE_CLAIMS, name or f"{pod}-nic", "ml", spec=spec, status=status)


def test_publishes_the_address_that_a_claim_tells_early_late_and_again(world: World) -> None:
    put_pod(world, "m")
    put_pod(world, "w")
    put_claim(world, "m", "10.1.0.1/24")
    with running(world):
        world.wait_for(m="10.1.0.1", w="10.1.0.1")
        put_claim(world, "m")
        put_claim(world, "m", "10.1.0.2/24", uid="uid-of-another")
        put_claim(world, "m", "10.1.0.3/24")
        world.wait_for(m="10.1.0.3", w="10.1.0.3")
        world.server.delete(PODS, "m", "ml")
        put_pod(world, "m", uid="again")
        put_claim(world, "m", "10.1.0.4/24", uid="again", name="m-other")
        wait_until(lambda: world.told()["w"] == "10.1.0.4", "that of the pod of the same name")
    assert "10.1.0.2" not in {address for _, address in world.writes()}, "it is another pod's"


def test_nobody_asks_for_claims_while_no_pod_needs_them(world: World) -> None:
    world.put("m", "10.0.0.1")
    put_claim(world, "m", "10.1.0.1")
    with running(world):
        world.wait_for(m="10.0.0.1")
        assert not world.server.asked("list", RESOURCE_CLAIMS)


@table("answer", {"not served": text(404, NOT_INSTALLED), "forbidden": status(403, "no right")})
def test_claims_that_cannot_be_listed_are_told_and_harm_nothing(
    world: World, caplog: pytest.LogCaptureFixture, answer: Behaviour
) -> None:
    world.server.misbehave("list", RESOURCE_CLAIMS, *[answer] * 50)
    put_pod(world, "m-claim", job="j-2")
    world.put("m", "10.0.0.1")
    with running(world):
        world.wait_for(m="10.0.0.1")
        wait_until(lambda: "watch of resourceclaims" in caplog.text, "the warning")
        world.wait_for_list()


def test_keeps_nothing_of_claims_without_address(world: World) -> None:
    told: list[Key] = []
    watch = ClaimWatch(world.server.connection(), told.append, time.monotonic)
    put_claim(world, "gpu")
    put_claim(world, "m", "10.1.0.1")
    try:
        watch.start()
        wait_until(lambda: told == [("ml", "m")], "the claim")
        assert watch.told("ml", "m", "uid-m")
        assert watch.told("ml", "m", "another") == ""
        world.server.delete(RESOURCE_CLAIMS, "m-nic", "ml")
        wait_until(lambda: not watch.told("ml", "m", "uid-m"), "that it is gone")
    finally:
        watch.stop()
