"""What `explain` finds of devices of which no node offers enough."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, node
from webhook.core.cluster.device_classes import DeviceOffers, read_device_class, read_device_slice


def by_claim(expression: str, devices: int) -> DeviceOffers:
    selectors = [{"cel": {"expression": expression}}]
    nic = {
        "metadata": {"name": "nic"},
        "spec": {"extendedResourceName": "rdma/hca", "selectors": selectors},
    }
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    listed = [{"name": f"d-{number}"} for number in range(devices)]
    part = {"spec": {"driver": "dra.net", "nodeName": "node-1", "pool": pool, "devices": listed}}
    return DeviceOffers((read_device_class(nic),), (read_device_slice(part),))


@pytest.mark.parametrize(
    ("expression", "devices", "is_told"),
    [
        ('device.driver == "dra.net"', 1, False),
        ('device.driver == "dra.net"', 0, True),
        ("device.attributes['dra.net'].rdma", 0, False),
    ],
)
def test_devices_that_claims_may_give_are_not_missed(
    expression: str, devices: int, is_told: bool
) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 cannot allocate all claims.")
    scene.nodes = [node("node-1", {}), node("node-2", {})]
    scene.changes["device_offers"] = by_claim(expression, devices)
    told = " ".join(texts(findings(scene, "devices")))
    assert ("none of 2 nodes offers it, nor does DeviceClass nic (DRA)" in told) is is_told
    assert is_told or "cannot allocate all claims" in one(scene, "scheduling")


def test_a_device_that_a_claim_gave_is_not_lost() -> None:
    scene = Scene(0)
    scene.nodes = [node("node-1", {})]
    assert "node-1 offers 0 now" in one(scene, "devices")
    scene.changes["device_offers"] = by_claim("true", 0)
    assert findings(scene, "devices") == []
    scene.changes = {}
    scene.master["status"]["extendedResourceClaimStatus"] = {
        "resourceClaimName": "bert-master-0-extended"
    }
    assert findings(scene, "devices") == []
