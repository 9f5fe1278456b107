"""What ``check`` says of our own pods that are not ready."""

from typing import Any

import pytest
import yaml

from tests.diagnose.check.findings import brief, expect
from tests.tables import cases
from webhook.core.cluster.nodes import NodeOffer, place_of
from webhook.diagnose.check.deployments import Deployment, OwnPod, check_deployments, read_own_pod

OWNER = [{"kind": "ReplicaSet", "name": "w-7d4f9"}]


@pytest.mark.parametrize(
    ("status", "why"),
    cases("""
ready | {conditions: [{type: Ready, status: "True"}]} |
no node | {conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: 0/3 nodes are available}]} | Unschedulable: 0/3 nodes are available
no image | {containerStatuses: [{name: webhook, state: {waiting: {reason: ImagePullBackOff, message: Back-off}}}]} | ImagePullBackOff: Back-off
no image, of an init container | {initContainerStatuses: [{name: webhook, state: {waiting: {reason: ImagePullBackOff, message: Back-off}}}]} | ImagePullBackOff: Back-off
crashes | {containerStatuses: [{name: webhook, lastState: {terminated: {exitCode: 2}}, restartCount: 4}]} | container webhook ended with 2, 4 restarts
begins | {containerStatuses: [{name: webhook, state: {waiting: {reason: ContainerCreating}}}]} | not ready yet
nothing told | {} | not ready yet
"""),
)
def test_tells_why_a_pod_is_not_ready(status: str, why: str) -> None:
    pod = {"metadata": {"ownerReferences": OWNER}, "status": yaml.safe_load(status)}
    assert read_own_pod(pod) == OwnPod("w-7d4f9", why)


def test_reads_where_a_pod_is_and_may_go() -> None:
    spec = {"nodeName": "n-1", "nodeSelector": {"kubernetes.io/os": "linux"}}
    found = read_own_pod({"metadata": {"ownerReferences": OWNER}, "spec": spec})
    assert found == OwnPod("w-7d4f9", "not ready yet", "n-1", place_of({"spec": spec}))


@pytest.mark.parametrize("metadata", [{}, {"ownerReferences": OWNER, "deletionTimestamp": "t"}])
def test_leaves_out_what_is_no_replica(metadata: dict[str, Any]) -> None:
    assert read_own_pod({"metadata": metadata}) is None


@pytest.mark.parametrize(
    ("ready", "waiting", "told"),
    [
        (0, 2, "0 of 2 replicas ready (no image): no pod of a labelled namespace can be created"),
        (1, 1, "1 of 2 replicas ready (no image)"),
        (
            2,
            1,
            "2 of 2 replicas ready, but its rollout is not done: 1 pod of image i:1 not ready (no image)",
        ),
    ],
)
def test_a_deployments_finding_has_its_pods_reasons_once(
    ready: int, waiting: int, told: str
) -> None:
    pods = [
        OwnPod("w-1", "no image"),
        OwnPod("w-2", "no image"),
        OwnPod("w-2", ""),
        OwnPod("w-extra-1", "another's"),
    ]
    first, *_ = brief(
        check_deployments([Deployment("w", "webhook", 2, ready, waiting, "i:1")], pods, "ns")
    )
    assert first.endswith(f"Deployment ns/w: {told}")


LINUX = {"kubernetes.io/os": "linux"}
HERE, THERE = NodeOffer("n-1", LINUX), NodeOffer("n-2", LINUX)
GPUS = ({"key": "nvidia.com/gpu", "effect": "NoSchedule"},)
READY = "ok deployment-ready Deployment ns/w | 2 of 2 replicas ready"
TOGETHER = (
    "warn replicas-together Deployment ns/w | 2 of 2 replicas ready, all on node n-1, though 1 other "
    "node may take one: nobody takes over while it fails"
)


@pytest.mark.parametrize(
    ("placed", "nodes", "row"),
    [
        ("n-1 n-1", [HERE, THERE], TOGETHER),
        ("n-1 n-2", [HERE, THERE], READY),
        ("n-1 n-1", [HERE], READY),
        ("n-1 n-1", [], READY),
        ("n-1 n-1", [HERE, NodeOffer("n-2", LINUX, not_ready="gone")], READY),
        ("n-1 n-1", [HERE, NodeOffer("n-2", LINUX, cordoned=True)], READY),
        ("n-1 n-1", [HERE, NodeOffer("n-2", LINUX, taints=GPUS)], READY),
        ("n-1 n-1", [HERE, NodeOffer("n-2")], READY),
        ("n-1", [HERE, THERE], READY),
        ("", [HERE, THERE], READY),
    ],
    ids=[
        "together",
        "apart",
        "one node",
        "nodes unknown",
        "the other is dead",
        "the other is cordoned",
        "the other repels",
        "the other is of another kind",
        "its pods could not all be read",
        "none was read",
    ],
)
def test_warns_of_replicas_that_one_node_would_take_along(
    placed: str, nodes: list[NodeOffer], row: str
) -> None:
    place = place_of({"spec": {"nodeSelector": LINUX}})
    pods = [OwnPod("w-1", "", node, place) for node in placed.split()]
    deployments = [Deployment("w", "webhook", 2, 2, 0, "i:1")]
    [first, *_] = check_deployments(deployments, pods, "ns", nodes)
    expect([first], row)
