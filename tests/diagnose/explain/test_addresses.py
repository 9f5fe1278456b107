"""What `explain` finds of the addresses that members are told, and of the controller that tells them."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, one, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.explanation import explain


def test_a_controller_that_lives_and_does_not_tell() -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    first, second = findings(scene)
    assert (
        first.message == "is held by c-1, which has not told 1 pod of this job of rank 0's address"
    )
    assert second.message == "waits for rank 0's address, for 4 min"
    assert second.level == "warn"


@pytest.mark.parametrize(
    ("lease", "told"),
    [
        ({}, "does not exist: nobody tells 1 pod"),
        ({"spec": {"holderIdentity": ""}}, "is held by no controller: nobody tells 1 pod"),
        (
            {"spec": {"holderIdentity": "c-1", "renewTime": "soon"}},
            "is held by c-1, which renewed it at no time that can be read: nobody tells 1 pod",
        ),
        (None, "1 pod of this job is not told of rank 0's address"),
    ],
    ids=["absent", "released", "unreadable", "unknown"],
)
def test_a_controller_that_is_gone(lease: Object | None, told: str) -> None:
    scene = Scene()
    scene.wait(scene.pods["bert-worker-1"], ago(minutes=4))
    scene.lease = lease
    assert told in one(scene, "lease", "controller")


def test_a_controller_that_is_gone_while_all_is_told() -> None:
    scene = Scene()
    scene.lease = {}
    [found] = findings(scene)
    assert (found.level, found.message) == (
        "warn",
        "does not exist: no pod is told of an address that changes now",
    )


def test_a_member_that_is_told_another_address() -> None:
    scene = Scene()
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    assert (
        "fail pod bert-worker-2: is told that rank 0 is at 10.66.6.6, and bert-master-0 is at 192.168.0.1"
        in texts(findings(scene))
    )


def test_a_member_that_is_told_nothing_any_more() -> None:
    scene = Scene()
    del scene.pods["bert-worker-2"]["metadata"]["annotations"][names.MASTER_ADDR]
    assert (
        one(scene, "addresses")
        == "warn pod bert-worker-2: is not told that rank 0 is at 192.168.0.1"
    )


def test_a_rank_zero_that_has_just_got_its_address_is_yet_to_be_told_of() -> None:
    scene = Scene(1)
    scene.bind(scene.master, ago(seconds=5))
    for pod in scene.pods.values():
        scene.wait(pod, ago(seconds=3))
    found = explain(scene.reading).findings
    assert {each.level for each in found} == {"ok"}
    assert not [each for each in found if each.topic == "addresses"]


def test_a_rank_zero_that_is_not_told_its_own_address() -> None:
    scene = Scene()
    del scene.master["metadata"]["annotations"][names.LOCAL_ADDR]
    assert "warn pod bert-master-0 (rank 0): is not told its own address" in texts(
        findings(scene, "addresses")
    )


def go_by_name(scene: Scene) -> None:
    for pod in scene.workers:
        scene.tell(pod, "bert-master-0")
        pod["status"]["initContainerStatuses"][0]["state"]["terminated"]["message"] = (
            "bert-master-0\n"
        )


def test_members_that_go_by_rank_zeros_name_while_it_has_no_pod() -> None:
    scene = Scene(2)
    go_by_name(scene)
    del scene.pods["bert-master-0"]
    scene.tell(scene.pods["bert-worker-1"], "192.168.0.1")
    found = {each.code: each for each in explain(scene.reading).findings}
    assert (
        found[Code.MEETS_BY_NAME].message
        == "goes by rank 0's name, bert-master-0: rank 0 publishes no address"
    )
    assert found[Code.MEETS_BY_NAME].level == "ok"
    assert found[Code.MEETS_BY_NAME].subject == "pod bert-worker-0"
    assert found[Code.RANK_ZERO_MISSING].level == "fail"
    go_by_name(scene)
    found = {each.code: each for each in explain(scene.reading).findings}
    assert found[Code.RANK_ZERO_MISSING].level == "warn", "it may be created once they are ready"


def test_members_that_started_with_rank_zeros_name_find_a_later_one_by_it() -> None:
    scene = Scene(2)
    go_by_name(scene)
    for pod in scene.workers:
        scene.tell(pod, "192.168.0.1")
    scene.master["metadata"]["creationTimestamp"] = ago(minutes=10)
    assert findings(scene) == []
    del scene.workers[0]["status"]["initContainerStatuses"][0]["state"]["terminated"]["message"]
    assert [each.code for each in findings(scene)] == [Code.ADDRESS_FORMER]


def made_again(scene: Scene, address: str, at: str, *, told: str = "192.168.0.1") -> None:
    """Let rank 0 get another sandbox: its containers start again, and its new address is published to all."""
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
    assert (found.code, found.level) == (Code.ADDRESS_FORMER, "fail")
    assert found.subject == "each of 2 pods (bert-worker-0, bert-worker-2)"
    assert found.message == (
        "runs since before the sandbox of rank 0, bert-master-0, was made again, as after a reboot of its node: "
        f"its environment holds the former address{', 192.168.0.1' if told else ''}"
    )
    assert (
        found.action
        == "restart them, or the job: kubectl delete pod -n research bert-worker-0 bert-worker-2"
    )
    assert Code.ADDRESSES_TOLD not in {each.code for each in explain(scene.reading).findings}


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
    assert Code.ADDRESS_FORMER not in {each.code for each in findings(scene)}
