"""What `explain` says of pods whose cards are claims (DRA)."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import ClaimScene, Scene, ago, event
from webhook.core import names
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers, DeviceSlice
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import explain

UNALLOCATED = "0/2 nodes are available: 2 cannot allocate all claims."


def told(scene: Scene) -> str:
    return "\n".join(f"{each.message} {each.action}" for each in explain(scene.reading).findings)


def pending(workers: int = 0) -> ClaimScene:
    scene = ClaimScene(workers)
    for pod in scene.pods.values():
        made = pod["status"]["resourceClaimStatuses"]
        scene.unschedule(pod, UNALLOCATED)
        pod["status"]["resourceClaimStatuses"] = made
    for claim in scene.claims.values():
        claim["status"] = {}
    return scene


def test_a_job_that_trains_well() -> None:
    scene = ClaimScene()
    assert texts(findings(scene)) == []
    assert (
        "rank 0, bert-master-0, is at 192.168.0.1 on net1, and all 4 members are told so"
        in told(scene)
    )
    rows = explain(scene.reading).rows
    assert [row.address for row in rows] == [f"192.168.0.{number}" for number in range(1, 5)]
    assert rows[0].details["networks"] == [
        {"interface": "net1", "network": "rails", "addresses": ["192.168.0.1"]}
    ]
    assert "Multus" not in told(scene)


def test_a_template_that_does_not_exist() -> None:
    scene = ClaimScene(1)
    scene.claims.clear()
    scene.changes["claim_templates"] = frozenset({"other"})
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["status"].pop("resourceClaimStatuses", None)
    assert first(scene).code is Code.CLAIM_TEMPLATE_MISSING
    assert "asks by claim rails for ResourceClaimTemplate rails, which does not exist" in one(
        scene, "claims"
    )
    scene.changes["claim_templates"] = None
    assert findings(scene, "claims") == [], "the templates could not be read"


def test_a_claim_that_does_not_exist() -> None:
    scene = pending()
    scene.claims.clear()
    assert "asks by claim rails for a ResourceClaim that does not exist" in one(scene, "claims")
    scene.changes["claims"] = None
    assert findings(scene, "claims") == []


def test_a_claim_that_waits() -> None:
    scene = pending(1)
    found = one(scene, "claims")
    assert "waits for claim rails, which is not allocated" in found
    assert "cannot allocate all claims" in found
    assert findings(scene, "devices") == []


@pytest.mark.parametrize("is_there", [False, True])
def test_a_claim_that_waits_for_a_driver_that_is_silent(is_there: bool) -> None:
    scene = pending()
    slices = (DeviceSlice("dra.net", "p", 1, 1, "node-1", 1, 0),) if is_there else ()
    nic = DeviceClass("nic", "", "dra.net", ("dra.net",))
    scene.changes["device_offers"] = DeviceOffers(
        (nic, nic._replace(name="other", named=("x",))), slices
    )
    silent = [each for each in findings(scene, "devices") if each.code is Code.DRIVER_SILENT]
    assert [(each.subject, each.message) for each in silent] == (
        []
        if is_there
        else [("DeviceClass nic", "names dra.net, of which there is no ResourceSlice")]
    )


def waiting(scene: ClaimScene, seconds: float) -> None:
    scene.bind(scene.master, ago(seconds=seconds))
    scene.attach(scene.master)
    for key in (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
        scene.master["metadata"]["annotations"].pop(key, None)


def test_a_claim_that_is_allocated_without_an_address() -> None:
    scene = ClaimScene(0)
    waiting(scene, 90)
    found = (
        "its claims are allocated, and no address was published for rails@net1 by driver dra.net"
    )
    assert found in one(scene, "claims")
    waiting(scene, 20)
    assert findings(scene, "claims") == []
    assert "its network is being made" in told(scene)


def test_a_pod_on_a_node_whose_claims_hold_nothing() -> None:
    scene = ClaimScene(0)
    waiting(scene, 90)
    scene.claims["bert-master-0-rails-x"]["status"] = {}
    assert "has no claim whose devices are allocated, though it is on a node" in one(
        scene, "claims"
    )


def test_an_address_that_cannot_be_used() -> None:
    scene = ClaimScene(0)
    scene.attach(scene.master, "localhost")
    found = one(scene, "networks")
    assert (
        "network rails@net1 gave no address that can be used, as status.devices of its ResourceClaims tells"
        in found
    )
    assert "Multus" not in told(scene)


def test_a_sandbox_that_could_not_be_made() -> None:
    scene = ClaimScene(0)
    waiting(scene, 90)
    text = 'rpc error: code = Unknown desc = NRI plugin "dranet": no such device'
    scene.events.append(
        event("Pod", "bert-master-0", "FailedCreatePodSandBox", text, source="kubelet")
    )
    assert "its network could not be made" in one(scene, "networks")
    assert findings(scene, "claims") == []


def test_claims_that_could_not_be_read_are_blamed_for_nothing() -> None:
    scene = ClaimScene(0)
    scene.changes["claims"] = None
    assert findings(scene, "claims") == []


def test_a_pod_without_claims_beside_others_that_have_them() -> None:
    scene = ClaimScene(1)
    del scene.workers[0]["spec"]["resourceClaims"]
    assert findings(scene, "claims") == []


def test_a_claim_that_is_allocated_while_its_pod_is_on_no_node_yet() -> None:
    scene = pending()
    for claim in scene.claims.values():
        claim["status"] = {"allocation": {"devices": {}}}
    assert findings(scene, "claims") == []


def test_the_classes_among_which_a_request_may_choose_are_looked_at() -> None:
    scene = pending()
    for claim in scene.claims.values():
        choice = [{"deviceClassName": "first"}, {"deviceClassName": "second"}, "odd"]
        claim["spec"]["devices"]["requests"] = [{"name": "nic", "firstAvailable": choice}]
    classes = [
        DeviceClass(name, "", f"{name}.net", (f"{name}.net",))
        for name in ("first", "second", "third")
    ]
    scene.changes["device_offers"] = DeviceOffers(tuple(classes), ())
    silent = [
        each.subject for each in findings(scene, "devices") if each.code is Code.DRIVER_SILENT
    ]
    assert silent == ["DeviceClass first", "DeviceClass second"]
