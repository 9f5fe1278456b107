"""What `explain` says of devices: of which no node offers enough, and whose names are awaited."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, ago, node
from webhook.core.cluster.device_classes import DeviceClass, DeviceOffers

ASKING = """
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
"""


class Asking(Scene):
    """A job whose profile asks for device names."""

    written = ASKING


def test_a_wait_for_names_alone_is_told_as_such() -> None:
    scene = Asking(1)
    pod = scene.pods["bert-worker-0"]
    scene.wait(pod, ago(minutes=5))
    scene.tell(pod, "192.168.0.1")
    assert "warn pod bert-worker-0: waits for the names of its RDMA devices, for 5 min" in [
        text.replace("fail", "warn") for text in texts(findings(scene, "wait"))
    ]


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
