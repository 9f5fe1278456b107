"""What `explain` finds of containers that do not start, crash or were killed, the wait step among them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.explanation import explain

NO_SHELL = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
    'container process: exec: "sh": executable file not found in $PATH: unknown'
)
NO_SHELL_ACTION = "its image has no sh: set rendezvous.waitImage of the profile to installed, then restart the job"
CRASHING = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


def ended(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


@pytest.mark.parametrize(
    ("reason", "message", "told"),
    [
        (
            "ImagePullBackOff",
            'Back-off pulling image "a:1"',
            'the wait step does not start: ImagePullBackOff: Back-off pulling image "a:1"',
        ),
        (
            "RunContainerError",
            'exec: "sh": not found',
            'the wait step does not start: RunContainerError: exec: "sh": not found',
        ),
        (
            "CreateContainerConfigError",
            "secret x not found",
            "the wait step does not start: CreateContainerConfigError: secret x not found",
        ),
    ],
)
def test_a_wait_step_that_does_not_start(reason: str, message: str, told: str) -> None:
    scene = Scene(0)
    scene.wait(scene.master, ago(minutes=5))
    scene.tell(scene.master, "192.168.0.1")
    scene.master["status"]["initContainerStatuses"][0]["state"] = {
        "waiting": {"reason": reason, "message": message}
    }
    [found] = findings(scene, "containers")
    assert found.message == told
    assert found.action


@pytest.mark.parametrize(
    ("phase", "status"),
    [
        ("Pending", {"state": CRASHING, "lastState": ended(128, "StartError", NO_SHELL)}),
        ("Pending", {"state": ended(128, "StartError", NO_SHELL)}),
        ("Failed", {"state": ended(128, "StartError", NO_SHELL)}),
    ],
    ids=["starts again", "just ended", "failed"],
)
def test_a_wait_image_without_sh(phase: str, status: dict[str, Any]) -> None:
    scene = Scene()
    for pod in scene.pods.values():
        pod["status"] = {
            "phase": phase,
            "initContainerStatuses": [{"name": names.WAIT_CONTAINER, **status}],
        }
    found = first(scene)
    assert 'exec: "sh": executable file not found' in found.message
    assert found.message.startswith("the wait step ")
    assert found.action == NO_SHELL_ACTION


def test_a_wait_step_that_ends_otherwise_is_not_said_to_have_no_sh() -> None:
    scene = Scene()
    status = {
        "name": names.WAIT_CONTAINER,
        "state": ended(128, "StartError", "no space left on device"),
    }
    scene.workers[0]["status"] = {"phase": "Failed", "initContainerStatuses": [status]}
    assert (
        first(scene).action
        == "look at its log: kubectl logs -n research bert-worker-0 -c fabric-injector-wait"
    )


def test_a_wait_step_that_gave_up() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    words = "fabric-injector: master-addr of job bert was not published after 1800 s."
    ended = {"terminated": {"exitCode": 75, "message": words}}
    scene.wait(worker, ago(minutes=1))
    worker["status"]["initContainerStatuses"][0]["lastState"] = ended
    assert f"the wait step gave up and waits again: {words}" in " ".join(
        texts(findings(scene, "wait"))
    )
    worker["status"] |= {
        "phase": "Failed",
        "initContainerStatuses": [{"name": names.WAIT_CONTAINER, "state": ended}],
    }
    assert f"fail pod bert-worker-0: the wait step gave up: {words}" in texts(
        findings(scene, "wait")
    )


def test_a_container_that_crashes_over_and_over() -> None:
    scene = Scene(0)
    status = scene.master["status"]["containerStatuses"][0]
    status["state"] = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}
    status["lastState"] = {"terminated": {"exitCode": 1, "message": "NCCL error"}}
    assert one(scene, "containers") == (
        "fail pod bert-master-0 (rank 0): container pytorch does not start: CrashLoopBackOff: status 1: NCCL error"
    )


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


def test_a_container_that_was_killed() -> None:
    scene = Scene(1)
    worker = scene.pods["bert-worker-0"]
    worker["status"] |= {"phase": "Failed"}
    worker["status"]["containerStatuses"][0]["state"] = {
        "terminated": {"exitCode": 137, "reason": "OOMKilled"}
    }
    assert (
        one(scene, "containers")
        == "fail pod bert-worker-0: container pytorch exited with 137 (OOMKilled)"
    )


@pytest.mark.parametrize(
    "status",
    [{"state": CRASHING, "lastState": ended(137, "OOMKilled")}, {"state": ended(137, "OOMKilled")}],
)
def test_a_container_that_took_too_much_memory(status: dict[str, Any]) -> None:
    scene = Scene()
    scene.workers[1]["status"]["containerStatuses"] = [{"name": "pytorch", **status}]
    found = first(scene)
    assert (found.subject, "137 (OOMKilled)" in found.message) == ("pod bert-worker-1", True)
    assert (
        found.action
        == "raise the container's memory limit, or let it use less: what is written to /dev/shm counts too"
    )


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


def test_a_wait_that_is_over_points_at_no_pod_that_is_not_there() -> None:
    scene = Scene(2)
    gave_up(scene, "bert-master-0")
    del scene.pods["bert-master-0"]
    [found] = findings(scene, "wait")
    assert found.message.endswith(
        "gave up: fabric-injector: master-addr of job bert was not published after 1800 s."
    )
    assert found.action == (
        "there is no pod bert-master-0 now: look at the Events of PyTorchJob bert, and at the quota and policies of its namespace"
    )


def test_a_wait_that_is_over_knows_rank_zero_by_its_host_name() -> None:
    """An indexed Job's pod is named ddp-0-x7k2p, and its host ddp-0."""
    scene = Scene(2)
    gave_up(scene, "bert-0")
    scene.master["spec"]["hostname"] = "bert-0"
    assert all("there is no pod" not in str(each.action) for each in findings(scene, "wait"))


def test_a_wait_that_is_over_points_at_a_pod_that_is_there() -> None:
    scene = Scene(2)
    gave_up(scene, "bert-master-0")
    [found] = findings(scene, "wait")
    assert found.message.endswith("was not published after 1800 s.")
    assert found.action.startswith(
        "look at the Events of its rank-0 pod bert-master-0, at that pod's network-status annotation, "
    )


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
