"""What `explain` says where addresses come from another source than Multus, or from none."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import GkeScene, PodNetworkScene, Scene, ago, event
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.explanation import explain


def told(scene: Scene) -> str:
    """Return all that is said, with what to do."""
    return "\n".join(f"{each.message} {each.action}" for each in explain(scene.reading).findings)


def lose_addresses(pod: Object) -> None:
    for key in (names.GKE_POD_IPS, names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR):
        pod["metadata"]["annotations"].pop(key, None)


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


@pytest.mark.parametrize(
    ("pod_ips", "message"),
    [
        (
            "[oops",
            "network rdma-0@eth1 gave no address that can be used, as annotation networking.gke.io/pod-ips tells",
        ),
        (
            '[{"networkName":"rdma-0","ip":""}]',
            "network rdma-0@eth1 gave no address that can be used",
        ),
        (
            '[{"networkName":"rdma-1","ip":"10.1.0.7"}]',
            "has no address on rdma-0@eth1: annotation networking.gke.io/pod-ips tells none",
        ),
        ("null", "has no address on rdma-0@eth1: annotation networking.gke.io/pod-ips tells none"),
    ],
)
def test_what_is_wrong_with_pod_ips(pod_ips: str, message: str) -> None:
    scene = GkeScene(0)
    scene.master["metadata"]["annotations"][names.GKE_POD_IPS] = pod_ips
    assert message in one(scene, "networks")
    assert "Multus" not in told(scene)
    assert "GKENetworkParamSet" in first(scene).action


def test_no_pod_ips_after_a_minute_but_not_before() -> None:
    scene = GkeScene(0)
    lose_addresses(scene.master)
    scene.bind(scene.master)
    assert "GKE has written no annotation networking.gke.io/pod-ips" in one(scene, "networks")
    assert "Multus" not in told(scene)
    scene.bind(scene.master, ago(seconds=20))
    assert findings(scene, "networks") == []


def test_a_sandbox_that_gke_could_not_make() -> None:
    scene = GkeScene(0)
    lose_addresses(scene.master)
    scene.bind(scene.master)
    text = 'rpc error: code = Unknown desc = plugin type="cilium-cni" failed (add): unable to create endpoint'
    scene.events.append(
        event("Pod", "bert-master-0", "FailedCreatePodSandBox", text, source="kubelet")
    )
    assert "its network could not be made" in one(scene, "networks")
    assert "Multus" not in told(scene)


def test_a_volume_that_came_late_is_no_cause_once_gke_has_made_the_network() -> None:
    scene = GkeScene(1)
    pod = scene.workers[0]
    scene.wait(pod, ago(seconds=30))
    scene.events.append(
        event("Pod", "bert-worker-0", "FailedMount", "MountVolume.SetUp failed", source="kubelet")
    )
    assert findings(scene, "volumes") == []
    lose_addresses(pod)
    assert "a volume of it cannot be mounted" in one(scene, "volumes")


def test_a_pod_with_networks_of_both_is_judged_by_both() -> None:
    scene = GkeScene(0)
    scene.master["metadata"]["annotations"][names.NETWORKS] = "default/rdma-net"
    lose_addresses(scene.master)
    scene.bind(scene.master)
    assert "Multus has written no annotation" in one(scene, "networks")
    status = '[{"name":"default/rdma-net","interface":"net1","ips":["10.0.0.1"]}]'
    scene.master["metadata"]["annotations"][names.NETWORK_STATUS] = status
    assert "GKE has written no annotation" in one(scene, "networks")


def test_a_source_of_another_version() -> None:
    scene = GkeScene(0)
    scene.master["metadata"]["annotations"][names.ADDRESS_SOURCE] = "pigeon"
    assert "as annotation fabric-injector.io/address-source tells" in one(scene, "networks")
    assert first(scene).action == "run webhook and controller in the same version"


def test_a_job_whose_profile_has_another_source_today() -> None:
    scene = Scene()
    scene.profiles = PodNetworkScene(0).profiles
    assert (
        "no address would be published to it: profile shared says rendezvous.addressSource: none"
        in told(scene)
    )
