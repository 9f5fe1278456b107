"""What `explain` finds of the addresses that members have, and of the controller."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings
from tests.diagnose.scenes import Scene, ago


def made_again(scene: Scene, address: str, at: str, *, told: str = "192.168.0.1") -> None:
    """Let rank 0 get another sandbox: its containers start again, and all get its new address."""
    for pod in scene.workers:
        pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["message"] = (
            f"{told}\n" if told else ""
        )
    scene.attach(scene.master, address)
    for pod in scene.pods.values():
        scene.tell(pod, address)
    scene.start(scene.master, at)
    scene.master["status"]["initContainerStatuses"][0]["restartCount"] = 1
    scene.master["status"]["conditions"].append(
        {"type": "PodReadyToStartContainers", "status": "True", "lastTransitionTime": at}
    )


@pytest.mark.parametrize(
    "told",
    ["192.168.0.1", ""],
    ids=["its wait step told it", "an earlier version's, which did not"],
)
def test_members_that_run_since_before_rank_zeros_sandbox_was_made_again(told: str) -> None:
    scene = Scene(3)
    made_again(scene, "192.168.0.99", ago(minutes=5), told=told)
    scene.start(scene.pods["bert-worker-1"], ago(minutes=4))
    [found] = findings(scene)
    assert (found.code.name, found.level) == ("address-former", "fail")
    assert found.subject == "each of 2 pods (bert-worker-0, bert-worker-2)"
    assert found.message == (
        "started before the sandbox of rank 0, bert-master-0, was recreated, as by a reboot: "
        f"it holds the former address{', 192.168.0.1' if told else ''}"
    )
    assert (
        found.action
        == "restart them, or the job: kubectl delete pod -n research bert-worker-0 bert-worker-2"
    )
    assert not [each for each in scene.explained.findings if "know it" in each.message]


def test_members_whose_wait_step_told_the_present_address_have_it() -> None:
    scene = Scene(3)
    made_again(scene, "192.168.0.1", ago(minutes=5))
    assert findings(scene) == []


def test_a_sandbox_that_is_seen_ready_late_was_not_made_again() -> None:
    scene = Scene(3)
    made_again(scene, "192.168.0.1", ago(minutes=5), told="")
    scene.master["status"]["initContainerStatuses"][0]["restartCount"] = 0
    assert findings(scene) == []


def test_a_rank_zero_whose_wait_step_tells_nothing_is_taken_for_no_other_sandbox() -> None:
    scene = Scene(3)
    made_again(scene, "192.168.0.99", ago(minutes=5), told="")
    [status] = scene.master["status"]["initContainerStatuses"]
    status["name"] = "other"
    assert "address-former" not in {each.code.name for each in findings(scene)}
