"""What `explain` finds of pods that wait for an address."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.diagnose.codes import Code


def test_a_wait_that_nothing_explains() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(minutes=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert "has waited for 4 min, and all that it needs is in its annotations" in one(scene)


def test_a_wait_of_seconds_is_no_fault() -> None:
    scene = Scene(1)
    scene.wait(scene.pods["bert-worker-0"], ago(seconds=4))
    scene.tell(scene.pods["bert-worker-0"], "192.168.0.1")
    assert findings(scene) == []


def test_a_rank_zero_whose_node_was_restarted() -> None:
    scene = Scene(0)
    scene.wait(scene.master, ago(minutes=4))
    scene.tell(scene.master, "192.168.0.250")
    assert "waits for its own address, for 4 min" in " ".join(texts(findings(scene, "wait")))


def test_a_wait_that_the_controller_has_ended() -> None:
    scene = Scene(2)
    for pod in scene.workers:
        scene.wait(pod, ago(seconds=4))
        pod["metadata"]["annotations"][names.WAIT_ENDS] = (
            "rank 0 of job j-1, pod bert-master-0, is left alone: label it"
        )
    found = findings(scene, "wait")
    assert [each.code for each in found] == [Code.WAIT_ENDED]
    assert (
        "will not get rank 0's address: rank 0 of job j-1, pod bert-master-0, is left alone: label it"
        in found[0].message
    )
    assert "each of 2 pods" in found[0].subject


def test_a_wait_that_begins_again_after_its_cause_was_told_is_told_once() -> None:
    scene = Scene(1)
    [worker] = scene.workers
    cause = "rank 0 of job j-1, pod bert-master-0, publishes no address: restart the job"
    ended = {"terminated": {"exitCode": 75, "message": f"fabric-injector: {cause}"}}
    scene.wait(worker, ago(minutes=4))
    worker["metadata"]["annotations"][names.WAIT_ENDS] = cause
    worker["status"]["initContainerStatuses"] = [
        {
            "name": names.WAIT_CONTAINER,
            "state": {"waiting": {"reason": "CrashLoopBackOff"}},
            "lastState": ended,
        }
    ]
    assert [each.code for each in findings(scene, "wait", "containers")] == [Code.WAIT_ENDED]


def test_a_cause_that_no_longer_holds_is_not_told() -> None:
    scene = Scene(1)
    scene.workers[0]["metadata"]["annotations"][names.WAIT_ENDS] = ""
    assert findings(scene) == []
    scene.workers[0]["metadata"]["annotations"][names.WAIT_ENDS] = "left alone"
    assert findings(scene, "wait") == [], "its address is there, and the controller will empty it"
