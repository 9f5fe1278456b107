"""What `explain` finds of devices of which no node offers enough."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, node
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers

NIC = DeviceClass("nic", "rdma/hca", ("dra.net",))


@pytest.mark.parametrize("drivers", [frozenset({"dra.net"}), frozenset[str]()], ids=["", "silent"])
def test_devices_that_claims_may_give_are_not_missed(drivers: frozenset[str]) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 cannot allocate all claims.")
    scene.nodes = [node("node-1", {}), node("node-2", {})]
    scene.changes["device_offers"] = DeviceOffers((NIC,), drivers)
    told = " ".join(texts(findings(scene, "devices")))
    assert ("none of 2 nodes offers it" in told) is not bool(drivers)
    assert not drivers or "cannot allocate all claims" in one(scene, "scheduling")
