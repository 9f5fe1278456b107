"""What `explain` finds of pods that are on no node yet, and of the node that a pod is on."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.diagnose.explain.explanations import findings, first, one
from tests.diagnose.scenes import Scene, event, plugin_gone
from webhook.diagnose.codes import Code


def test_devices_that_are_all_taken() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    [found] = findings(scene, "scheduling")
    assert found.message == "is on no node yet: 0/2 nodes are available: 2 Insufficient rdma/hca."
    assert found.action == "wait, or free rdma/hca on the nodes"


def test_a_scheduler_that_says_it_by_an_event() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.events.append(
        event("Pod", "bert-master-0", "FailedScheduling", "queue team has no quota of rdma/hca")
    )
    [found] = findings(scene, "scheduling")
    assert found.message == "is on no node yet: queue team has no quota of rdma/hca"
    assert found.action.startswith("give the queue or quota")


def test_a_scheduler_that_says_nothing() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"]["schedulerName"] = "volcano"
    [found] = findings(scene, "scheduling")
    assert (found.level, found.action) == ("warn", "is scheduler volcano running?")


@pytest.mark.parametrize(
    ("said", "told", "action"),
    [
        (
            "0/9 nodes are available: 9 Insufficient cpu. no new claims to deallocate, preemption: 0/9 nodes are available: 9 no.",
            "is on no node yet: 0/9 nodes are available: 9 Insufficient cpu",
            "wait, or free cpu on the nodes",
        ),
        (
            '0/9 nodes are available: persistentvolumeclaim "imagenet" not found. not found',
            'is on no node yet: 0/9 nodes are available: persistentvolumeclaim "imagenet" not found. not found',
            "create what is named, or correct the pod's volume",
        ),
        (
            "0/9 nodes are available: 9 node(s) were unschedulable. preemption: 0/9 nodes are available: 9 Preemption is not helpful.",
            "is on no node yet: 0/9 nodes are available: 9 node(s) were unschedulable",
            "nodes are cordoned: kubectl uncordon NODE lets pods on them again",
        ),
    ],
    ids=["processors", "volume claim", "cordoned"],
)
def test_what_the_scheduler_says_without_that_nothing_can_be_preempted(
    said: str, told: str, action: str
) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        scene.unschedule(pod, said)
    assert (first(scene).message, first(scene).action) == (told, action)


TAINTED = "0/2 nodes are available: 1 node(s) didn't match Pod's node affinity/selector, 1 node(s) had untolerated taint(s)."


def test_a_taint_is_a_finding_of_its_own_which_names_node_and_taint() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, TAINTED)
    scene.nodes[1]["spec"] = {
        "taints": [{"key": "team", "value": "vision", "effect": "NoSchedule"}]
    }
    [found] = findings(scene, "scheduling")
    assert (found.level, found.code) == ("fail", Code.TAINT_UNTOLERATED)
    assert found.message.endswith("; node node-2 has the taint team=vision:NoSchedule")
    assert found.action == Code.TAINT_UNTOLERATED.action


@pytest.mark.parametrize("toleration", [{"operator": "Exists"}, {"key": "team", "value": "vision"}])
def test_a_taint_that_the_pod_tolerates_is_not_the_cause(toleration: dict[str, str]) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, TAINTED)
    scene.master["spec"]["tolerations"] = [toleration]
    scene.nodes[1]["spec"] = {
        "taints": [{"key": "team", "value": "vision", "effect": "NoSchedule"}]
    }
    assert [found.code for found in findings(scene, "scheduling")] == [Code.UNSCHEDULABLE]


def test_the_taint_of_a_control_plane_is_not_the_cause() -> None:
    """Each cluster has it, and what the scheduler says of the other nodes is why the pod waits."""
    scene = Scene(0)
    scene.unschedule(scene.master, TAINTED)
    scene.nodes[1]["spec"] = {
        "taints": [{"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"}]
    }
    assert [found.code for found in findings(scene, "scheduling")] == [Code.UNSCHEDULABLE]


@pytest.mark.parametrize(
    ("said", "code"),
    [
        (TAINTED, Code.UNSCHEDULABLE),
        ("0/9 nodes are available: 9 node(s) had untolerated taint(s).", Code.TAINT_UNTOLERATED),
        (
            "0/9 nodes are available: 9 node(s) had untolerated taint {team: vision}.",
            Code.TAINT_UNTOLERATED,
        ),
    ],
)
def test_without_the_right_to_read_nodes_a_taint_is_told_where_it_is_the_only_reason(
    said: str, code: Code
) -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, said)
    scene.changes = {"nodes": None}
    assert [found.code for found in findings(scene, "scheduling")] == [code]


def test_a_queue_that_says_it_before_the_scheduler() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    text = "queue resource quota insufficient: insufficient rdma/hca"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    [found] = findings(scene, "scheduling")
    assert found.message == f"is on no node yet: {text}"
    assert found.action.startswith("give the queue or quota the resources")


def test_a_queue_of_volcano_that_is_full() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "pod group is not ready, 4 minAvailable, 3 Pending")
    text = "queue resource quota insufficient: insufficient rdma/hca"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    found = first(scene)
    assert found.message.endswith(
        f"pod group is not ready, 4 minAvailable, 3 Pending; and of its group: {text}"
    )
    assert found.action.startswith("give the queue or quota the resources")


def test_a_gang_that_is_not_complete_is_no_matter_of_a_quota() -> None:
    scene = Scene()
    scene.unschedule(scene.master, "pod group is not ready, 4 minAvailable, 3 Pending")
    text = "3/4 tasks in gang unschedulable: pod group is not ready, 1 Pending, 4 minAvailable"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    assert first(scene).action.startswith("see why the rest of its gang is not there")


def test_a_queue_of_kueue_that_does_not_exist() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    scene.events.append(
        event("Workload", "pytorchjob-bert-a1b2c", "Inadmissible", "LocalQueue team doesn't exist")
    )
    found = first(scene)
    assert found.message.endswith("LocalQueue team doesn't exist")
    assert (
        found.action
        == "look at the queue and its quota: does it exist, is it active, and what is free in it?"
    )


def test_a_gate_of_another_hand() -> None:
    scene = Scene(0)
    scene.unschedule(scene.master, "")
    scene.master["spec"]["schedulingGates"] = [{"name": "example.com/hold"}]
    assert (
        one(scene, "scheduling")
        == "warn pod bert-master-0 (rank 0): is held back by scheduling gate example.com/hold"
    )


@pytest.mark.parametrize(
    ("gate", "action"),
    [
        (
            "kueue.x-k8s.io/admission",
            "look at its Workload and LocalQueue: Kueue has not admitted it",
        ),
        ("example.com/licence", "whoever set the gate must remove it"),
    ],
)
def test_a_gate_of_which_nothing_is_told(gate: str, action: str) -> None:
    scene = Scene(1)
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": gate}]
    assert first(scene).action == action


Break = Callable[[Scene], object]


def never_reported(scene: Scene) -> None:
    scene.nodes[0]["status"]["conditions"] = []


def not_ready(scene: Scene) -> None:
    scene.nodes[0]["status"]["conditions"] = [
        {"type": "Ready", "status": "Unknown", "message": "Kubelet stopped posting node status."}
    ]


@pytest.mark.parametrize(
    ("break_", "told"),
    [
        (
            not_ready,
            "fail pod bert-master-0 (rank 0): is on node node-1, which is not Ready: Kubelet stopped posting node status.",
        ),
        (
            never_reported,
            "fail pod bert-master-0 (rank 0): is on node node-1, which is not Ready: no reason told",
        ),
        (
            plugin_gone,
            "warn pod bert-master-0 (rank 0): takes 1 rdma/hca, and node node-1 offers 0 now",
        ),
        (
            lambda scene: scene.nodes.pop(0),
            "fail pod bert-master-0 (rank 0): is bound to node node-1, which does not exist any more",
        ),
    ],
    ids=["not-ready", "never-reported", "plugin-gone", "gone"],
)
def test_what_became_of_its_node(break_: Break, told: str) -> None:
    scene = Scene(0)
    break_(scene)
    assert one(scene, "scheduling", "devices") == told


@pytest.mark.parametrize(
    "held_back",
    [
        "pod group is not ready, 4 minAvailable, 4 Pending; Pending: 1 Unschedulable, 3 Schedulable",
        "Pod research/bert-master-0 can possibly be assigned to node-1, once minAvailable is satisfied",
        'rejected due to timeout after waiting 10s at plugin Coscheduling: optimistic rejection in PostFilter of PodGroup "bert"',
    ],
    ids=["volcano", "volcano since 1.9", "coscheduling"],
)
def test_of_a_gang_the_pod_that_cannot_be_placed_comes_first(held_back: str) -> None:
    scene = Scene(3)
    for pod in scene.pods.values():
        scene.unschedule(pod, held_back)
    scene.unschedule(scene.pods["bert-worker-2"], "0/2 nodes are available: 2 Insufficient memory.")
    found = findings(scene, "scheduling")
    assert [(each.level, each.subject) for each in found] == [
        ("fail", "pod bert-worker-2"),
        ("warn", "each of 3 pods (bert-master-0 (rank 0), bert-worker-0, bert-worker-1)"),
    ]
    assert found[1].message.startswith("could be placed, and waits for the rest of its gang")


def test_of_a_gang_that_only_waits_nothing_is_taken_back() -> None:
    scene = Scene(3)
    for pod in scene.pods.values():
        scene.unschedule(pod, "pod group is not ready, 4 minAvailable, 3 Pending")
    assert {each.level for each in findings(scene, "scheduling")} == {"fail"}
