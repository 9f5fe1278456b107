"""What `explain` finds of devices of which no node offers enough."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import Scene, node
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
    scene.unschedule(scene.master, "0/2 nodes are available: 2 node(s) didn't match Pod's node affinity/selector.")
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
