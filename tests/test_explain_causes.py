"""Whether the first line names the cause, and the arrow what to do about it, where a symptom hides it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.scenes import Scene, ago, event
from tests.test_explain_screens import SANDBOX
from webhook import names
from webhook.explain.explanation import explain
from webhook.finding import Finding

NO_SHELL = (
    "failed to create containerd task: failed to create shim task: OCI runtime create failed: runc create failed: unable to start "
    'container process: exec: "sh": executable file not found in $PATH: unknown'
)
NO_SHELL_ACTION = "its image has no sh: set rendezvous.waitImage of the profile to one that has, then restart the job"


def first(scene: Scene) -> Finding:
    return explain(scene.reading).findings[0]


def ended(code: int, reason: str, message: str = "") -> dict[str, Any]:
    return {"terminated": {"exitCode": code, "reason": reason, "message": message}}


CRASHING = {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 5m0s"}}


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
        pod["status"] = {"phase": phase, "initContainerStatuses": [{"name": names.WAIT_CONTAINER, **status}]}
    found = first(scene)
    assert 'exec: "sh": executable file not found' in found.message
    assert found.message.startswith("the wait step ")
    assert found.action == NO_SHELL_ACTION


def test_a_wait_step_that_ends_otherwise_is_not_said_to_have_no_sh() -> None:
    scene = Scene()
    status = {"name": names.WAIT_CONTAINER, "state": ended(128, "StartError", "no space left on device")}
    scene.workers[0]["status"] = {"phase": "Failed", "initContainerStatuses": [status]}
    assert first(scene).action == "look at its log: kubectl logs -n research bert-worker-0 -c fabric-injector-wait"


@pytest.mark.parametrize(
    "status", [{"state": CRASHING, "lastState": ended(137, "OOMKilled")}, {"state": ended(137, "OOMKilled")}]
)
def test_a_container_that_took_too_much_memory(status: dict[str, Any]) -> None:
    scene = Scene()
    scene.workers[1]["status"]["containerStatuses"] = [{"name": "pytorch", **status}]
    found = first(scene)
    assert (found.subject, "137 (OOMKilled)" in found.message) == ("pod bert-worker-1", True)
    assert (
        found.action == "raise the container's memory limit, or let it use less: what is written to /dev/shm counts too"
    )


def test_pods_that_the_webhook_was_not_called_for() -> None:
    scene = Scene()
    pod = scene.created(2)
    pod["metadata"]["creationTimestamp"] = ago(minutes=5)
    scene.pods["bert-worker-1"] = pod
    found = first(scene)
    assert found.message == (
        "was created without injection, while the webhook was not called, for it was injected into older pods of the job: "
        "today it would get profile shared"
    )
    assert found.action == "see fabric-injector check, which tells whether the webhook is called; then restart the job"


def test_a_queue_of_volcano_that_is_full() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "pod group is not ready, 4 minAvailable, 3 Pending")
    text = "queue resource quota insufficient: insufficient rdma/hca"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    found = first(scene)
    assert found.message.endswith(f"pod group is not ready, 4 minAvailable, 3 Pending; and of its group: {text}")
    assert found.action.startswith("give the queue or quota the resources")


def test_a_gang_that_is_not_complete_is_no_matter_of_a_quota() -> None:
    scene = Scene()
    scene.unschedule(scene.master, "pod group is not ready, 4 minAvailable, 3 Pending")
    text = "3/4 tasks in gang unschedulable: pod group is not ready, 1 Pending, 4 minAvailable"
    scene.events.append(event("PodGroup", "bert", "Unschedulable", text, source="volcano"))
    assert first(scene).action == ""


def test_a_queue_of_kueue_that_does_not_exist() -> None:
    scene = Scene()
    for pod in scene.pods.values():
        scene.unschedule(pod, "")
        pod["spec"]["schedulingGates"] = [{"name": "kueue.x-k8s.io/admission"}]
    scene.events.append(event("Workload", "pytorchjob-bert-a1b2c", "Inadmissible", "LocalQueue team doesn't exist"))
    found = first(scene)
    assert found.message.endswith("LocalQueue team doesn't exist")
    assert found.action == "look at the queue and its quota: does it exist, is it active, and what is free in it?"


@pytest.mark.parametrize(
    "said",
    [
        "no IP addresses available in range set: 192.168.0.1-192.168.0.254",
        "Could not allocate IP in range: ip: 192.168.0.1 / - 192.168.0.254",
    ],
)
def test_addresses_that_are_all_taken(said: str) -> None:
    scene = Scene()
    for name, pod in scene.pods.items():
        scene.wait(pod, ago(minutes=17))
        pod["metadata"]["annotations"].pop(names.NETWORK_STATUS)
        text = SANDBOX.replace("{pod}", name).partition("no IP")[0] + said
        scene.events.append(event("Pod", name, "FailedCreatePodSandBox", text, source="kubelet"))
    found = first(scene)
    assert said in found.message
    assert found.action.startswith("enlarge the range of the network's IPAM and restart the job, or free the addresses")


def test_a_pod_that_names_a_profile_that_is_not() -> None:
    scene = Scene()
    pod = scene.created(1)
    pod["metadata"]["labels"][names.PROFILE] = "shard"
    scene.pods = {"bert-worker-0": pod}
    assert first(scene).message == (
        "nothing was injected, and today it would be denied: label fabric-injector.io/profile: no profile is named 'shard'; "
        "use one of: shared"
    )
