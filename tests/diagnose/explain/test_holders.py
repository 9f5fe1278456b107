"""What `explain` says of who holds the devices that a pod waits for."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import Scene, node
from webhook.core.cluster.nodes import devices, read_node
from webhook.core.model import Object
from webhook.diagnose.explain.scheduling import nodes_to_read

TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({}, ["node-1", "node-2"]),
        ({"nodeName": "node-1"}, []),
        ({"nodeSelector": {"kubernetes.io/hostname": "node-2"}}, ["node-2"]),
    ],
    ids=["waits", "has a node", "chooses its node"],
)
def test_reads_nodes_that_offer_what_a_waiting_pod_asks_for(
    change: Object, wanted: list[str]
) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"] |= change
    nodes = [*scene.nodes, node("node-3", {"nvidia.com/gpu": "0"})]
    assert nodes_to_read([scene.master], map(read_node, nodes)) == wanted


@pytest.mark.parametrize(
    ("spec", "tolerations", "is_read"),
    [
        ({"unschedulable": True}, [], False),
        ({"taints": [TAINT]}, [], False),
        ({"taints": [{**TAINT, "effect": "PreferNoSchedule"}]}, [], True),
        ({"taints": [TAINT]}, [{"operator": "Exists"}], True),
        ({"taints": [TAINT]}, [{"key": "gpu", "operator": "Exists", "effect": "NoSchedule"}], True),
        ({"taints": [TAINT]}, [{"key": "gpu", "operator": "Exists", "effect": "NoExecute"}], False),
        ({"taints": [TAINT]}, [{"key": "gpu", "value": "a100"}], True),
        ({"taints": [TAINT]}, [{"key": "gpu", "operator": "Equal", "value": "h100"}], False),
        ({"taints": [TAINT]}, [{"key": "other", "operator": "Exists"}], False),
        (
            {"taints": [TAINT, {"key": "down", "effect": "NoExecute"}]},
            [{"key": "gpu", "operator": "Exists"}],
            False,
        ),
        ({"taints": [{"key": "down", "effect": "NoExecute"}]}, [{"key": "down"}], True),
    ],
    ids=[
        "cordoned",
        "tainted",
        "preferred",
        "all tolerated",
        "this effect tolerated",
        "another effect",
        "this value tolerated",
        "another value",
        "another key",
        "one of two",
        "without a value",
    ],
)
def test_reads_no_node_that_the_pod_cannot_take(
    spec: Object, tolerations: list[Object], is_read: bool
) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"]["tolerations"] = tolerations
    there = read_node({**node("node-0"), "spec": spec})
    assert nodes_to_read([scene.master], [there]) == (["node-0"] if is_read else [])


def asks(amount: int, **fields: str) -> Object:
    return {"name": "x", "resources": {"requests": {"rdma/hca": str(amount)}}, **fields}


@pytest.mark.parametrize(
    ("init", "containers", "amount"),
    [
        ([], [asks(1), asks(2)], 3),
        ([asks(7)], [asks(1)], 7),
        ([asks(1), asks(2)], [asks(3)], 3),
        ([asks(2, restartPolicy="Always")], [asks(1)], 3),
        ([asks(2, restartPolicy="Always"), asks(4)], [asks(1)], 6),
        ([asks(4), asks(2, restartPolicy="Always")], [asks(1)], 4),
    ],
    ids=[
        "together",
        "the largest",
        "none larger",
        "sidecar",
        "beside a sidecar",
        "before a sidecar",
    ],
)
def test_counts_devices_as_the_scheduler_does(
    init: list[Object], containers: list[Object], amount: int
) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"initContainers": init, "containers": containers}}
    assert devices(pod) == {"rdma/hca": amount}


def test_says_that_its_own_job_holds_them() -> None:
    scene = Scene(1)
    scene.unschedule(scene.master, "0/1 nodes are available: 1 Insufficient rdma/hca.")
    scene.nodes = [node("node-1", {"rdma/hca": "1"})]
    scene.changes = {"neighbours": {"node-1": tuple(scene.workers)}}
    [found] = findings(scene, "scheduling")
    assert "(node-1: 1 of 1 held by research/bert-worker-0, all of this job)" in found.action


def test_reads_nothing_for_a_pod_that_has_ended() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["status"]["phase"] = "Failed"
    assert nodes_to_read([scene.master], map(read_node, scene.nodes)) == []


def test_reads_no_more_nodes_than_an_example_needs() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    found = nodes_to_read(
        [scene.master], [read_node(node(f"node-{number}")) for number in reversed(range(12))]
    )
    assert found == [f"node-{number}" for number in range(8)]
