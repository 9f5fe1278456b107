"""What claims do late, again or never: templates, allocations, drivers, a rank 0 made anew."""

import pytest

from tests.cluster.node import jobs
from tests.cluster.node.expectations import assert_on_the_fabric
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.namespace import Namespace
from tests.cluster.node.node import Node
from tests.cluster.node.pods import unschedulable
from webhook.core import names
from webhook.core.model import Object

from .claims import (
    assert_met_at_the_claims_address,
    claim_address,
    claims_of,
    create_template,
    device_class,
    give,
    network_data,
    pytorchjob,
)
from .drivers import Driver

pytestmark = pytest.mark.usefixtures("webhook", "controller", "dranet")
UNPREPARED = "FailedPrepareDynamicResources"


def failed(space: Namespace) -> list[Object]:
    """Give what `explain` finds to have failed of the namespace's job."""
    return [each for each in space.explain("job/bert") if each["level"] == "fail"]


def test_a_job_whose_template_comes_late_begins_once_it_is_there(
    namespace: NamespaceFactory,
) -> None:
    """Before, `explain` names the template that lacks; no condition of the pods does."""
    space = namespace("own-claims")
    pods = space.start(*pytorchjob("late"))

    def are_told() -> bool:
        events = space.events("FailedResourceClaimCreation")
        return {event["involvedObject"]["uid"] for event in events} >= {pod.uid for pod in pods}

    space.wait(are_told, "both pods to be told of the template")
    (found,) = failed(space)
    assert found["code"] == "claim-template-missing"
    assert "ResourceClaimTemplate late" in found["message"]
    create_template(space, "late")
    reports = [pod.report() for pod in pods]
    assert_met_at_the_claims_address(reports)
    for report in reports:
        assert_on_the_fabric(report)


def test_a_claim_that_is_never_allocated_is_named(namespace: NamespaceFactory) -> None:
    """No driver has a device of its class."""
    space = namespace("own-claims")
    space.api.ensure(device_class("of-nobody", "nobody.example.com"))
    create_template(space, "never", "of-nobody")
    pods = space.start(*pytorchjob("never"))
    pods[0].wait(unschedulable, "the scheduler to find no device")
    found = {each["code"]: each for each in failed(space)}
    assert "claim card" in found["claim-unallocated"]["message"]
    assert found["driver-silent"]["subject"] == "DeviceClass of-nobody"
    assert "nobody.example.com" in found["driver-silent"]["message"]


def test_a_job_begins_once_its_driver_is_back_and_keeps_its_address_over_a_restart(
    namespace: NamespaceFactory, dranet: Driver
) -> None:
    """The worker cannot be prepared while the driver is away; rank 0's claim keeps its address."""
    space = namespace("own-claims")
    create_template(space, "card")
    master, worker = pytorchjob("card")
    (first,) = space.start(master)
    address = claim_address(first)
    dranet.stop(force=True)
    (second,) = space.start(worker)
    space.wait(lambda: space.events(UNPREPARED), "the kubelet to miss the driver")
    assert network_data(second) == []
    dranet.start()
    reports = [pod.report() for pod in (first, second)]
    assert assert_met_at_the_claims_address(reports) == address
    for report in reports:
        assert_on_the_fabric(report)


def test_rank_zero_made_anew_has_a_new_claim_and_tells_its_new_address(
    namespace: NamespaceFactory, node: Node
) -> None:
    """It gets a card that was taken before; the worker meets it once it starts again."""
    space = namespace("own-claims")
    create_template(space, "card")
    (early,) = space.start(give(jobs.pod("early", ["sleep", "600"]), "card"))
    claim_address(early)
    master, worker = pytorchjob("card")
    first, other = space.start(master, worker)
    before = assert_met_at_the_claims_address([pod.report() for pod in (first, other)])
    (old,) = claims_of(first)
    for each in (early, first):
        each.delete(1)
    (again,) = space.start(master)
    address = claim_address(again)
    (new,) = claims_of(again)
    assert address != before
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    for each in (again, other):
        for key in (names.MASTER_ADDR, names.MASTER_HOST):
            each.wait_for_annotation(key, address)
    assert again.environment()["MASTER_ADDR"] == address
    node.containerd.kill_containers(other.uid)
    for pod in (again, other):  # rank 0 first: it tells once the worker's new container has come
        report = pod.report()
        assert report.master_addr == report.train["store"] == address
        assert_on_the_fabric(report)
