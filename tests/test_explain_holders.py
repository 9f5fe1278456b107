"""What `explain` says of who holds the devices that a pod waits for."""

from __future__ import annotations

from typing import Any

import pytest

from tests.explanations import findings
from tests.scenes import Scene, node
from webhook.explain.holders import MOST_NODES, nodes_to_read
from webhook.model import Object


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
            {"node-1": tuple(holder(f"b-{number}", 16) for number in range(4))},
            "rdma/hca (node-1: 64 of 64 held by ml/b-0, ml/b-1, ml/b-2 and 1 more)",
        ),
        (
            {"node-1": (holder("a", 64),), "node-2": (holder("b", 64),)},
            "rdma/hca (node-1: 64 of 64 held by ml/a; node-2: 64 of 64 held by ml/b)",
        ),
        ({"node-1": (holder("a", 63),)}, "rdma/hca"),
        ({"node-1": (holder("a", 64, "nvidia.com/gpu"),)}, "rdma/hca"),
        ({}, "rdma/hca"),
    ],
    ids=["one", "the-largest-first", "many", "on-two-nodes", "one-is-left", "of-another-resource", "not-read"],
)
def test_names_who_holds_the_devices_of_full_nodes(neighbours: dict[str, tuple[Object, ...]], told: str) -> None:
    assert action(neighbours) == f"wait, or free {told} on the nodes"


def test_names_three_nodes_and_no_more() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/4 nodes are available: 4 Insufficient rdma/hca.")
    scene.nodes = [node(f"n{number}", {"rdma/hca": "1"}) for number in range(4)]
    scene.changes = {"neighbours": {f"n{number}": (holder(f"p{number}", 1),) for number in range(4)}}
    [found] = findings(scene, "scheduling")
    assert "(n0: 1 of 1 held by ml/p0; n1: 1 of 1 held by ml/p1; n2: 1 of 1 held by ml/p2; …)" in found.action


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
def test_reads_nodes_that_offer_what_a_waiting_pod_asks_for(change: Object, wanted: list[str]) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"] |= change
    assert nodes_to_read([scene.master], [*scene.nodes, node("node-3", {"nvidia.com/gpu": "0"})]) == wanted


def test_names_the_nodes_that_the_pod_chooses_alone() -> None:
    scene = Scene(1)
    for number, pod in enumerate(scene.pods.values(), 1):
        scene.unschedule(pod, "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) didn't match.")
        pod["spec"]["nodeSelector"] = {"kubernetes.io/hostname": f"node-{number}"}
    scene.changes = {"neighbours": {f"node-{number}": (holder(f"p{number}", 64),) for number in (1, 2)}}
    assert [found.action for found in findings(scene, "scheduling")] == [
        f"wait, or free rdma/hca (node-{number}: 64 of 64 held by ml/p{number}) on the nodes" for number in (1, 2)
    ]


def test_a_tainted_node_does_not_hide_who_holds_the_devices_of_another() -> None:
    scene = Scene(0)
    scene.unschedule(
        scene.master, "0/2 nodes are available: 1 Insufficient rdma/hca, 1 node(s) had untolerated taint(s)."
    )
    scene.changes = {"neighbours": {"node-1": (holder("serve-0", 64),)}}
    [found] = findings(scene, "scheduling")
    assert found.action == "wait, or free rdma/hca (node-1: 64 of 64 held by ml/serve-0) on the nodes"


def test_reads_no_cordoned_node() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    cordoned = {**node("node-0"), "spec": {"unschedulable": True}}
    assert nodes_to_read([scene.master], [cordoned, node("node-1")]) == ["node-1"]


def test_reads_nothing_for_a_pod_that_has_ended() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["status"]["phase"] = "Failed"
    assert nodes_to_read([scene.master], scene.nodes) == []


def test_reads_no_more_nodes_than_an_example_needs() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    found = nodes_to_read([scene.master], [node(f"node-{number}") for number in reversed(range(12))])
    assert found == [f"node-{number}" for number in range(MOST_NODES)]
