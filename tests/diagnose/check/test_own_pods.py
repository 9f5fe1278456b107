"""What ``check`` says of our own pods that are not ready."""

from typing import Any

import pytest

from tests.diagnose.check.findings import brief
from webhook.core.cluster.nodes import NodeOffer, place_of
from webhook.diagnose.check.deployments import Deployment, OwnPod, check_deployments, read_own_pod

OWNER = [{"kind": "ReplicaSet", "name": "w-7d4f9"}]
PULL = {
    "reason": "ImagePullBackOff",
    "message": 'Back-off pulling image "registry/fabric-injector:0.2"',
}
UNPLACED = {
    "type": "PodScheduled",
    "status": "False",
    "reason": "Unschedulable",
    "message": "0/3 nodes are available",
}
MOUNT = {"reason": "ContainerCreating"}


def statuses(*, state: Any = None, last: Any = None, init: bool = False) -> dict[str, Any]:
    """Give a pod's status with one container."""
    container = {
        "name": "webhook",
        "state": state or {},
        "lastState": last or {},
        "restartCount": 4,
    }
    return {"initContainerStatuses" if init else "containerStatuses": [container]}


@pytest.mark.parametrize(
    ("status", "why"),
    [
        ({"conditions": [{"type": "Ready", "status": "True"}]}, ""),
        ({"conditions": [UNPLACED]}, "Unschedulable: 0/3 nodes are available"),
        (statuses(state={"waiting": PULL}), f"ImagePullBackOff: {PULL['message']}"),
        (statuses(state={"waiting": PULL}, init=True), f"ImagePullBackOff: {PULL['message']}"),
        (
            statuses(last={"terminated": {"exitCode": 2}}),
            "container webhook ended with 2, 4 restarts",
        ),
        (statuses(state={"waiting": MOUNT}), "not ready yet"),
        ({}, "not ready yet"),
    ],
    ids=[
        "ready",
        "no node",
        "no image",
        "no image, of an init container",
        "crashes",
        "begins",
        "nothing told",
    ],
)
def test_tells_why_a_pod_is_not_ready(status: dict[str, Any], why: str) -> None:
    assert read_own_pod({"metadata": {"ownerReferences": OWNER}, "status": status}) == OwnPod(
        "w-7d4f9", why
    )


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
READY = "ok Deployment ns/w: 2 of 2 replicas ready"
TOGETHER = f"warn{READY[2:]}, all on node n-1, though 1 other node may take one: nobody takes over while it fails"


@pytest.mark.parametrize(
    ("placed", "nodes", "expected"),
    [
        pytest.param(["n-1", "n-1"], [HERE, THERE], TOGETHER, id="together"),
        pytest.param(["n-1", "n-2"], [HERE, THERE], READY, id="apart"),
        pytest.param(["n-1", "n-1"], [HERE], READY, id="one node"),
        pytest.param(["n-1", "n-1"], [], READY, id="nodes unknown"),
        pytest.param(
            ["n-1", "n-1"],
            [HERE, NodeOffer("n-2", LINUX, not_ready="gone")],
            READY,
            id="the other is dead",
        ),
        pytest.param(
            ["n-1", "n-1"],
            [HERE, NodeOffer("n-2", LINUX, cordoned=True)],
            READY,
            id="the other is cordoned",
        ),
        pytest.param(
            ["n-1", "n-1"],
            [HERE, NodeOffer("n-2", LINUX, taints=GPUS)],
            READY,
            id="the other repels",
        ),
        pytest.param(
            ["n-1", "n-1"], [HERE, NodeOffer("n-2")], READY, id="the other is of another kind"
        ),
        pytest.param(["n-1"], [HERE, THERE], READY, id="its pods could not all be read"),
        pytest.param([], [HERE, THERE], READY, id="none of its pods could be read"),
    ],
)
def test_warns_of_replicas_that_one_node_would_take_along(
    placed: list[str], nodes: list[NodeOffer], expected: str
) -> None:
    place = place_of({"spec": {"nodeSelector": LINUX}})
    pods = [OwnPod("w-1", "", node, place) for node in placed]
    first, *_ = brief(
        check_deployments([Deployment("w", "webhook", 2, 2, 0, "i:1")], pods, "ns", nodes)
    )
    assert first == expected
