"""The controller's parts together: what it begins with, and that nothing stays unpublished."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.fake_apiserver import NAMESPACES, PODS, RESOURCE_CLAIMS, FakeApiServer, status
from tests.pods import member_pod
from tests.waiting import wait_until
from webhook.control import controller as module
from webhook.control.claims import ClaimWatch
from webhook.control.controller import Controller
from webhook.control.events import PodRef
from webhook.core import names
from webhook.core.reconcile import Jobs
from webhook.kube.catalogue import CLAIMS
from webhook.kube.resource import Key


class World:
    """An API server whose pods take what is written, and the leadership, which the test gives and takes."""

    def __init__(self, server: FakeApiServer) -> None:
        self.server = server
        self.leads = True
        server.put(NAMESPACES, "ml", labels={names.PROFILE: "shared"})
        self.controller = Controller(server.connection(), self.record, self.may_write)

    def may_write(self) -> bool:
        return self.leads

    def record(self, pod: PodRef, reason: str, message: str) -> None:
        pass

    def put(self, name: str, address: str = "", created: str = "2026-01-01T00:00:00Z") -> None:
        role = "master" if name.startswith("m") else "worker"
        self.server.put(
            PODS, **member_pod(name, role, address=address, creationTimestamp=created)["metadata"]
        )

    def told(self) -> dict[str, str]:
        """Give the last address of rank 0 that was written to each pod."""
        return {name: address for name, address in self.writes() if address}

    def writes(self) -> list[tuple[str, str]]:
        written = [
            (one.path.split("/")[-2], json.loads(one.body))
            for one in self.server.asked("PATCH", NAMESPACES)
        ]
        return [
            (name, body["metadata"]["annotations"].get(names.MASTER_ADDR, ""))
            for name, body in written
        ]


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
    world.put("m-b", "10.0.0.2", created="2026-01-01T00:00:09Z")
    with running(world):
        wait_until(lambda: len(world.told()) >= 200, "the addresses", 60)
    assert {address for _, address in world.writes() if address} == {"10.0.0.2"}, (
        "the older rank 0 does not count"
    )


def test_publishes_the_address_that_gke_tells_on_the_pod(world: World) -> None:
    asked = {names.ADDRESS_SOURCE: "gke"}
    told = {
        names.GKE_POD_IPS: '[{"networkName":"rdma-1","ip":"10.2.0.1"},{"networkName":"rdma-0","ip":"10.1.0.1"}]'
    }
    for name, role, annotations in (("m-a", "master", {**asked, **told}), ("w-1", "worker", asked)):
        pod = member_pod(name, role, network="rdma-0@eth1/any", annotations=annotations)
        world.server.put(PODS, **pod["metadata"])
    with running(world):
        wait_until(lambda: world.told() == {"m-a": "10.1.0.1", "w-1": "10.1.0.1"}, "the addresses")


def test_begins_with_all_that_lacks_once_it_leads(world: World) -> None:
    world.leads = False
    world.put("m-a", "10.0.0.1")
    world.put("w-1")
    with running(world) as controller:
        wait_until(lambda: controller.checks() == {"namespaces": "", "pods": ""}, "the list")
        assert world.writes() == []
        world.leads = True
        controller.lead(True)
        wait_until(lambda: world.told().keys() == {"m-a", "w-1"}, "the addresses")


def test_what_nobody_might_write_is_published_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.05)
    world.put("m-a")
    with running(world) as controller:
        wait_until(lambda: controller.checks() == {"namespaces": "", "pods": ""}, "the list")
        world.leads = False
        world.put("m-a", "10.0.0.1")
        wait_until(lambda: controller._jobs.units(), "the address")
        world.leads = True
        wait_until(lambda: world.told() == {"m-a": "10.0.0.1"}, "the address on the pod")


def test_a_sweep_that_fails_is_not_the_last(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "SWEEP_SECONDS", 0.01)
    sweeps: list[int] = []

    def broken(_jobs: Jobs) -> None:
        sweeps.append(1)
        raise ZeroDivisionError

    monkeypatch.setattr(Jobs, "sweep", broken)
    with running(world):
        wait_until(lambda: len(sweeps) > 2, "more sweeps")


def test_counts_who_waits_and_for_how_long(world: World) -> None:
    world.leads = False
    world.put("m-a")
    world.put("w-1")
    with running(world) as controller:
        wait_until(lambda: controller.pods_waiting() == 2, "the pods")
        assert controller.oldest_wait_seconds() > 3600
        world.server.delete(PODS, "m-a", "ml")
        world.server.delete(PODS, "w-1", "ml")
        wait_until(lambda: controller.pods_waiting() == 0, "their end")
        assert controller.oldest_wait_seconds() == 0.0


def test_follows_rank_zero_to_another_address_and_drops_what_it_may_not_write(world: World) -> None:
    world.put("m-a", "10.0.0.1")
    with running(world) as controller:
        wait_until(lambda: world.told() == {"m-a": "10.0.0.1"}, "the address")
        world.put("m-a", "10.0.0.9")
        wait_until(lambda: world.told() == {"m-a": "10.0.0.9"}, "the new address")
        world.leads = False
        controller.lead(False)
        world.put("m-a", "10.0.0.7")
        wait_until(lambda: controller._jobs.units(), "the newest address")
        assert len(controller._queue) == 0
    assert world.told() == {"m-a": "10.0.0.9"}


CLAIM_POD = {names.ADDRESS_SOURCE: "claim", names.RENDEZVOUS_NETWORK: "any claim@/any"}


def put_pod(world: World, name: str, uid: str = "", job: str = "j-1") -> None:
    role = "master" if name.startswith("m") else "worker"
    pod = member_pod(name, role, job, network="", annotations=CLAIM_POD, uid=uid or f"uid-{name}")
    world.server.put(PODS, **pod["metadata"])


def put_claim(
    world: World, pod: str, *ips: str, uid: str = "", name: str = "", namespace: str = "ml"
) -> None:
    """Write a claim as scheduler and driver leave it, for the pod of this uid; without *ips*, before the driver has written."""
    device = {"driver": "dra.net", "pool": "n", "device": "d"}
    told = [{**device, "networkData": {"interfaceName": "net1", "ips": list(ips)}}] if ips else []
    status = {
        "allocation": {"devices": {"results": [{**device, "request": "nic"}]}},
        "reservedFor": [{"resource": "pods", "name": pod, "uid": uid or f"uid-{pod}"}],
        "devices": told,
    }
    spec = {"devices": {"requests": [{"name": "nic"}]}}
    world.server.put(RESOURCE_CLAIMS, name or f"{pod}-nic", namespace, spec=spec, status=status)


def asked_for_claims(world: World) -> int:
    return len(world.server.asked("list", "/apis/resource.k8s.io")) + len(
        world.server.asked("get", CLAIMS)
    )


def test_publishes_the_address_that_a_claim_tells_early_late_and_again(world: World) -> None:
    world.server.groups[CLAIMS] = ["v1"]
    put_pod(world, "m")
    put_pod(world, "w")
    put_claim(world, "m", "10.1.0.1/24")
    with running(world):
        wait_until(lambda: world.told() == {"m": "10.1.0.1", "w": "10.1.0.1"}, "the address")
        put_claim(world, "m")
        put_claim(world, "m", "10.1.0.2/24", uid="uid-of-another")
        put_claim(world, "m", "10.1.0.3/24")
        wait_until(
            lambda: world.told() == {"m": "10.1.0.3", "w": "10.1.0.3"},
            "that of the next allocation",
        )
        world.server.delete(PODS, "m", "ml")
        put_pod(world, "m", uid="again")
        put_claim(world, "m", "10.1.0.4/24", uid="again", name="m-other")
        wait_until(lambda: world.told()["w"] == "10.1.0.4", "that of the pod of the same name")
    assert "10.1.0.2" not in {address for _, address in world.writes()}, (
        "it is no claim of this pod's"
    )


def test_follows_the_version_that_the_cluster_serves(world: World) -> None:
    world.server.groups[CLAIMS] = ["v1beta2", "v1beta1"]
    put_pod(world, "m")
    path = RESOURCE_CLAIMS.replace("/v1/", "/v1beta2/")
    with running(world):
        wait_until(
            lambda: any(request.path == path for request in world.server.requests),
            "a request for them",
        )
    assert not world.server.asked("list", RESOURCE_CLAIMS)


def test_nobody_asks_for_claims_while_no_pod_needs_them(world: World) -> None:
    world.server.groups[CLAIMS] = ["v1"]
    world.put("m", "10.0.0.1")
    put_claim(world, "m", "10.1.0.1")
    with running(world):
        wait_until(lambda: world.told() == {"m": "10.0.0.1"}, "the address")
        assert asked_for_claims(world) == 0


def test_no_claims_api_harms_nothing(world: World, caplog: pytest.LogCaptureFixture) -> None:
    put_pod(world, "m-claim", job="j-2")
    world.put("m", "10.0.0.1")
    with running(world):
        wait_until(lambda: world.told().get("m") == "10.0.0.1", "the address of the other")
        wait_until(
            lambda: "no address meanwhile: the cluster serves neither" in caplog.text, "the warning"
        )
        assert world.controller.checks() == {"namespaces": "", "pods": ""}


def test_forbidden_claims_are_told_and_harm_nothing(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    world.server.groups[CLAIMS] = ["v1"]
    world.server.misbehave("list", RESOURCE_CLAIMS, *[status(403, "no right")] * 50)
    put_pod(world, "m-claim", job="j-2")
    world.put("m", "10.0.0.1")
    with running(world):
        wait_until(lambda: world.told().get("m") == "10.0.0.1", "the address of the other")
        wait_until(lambda: "watch of resourceclaims" in caplog.text, "the warning")


def test_keeps_nothing_of_claims_without_address(
    server: FakeApiServer,
) -> None:
    told: list[Key] = []
    watch = ClaimWatch(server.connection(), told.append)
    server.groups[CLAIMS] = ["v1"]
    world = World(server)
    put_claim(world, "gpu")
    put_claim(world, "m", "10.1.0.1")
    try:
        watch.need()
        wait_until(lambda: told == [("ml", "m")], "the claim")
        assert watch.told("ml", "m", "uid-m")
        assert watch.told("ml", "m", "another") == ""
        server.delete(RESOURCE_CLAIMS, "m-nic", "ml")
        wait_until(lambda: not watch.told("ml", "m", "uid-m"), "that it is gone")
    finally:
        watch.stop()
