"""Whose pods the controller serves: what a user may write on a pod is not enough."""

import pytest

from tests.control.test_controller import World, running
from tests.fake_apiserver import NAMESPACES, PODS, FakeApiServer, status
from tests.pods import member_pod
from tests.waiting import wait_until
from webhook.control.controller import Controller
from webhook.core import names


@pytest.fixture
def world(server: FakeApiServer) -> World:
    return World(server)


def put(world: World, name: str, namespace: str, address: str = "") -> None:
    pod = member_pod(name, "master" if name.startswith("m") else "worker", address=address)[
        "metadata"
    ]
    world.server.put(PODS, **{**pod, "namespace": namespace})


def test_nothing_is_done_in_a_namespace_without_the_label_until_it_has_it(world: World) -> None:
    world.server.put(NAMESPACES, "evil", labels={})
    put(world, "m-evil", "evil", "10.6.6.6")
    world.put("m-a", "10.0.0.1")
    with running(world) as controller:
        wait_until(lambda: world.told() == {"m-a": "10.0.0.1"}, "the address")
        put(world, "w-evil", "evil")
        world.put("w-a")
        wait_until(lambda: "w-a" in world.told(), "the worker's address")
        assert {name for name, _ in world.writes()} == {"m-a", "w-a"}
        assert controller.namespaces_passed_over() == 1
        assert controller.pods_waiting() == 2
        world.server.put(NAMESPACES, "evil", labels={names.PROFILE: "shared"})
        wait_until(
            lambda: world.told().get("w-evil") == "10.6.6.6",
            "the addresses where the label came later",
            20,
        )
        assert controller.namespaces_passed_over() == 0
    assert len(world.server.asked("list", PODS)) == 1, "the others are not listed again"


def test_a_job_is_served_to_its_end_where_the_label_is_removed_while_it_waits(world: World) -> None:
    world.put("m-a")
    world.put("w-a")
    with running(world) as controller:
        wait_until(lambda: controller.pods_waiting() == 2, "the pods")
        world.server.delete(NAMESPACES, "ml")  # a watch by label is told so
        wait_until(lambda: not controller._namespaces.items, "the end of the label")
        world.put("w-late")
        world.put("m-a", "10.0.0.1")
        wait_until(lambda: world.told().keys() == {"m-a", "w-a"}, "the addresses")
        world.server.compact()
        world.server.end_watches()
        wait_until(lambda: len(world.server.asked("list", PODS)) == 2, "the second list", 20)
        world.put("m-a", "10.0.0.2")
        wait_until(
            lambda: world.told() == {"m-a": "10.0.0.2", "w-a": "10.0.0.2"}, "the new addresses", 20
        )


def test_publishes_nothing_while_the_labelled_namespaces_are_unknown(
    world: World,
) -> None:
    world.server.misbehave("list", NAMESPACES, *[status(403, "may not list namespaces")] * 2)
    world.put("m-a", "10.0.0.1")
    with running(world) as controller:
        wait_until(
            lambda: "may not list namespaces" in controller.checks()["namespaces"], "the problem"
        )
        assert world.server.asked("list", PODS) == []
        wait_until(lambda: world.told() == {"m-a": "10.0.0.1"}, "the address", 20)
        assert controller.checks() == {"namespaces": "", "pods": ""}


@pytest.mark.parametrize("pod_opt_in", [True, False])
def test_pods_that_opted_in_or_out_themselves(server: FakeApiServer, pod_opt_in: bool) -> None:
    world = World(server)
    world.controller = Controller(
        server.connection(), world.record, world.may_write, pod_opt_in=pod_opt_in
    )
    for name, namespace, profile in (
        ("m-in", "elsewhere", "shared"),
        ("m-out", "ml", "none"),
        ("m-other-out", "elsewhere", "none"),
        ("m-evil", "elsewhere", None),
        ("m-ml", "ml", None),
    ):
        pod = member_pod(name, "master", f"j-{name}", address="10.0.0.1")["metadata"]
        pod["labels"] |= {names.PROFILE: profile} if profile else {}
        server.put(PODS, **{**pod, "namespace": namespace})
    counted = {"m-ml", "m-in"} if pod_opt_in else {"m-ml"}
    with running(world) as controller:
        wait_until(lambda: world.told().keys() == counted, "the addresses")
        assert controller.namespaces_passed_over() == 1
