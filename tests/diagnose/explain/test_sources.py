"""What `explain` says where addresses come from another source than Multus, or from none."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import GkeScene, PodNetworkScene, Scene
from webhook.diagnose.explain.explanation import explain


def told(scene: Scene) -> str:
    """Return all that is said, with what to do."""
    return "\n".join(f"{each.message} {each.action}" for each in explain(scene.reading).findings)


def test_a_job_of_gke_that_trains_well() -> None:
    scene = GkeScene()
    assert texts(findings(scene)) == []
    assert (
        "rank 0, bert-master-0, is at 192.168.0.1 on eth1, and all 4 members are told so"
        in told(scene)
    )
    assert [row.address for row in explain(scene.reading).rows] == [
        f"192.168.0.{number}" for number in range(1, 5)
    ]
    assert "Multus" not in told(scene)
    found = explain(scene.reading).rows[0].details["networks"]
    assert found == [{"interface": "eth1", "network": "rdma-0", "addresses": ["192.168.0.1"]}]


class PodNetworkWithVariablesScene(PodNetworkScene):
    """The same, with a variable for the pod network's interfaces."""

    written = PodNetworkScene.written + "    env: {NCCL_SOCKET_IFNAME: ^lo}"


@pytest.mark.parametrize("kind", [PodNetworkScene, PodNetworkWithVariablesScene])
def test_a_job_that_is_left_on_the_pod_network(kind: type[PodNetworkScene]) -> None:
    scene = kind()
    assert texts(findings(scene)) == []
    why = "not injected: rendezvous: profile shared says rendezvous.addressSource: none: the job meets on the pod network"
    assert why in told(scene)
