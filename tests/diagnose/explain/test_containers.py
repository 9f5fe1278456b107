"""What `explain` finds of containers that do not start, crash or were killed, the wait step among them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings, first, one
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.explanation import explain

CRASHING = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


def ended(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


def test_the_log_to_look_at_is_named_as_a_command() -> None:
    scene = Scene()
    for pod in scene.workers[1:]:
        pod["status"]["containerStatuses"] = [
            {"name": "pytorch", "state": CRASHING, "lastState": ended(3, "Error")}
        ]
    assert (
        first(scene).action
        == "look at its log: kubectl logs -n research bert-worker-1 -c pytorch --previous"
    )
    assert [row.phase for row in explain(scene.reading).rows] == [
        "Running",
        "Running",
        *["CrashLoopBackOff"] * 2,
    ]


def test_a_pod_that_its_node_refused() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    words = "Allocate failed due to requested number of devices unavailable for rdma/hca. Requested: 1, Available: 0"
    worker["status"] = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": words}
    assert (
        one(scene, "containers")
        == f"fail pod bert-worker-0: was ended by its node: UnexpectedAdmissionError: {words}"
    )
    again = scene.created(1)
    again["metadata"] |= {"name": "bert-worker-0b", "creationTimestamp": ago(minutes=3)}
    scene.pods["bert-worker-0b"] = scene.admitted(again)
    scene.run(scene.pods["bert-worker-0b"], "192.168.0.9")
    assert one(scene, "containers").startswith("warn pod bert-worker-0: was ended"), (
        "another pod has taken its place"
    )


def gave_up(scene: Scene, rank_zero: str) -> None:
    words = (
        f"fabric-injector: master-addr of job bert was not published after 1800 s. Look at the Events of its rank-0 pod {rank_zero}, "
        "at that pod's network-status annotation, and at the fabric-injector controller."
    )
    for pod in scene.workers:
        pod["status"] = {
            "phase": "Failed",
            "initContainerStatuses": [
                {"name": names.WAIT_CONTAINER, "state": ended(75, "Error", words)}
            ],
        }


def test_a_wait_that_is_over_knows_rank_zero_by_its_host_name() -> None:
    """An indexed Job's pod is named ddp-0-x7k2p, and its host ddp-0."""
    scene = Scene(2)
    gave_up(scene, "bert-0")
    scene.master["spec"]["hostname"] = "bert-0"
    assert all("there is no pod" not in str(each.action) for each in findings(scene, "wait"))


def on_the_nodes_network(policy: str | None = None, **spec: object) -> Scene:
    """Return a job whose pods use their nodes' network, and whose workers have failed."""

    def change(pod: Object) -> None:
        pod["spec"] |= {"hostNetwork": True, **({"dnsPolicy": policy} if policy else {}), **spec}

    scene = Scene(1, before=change)
    for pod in scene.pods.values():
        pod["metadata"]["annotations"].pop(names.NETWORK_STATUS, None)
        pod["status"].pop("initContainerStatuses")
    fail(scene, {"exitCode": 1})
    return scene


def fail(scene: Scene, ended: Object, phase: str = "Failed") -> None:
    for worker in scene.workers:
        worker["status"]["phase"] = phase
        state = (
            {"waiting": {"reason": "CrashLoopBackOff"}}
            if phase == "Running"
            else {"terminated": ended}
        )
        worker["status"]["containerStatuses"] = [
            {"name": "pytorch", "state": state, "lastState": {"terminated": ended}},
        ]


@pytest.mark.parametrize("phase", ["Failed", "Running"])
@pytest.mark.parametrize("policy", [None, "ClusterFirst", "Default"])
def test_a_pod_on_the_nodes_network_that_resolves_no_name_of_the_cluster(
    policy: str | None, phase: str
) -> None:
    scene = on_the_nodes_network(policy)
    fail(scene, {"exitCode": 1}, phase)
    cause, exit_ = explain(scene.reading).findings[:2]
    assert str(cause.code) == "names-unresolved"
    assert cause.message == (
        "uses its node's network (hostNetwork) and its node's DNS, which knows no name of the cluster: bert-master-0, where rank 0 is, "
        "among them"
    )
    assert cause.action.startswith("set dnsPolicy: ClusterFirstWithHostNet in the job's template")
    assert str(exit_.code) == (
        "container-failed" if phase == "Failed" else "container-not-starting"
    )


@pytest.mark.parametrize(
    ("scene", "ended"),
    [
        (on_the_nodes_network("ClusterFirstWithHostNet"), {"exitCode": 1}),
        (on_the_nodes_network("None", dnsConfig={"nameservers": ["10.96.0.10"]}), {"exitCode": 1}),
        (on_the_nodes_network(dnsConfig={"nameservers": ["10.96.0.10"]}), {"exitCode": 1}),
        (on_the_nodes_network(), {"exitCode": 137, "reason": "OOMKilled"}),
        (on_the_nodes_network(), {"exitCode": 0}),
        (Scene(1), {"exitCode": 1}),
    ],
    ids=[
        "the cluster's DNS",
        "its own DNS",
        "a further DNS",
        "memory",
        "ended well",
        "its own network",
    ],
)
def test_a_name_that_may_resolve_is_no_cause(scene: Scene, ended: Object) -> None:
    fail(scene, ended)
    assert "names-unresolved" not in {str(each.code) for each in explain(scene.reading).findings}
