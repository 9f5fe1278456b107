"""What claims do late, again or never: templates, allocations, drivers, and a rank 0 that is made anew."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from tests.cluster.claims.claims import (
    claim_address,
    claims_of,
    create_template,
    device_class,
    give,
    network_data,
    template,
)
from tests.cluster.claims.drivers import Driver
from tests.cluster.claims.jobs import assert_met_at_the_claims_address, pytorchjob, start, trained
from tests.cluster.client import Client
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Pod, create
from tests.node.conftest import Figures, NamespaceFactory
from tests.node.test_jobs import assert_on_the_fabric
from tests.waiting import wait_until
from webhook.cli import main
from webhook.core import names
from webhook.core.model import Object

from .test_node import pod

pytestmark = pytest.mark.usefixtures("webhook", "controller")
Explain = Callable[[str], list[Object]]


@pytest.fixture
def explain(node: Node, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Explain:
    """Give a function that explains the job of the namespace; it gives what failed."""

    def run(namespace: str) -> list[Object]:
        monkeypatch.setenv(
            "KUBECONFIG", str(node.control_plane.kubeconfig(tmp_path / "kubeconfig"))
        )
        result = CliRunner().invoke(main, ["explain", "job/bert", "-n", namespace, "-o", "json"])
        findings: list[Object] = json.loads(result.output)["findings"]
        return [each for each in findings if each["level"] == "fail"]

    return run


def is_unschedulable(found: Object) -> bool:
    """Tell whether the scheduler has found no place for the pod."""
    conditions = found["status"].get("conditions", [])
    return any(one["type"] == "PodScheduled" and one["status"] == "False" for one in conditions)


def test_a_job_whose_template_comes_late_begins_once_it_is_there(
    api: Client, namespace: NamespaceFactory, dranet: Driver, explain: Explain
) -> None:
    """Before, `explain` names the template that lacks; no condition of the pods says anything, and no scheduler looks at them."""
    name = namespace("own-claims")
    pods = start(api, pytorchjob("late"), name)
    for each in pods:
        each.wait(
            lambda _, each=each: bool(_events(each, "FailedResourceClaimCreation")),  # type: ignore[misc]
            "to be told of the template",
        )
    assert [
        (each["code"], "ResourceClaimTemplate late" in each["message"]) for each in explain(name)
    ] == [("claim-template-missing", True)]
    create_template(api, template("late", "net1"), name)
    reports = trained(pods)
    assert_met_at_the_claims_address(reports)
    for report in reports:
        assert_on_the_fabric(report)


def test_a_claim_that_is_never_allocated_is_named(
    api: Client, namespace: NamespaceFactory, dranet: Driver, explain: Explain
) -> None:
    """No driver has a device of its class."""
    name = namespace("own-claims")
    api.ensure(device_class("of-nobody", "nobody.example.com"))
    create_template(api, template("never", "net1", "of-nobody"), name)
    pods = start(api, pytorchjob("never"), name)
    pods[0].wait(is_unschedulable, "the scheduler to find no device")
    found = {each["code"]: each for each in explain(name)}
    assert "claim card" in found["claim-unallocated"]["message"]
    assert found["driver-silent"]["subject"] == "DeviceClass of-nobody"
    assert "nobody.example.com" in found["driver-silent"]["message"]


def test_a_job_begins_once_its_driver_is_back_and_keeps_its_address_over_a_restart(
    api: Client, namespace: NamespaceFactory, dranet: Driver, figures: Figures
) -> None:
    """The worker's pod cannot be prepared while the driver is away; rank 0's claim keeps what the driver told before."""
    name = namespace("own-claims")
    create_template(api, template("card", "net1"), name)
    master, worker = pytorchjob("card")
    first = create(api, master, name)
    address = claim_address(first)
    dranet.kill()
    second = create(api, worker, name)
    second.wait(
        lambda _: bool(_events(second, "FailedPrepareDynamicResources")),
        "the kubelet to miss the driver",
    )
    assert network_data(second) == []
    dranet.start()
    reports = trained([first, second])
    assert assert_met_at_the_claims_address(reports) == address
    for report in reports:
        assert_on_the_fabric(report)
    figures.append(
        f"driver restarted: worker starts {reports[1].seconds_to_start():.0f} s after creation"
    )


def test_rank_zero_made_anew_has_a_new_claim_and_tells_its_new_address(
    api: Client, namespace: NamespaceFactory, dranet: Driver, node: Node
) -> None:
    """It gets a card that was taken before; the worker that still runs is told, and meets it there once its container starts again."""
    name = namespace("own-claims")
    create_template(api, template("card", "net1"), name)
    early = create(api, give(pod("early", ["sleep", "600"]), "card"), name)
    claim_address(early)
    master, worker = pytorchjob("card")
    first, other = start(api, [master, worker], name)
    before = assert_met_at_the_claims_address(trained([first, other]))
    (old,) = claims_of(first)
    for each in (early, first):
        each.delete_gracefully()
    for each in (early, first):
        wait_until(lambda each=each: not api.answers(each.path), f"{each.name} to be gone", 60)  # type: ignore[misc]
    again = create(api, master, name)
    address = claim_address(again)
    (new,) = claims_of(again)
    assert address != before
    assert new["metadata"]["uid"] != old["metadata"]["uid"]
    for each in (again, other):
        for key in (names.MASTER_ADDR, names.MASTER_HOST):
            each.wait_for_annotation(key, address)
    assert again.environment()["MASTER_ADDR"] == address
    node.containerd.kill_containers(other.uid)
    for report in trained(
        [again, other]
    ):  # rank 0 first: it tells once the worker's new container has come
        assert report.train["environment"]["MASTER_ADDR"] == report.train["store"] == address
        assert_on_the_fabric(report)


def _events(found: Pod, reason: str) -> list[Object]:
    """Give the pod's Events of this reason."""
    path = f"/api/v1/namespaces/{found.namespace}/events?fieldSelector=reason%3D{reason},involvedObject.uid%3D{found.uid}"
    events: list[Object] = found.api.expect("GET", path)["items"]
    return events
