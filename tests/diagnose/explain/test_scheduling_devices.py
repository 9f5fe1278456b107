"""What `explain` finds of devices of which no node offers enough."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import Scene, node
from webhook.core.cluster.device_classes import DeviceOffers, read_device_class, read_device_slice
from webhook.core.model import Object
from webhook.diagnose.codes import Code


@pytest.mark.parametrize(
    ("nodes", "told"),
    [
        ([], "asks for 8 nvidia.com/gpu, and none of 0 nodes offers it"),
        ([node("a", {})], "asks for 1 rdma/hca, and none of 1 node offers it"),
        (
            [node("a", {"rdma/hca": "0"}), node("b", {"rdma/hca": "x"})],
            "asks for 1 rdma/hca, and none of 2 nodes offers it",
        ),
    ],
    ids=["none", "other", "spent"],
)
def test_devices_that_no_node_offers(nodes: list[Object], told: str) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/1 nodes are available: 1 Insufficient rdma/hca.")
    scene.nodes = nodes
    assert told in " ".join(texts(findings(scene, "devices")))


def test_more_devices_than_any_node_has() -> None:
    scene = Scene(0)
    scene.master["spec"]["containers"][0]["resources"]["limits"]["rdma/hca"] = "65"
    scene.master["spec"]["containers"][0]["resources"]["requests"]["rdma/hca"] = "65"
    scene.unschedule(scene.master, "")
    assert "asks for 65 rdma/hca, and no node offers more than 64" in one(scene, "devices")


def test_a_node_selector_that_no_node_with_devices_fits() -> None:
    scene = Scene(0)
    scene.master["spec"]["nodeSelector"] = {"rail": "fast"}
    scene.unschedule(
        scene.master,
        "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.",
    )
    assert "asks for 1 rdma/hca, and of 2 nodes with enough of it none has rail=fast" in " ".join(
        texts(findings(scene, "devices"))
    )


@pytest.mark.parametrize(
    ("offered", "code"),
    [({}, Code.RESOURCE_NOWHERE), ({"rdma/hca": "1"}, Code.RESOURCE_TOO_SMALL)],
    ids=["none", "too few"],
)
def test_a_device_of_which_no_node_has_enough(offered: dict[str, str], code: Code) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        container = pod["spec"]["containers"][0]
        container["resources"] = {kind: {"rdma/hca": "2"} for kind in ("limits", "requests")}
        scene.unschedule(pod, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    scene.nodes = [node("node-1", offered)]
    assert (first(scene).code, first(scene).action) == (code, code.action)


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
