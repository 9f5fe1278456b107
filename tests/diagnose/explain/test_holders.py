"""What `explain` says of who holds the devices that a pod waits for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import Scene, node
from webhook.core.cluster.nodes import devices, read_node
from webhook.core.model import Object
from webhook.diagnose.explain.holders import MOST_NODES, nodes_to_read

TAINT = {"key": "gpu", "value": "a100", "effect": "NoSchedule"}


def holder(name: str, amount: int, resource: str = "rdma/hca") -> Object:
    """Return a pod of another team that holds so much."""
    container = {"name": "main", "resources": {"limits": {resource: str(amount)}}}
    return {"metadata": {"namespace": "ml", "name": name}, "spec": {"containers": [container]}}


def action(neighbours: dict[str, tuple[Object, ...]], **changes: Any) -> str:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    scene.changes = {"neighbours": neighbours, **changes}
    [found] = findings(scene, "scheduling")
    return found.action


@pytest.mark.parametrize(
    ("neighbours", "told"),
    [
        ({"node-1": (holder("serve-0", 64),)}, "rdma/hca (node-1: 64 of 64 held by ml/serve-0)"),
        (
            {"node-1": (holder("b-10", 1), holder("b-2", 1), holder("c", 62), holder("a", 0))},
            "rdma/hca (node-1: 64 of 64 held by ml/c, ml/b-2, ml/b-10)",
        ),
        (
            {
                "node-1": tuple(
                    holder(f"b-{number}", 16 if number < 3 else 8) for number in range(5)
                )
            },
            "rdma/hca (node-1: 64 of 64 held by ml/b-0, ml/b-1, ml/b-2 and 2 more)",
        ),
        (
            {"node-1": (holder("a", 64),), "node-2": (holder("b", 64),)},
            "rdma/hca (node-1: 64 of 64 held by ml/a; node-2: 64 of 64 held by ml/b)",
        ),
        ({"node-1": (holder("a", 63),)}, "rdma/hca"),
        ({"node-1": (holder("a", 64, "nvidia.com/gpu"),)}, "rdma/hca"),
        ({}, "rdma/hca"),
    ],
    ids=[
        "one",
        "the-largest-first",
        "many",
        "on-two-nodes",
        "one-is-left",
        "of-another-resource",
        "not-read",
    ],
)
def test_names_who_holds_the_devices_of_full_nodes(
    neighbours: dict[str, tuple[Object, ...]], told: str
) -> None:
    assert action(neighbours) == f"wait, or free {told} on the nodes"


def test_names_three_nodes_and_no_more() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/4 nodes are available: 4 Insufficient rdma/hca.")
    scene.nodes = [node(f"n{number}", {"rdma/hca": "1"}) for number in range(5)]
    scene.changes = {
        "neighbours": {f"n{number}": (holder(f"p{number}", 1),) for number in range(5)}
    }
    [found] = findings(scene, "scheduling")
    assert (
        "(n0: 1 of 1 held by ml/p0; n1: 1 of 1 held by ml/p1; n2: 1 of 1 held by ml/p2; and 2 more)"
        in found.action
    )


def test_a_resource_that_the_pod_does_not_ask_for_is_held_by_nobody() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/1 nodes are available: 1 Insufficient cpu.")
    scene.changes = {"neighbours": {"node-1": (holder("a", 64, "cpu"),)}}
    [found] = findings(scene, "scheduling")
    assert found.action == "wait, or free cpu on the nodes"


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


def test_names_the_nodes_that_the_pod_chooses_alone() -> None:
    scene = Scene(1)
    for number, pod in enumerate(scene.pods.values(), 1):
        scene.unschedule(
            pod, "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) didn't match."
        )
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"node-{number}"}
    scene.changes = {
        "neighbours": {f"node-{number}": (holder(f"p{number}", 64),) for number in (1, 2)}
    }
    assert [found.action for found in findings(scene, "scheduling")] == [
        f"wait, or free rdma/hca (node-{number}: 64 of 64 held by ml/p{number}) on the nodes"
        for number in (1, 2)
    ]


def test_a_tainted_node_does_not_hide_who_holds_the_devices_of_another() -> None:
    scene = Scene(0)
    scene.unschedule(
        scene.master,
        "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) had untolerated taint(s).",
    )
    scene.changes = {"neighbours": {"node-1": (holder("serve-0", 64),)}}
    [found] = findings(scene, "scheduling")
    assert (
        found.action == "wait, or free rdma/hca (node-1: 64 of 64 held by ml/serve-0) on the nodes"
    )


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


def test_names_no_holder_of_a_node_that_only_another_pod_can_take() -> None:
    scene = Scene(0)
    scene.unschedule(
        scene.master,
        "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) had untolerated taint(s).",
    )
    scene.nodes[0]["spec"] = {"taints": [TAINT]}
    scene.changes = {"neighbours": {name: (holder(name, 64),) for name in ("node-1", "node-2")}}
    [found] = findings(scene, "scheduling")
    assert (
        found.action == "wait, or free rdma/hca (node-2: 64 of 64 held by ml/node-2) on the nodes"
    )


def test_names_no_holder_of_a_node_that_is_not_usable() -> None:
    """`check` does not count on such a node either."""
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    scene.nodes[0]["status"]["conditions"] = []
    assert not read_node(scene.nodes[0]).usable
    scene.changes = {"neighbours": {name: (holder(name, 64),) for name in ("node-1", "node-2")}}
    [found] = findings(scene, "scheduling")
    assert (
        found.action == "wait, or free rdma/hca (node-2: 64 of 64 held by ml/node-2) on the nodes"
    )


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


def test_says_who_could_tell() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    scene.changes = {"neighbours": None}
    [found] = findings(scene, "scheduling")
    assert found.action.endswith(
        "on the nodes; one who may list pods of all namespaces can tell who holds it"
    )


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
    assert found == [f"node-{number}" for number in range(MOST_NODES)]
