"""What `explain` finds of members that are missing, doubled, ended or ending, rank 0 above all."""

from __future__ import annotations

import pytest

from tests.diagnose.explain.explanations import findings, first, one, texts
from tests.diagnose.scenes import Scene, ago
from webhook.core import names
from webhook.core.model import Object


def test_two_live_ranks_zero() -> None:
    scene = Scene()
    twin = scene.created(0)
    twin["metadata"] |= {
        "name": "bert-master-1",
        "uid": "uid-9",
        "creationTimestamp": ago(minutes=1),
    }
    twin = scene.admitted(twin)
    twin["metadata"]["labels"] |= {
        names.JOB: scene.master["metadata"]["labels"][names.JOB],
        names.RENDEZVOUS: "master",
    }
    scene.bind(twin, ago(seconds=20))
    scene.pods["bert-master-1"] = twin
    [found] = findings(scene, "members")
    assert (
        "has 2 live rank-0 pods (bert-master-0, bert-master-1): all are told of bert-master-1, the newest"
        in found.message
    )
    assert found.action == "delete the others: kubectl delete pod -n research bert-master-0"


def test_a_rank_zero_that_has_failed() -> None:
    scene = Scene()
    scene.master["status"] |= {
        "phase": "Failed",
        "containerStatuses": [{"name": "pytorch", "state": {"terminated": {"exitCode": 137}}}],
    }
    assert one(scene, "members") == (
        "fail pod bert-master-0 (rank 0): rank 0 is Failed (container pytorch exited with 137), and its members still run"
    )


@pytest.mark.parametrize(
    ("status", "told"),
    [
        ({"phase": "Failed", "reason": "Evicted"}, "rank 0 is Failed (Evicted)"),
        ({"phase": "Failed"}, "rank 0 is Failed"),
    ],
)
def test_a_rank_zero_that_ended_before_the_others(status: Object, told: str) -> None:
    scene = Scene()
    scene.master["status"] = status
    assert (
        one(scene, "members")
        == f"fail pod bert-master-0 (rank 0): {told}, and its members still run"
    )


@pytest.mark.parametrize(
    ("minutes", "worst"),
    [
        (1, "ok"),
        (
            20,
            "warn pod bert-master-0 (rank 0): rank 0 has ended well 20 min ago, and its members still run",
        ),
    ],
)
def test_a_rank_zero_that_has_ended_well_is_no_failure(minutes: int, worst: str) -> None:
    scene = Scene()
    state = {"terminated": {"exitCode": 0, "finishedAt": ago(minutes=minutes)}}
    scene.master["status"] = {
        "phase": "Succeeded",
        "containerStatuses": [{"name": "pytorch", "state": state}],
    }
    found = first(scene)
    assert (
        found.level if found.level == "ok" else f"{found.level} {found.subject}: {found.message}"
    ) == worst


def test_a_member_that_waits_for_a_rank_zero_that_has_ended_waits_in_vain() -> None:
    scene = Scene()
    scene.master["status"]["phase"] = "Succeeded"
    scene.wait(scene.workers[0], ago(minutes=5))
    assert first(scene).message == "rank 0 is Succeeded, and its members still run"


@pytest.mark.parametrize("phase", ["Succeeded", "Failed"])
@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ({names.PROFILE: "none"}, "carries label fabric-injector.io/profile: none"),
        ({}, "was not injected"),
    ],
    ids=["opted out", "missed"],
)
def test_a_member_that_waits_for_a_rank_zero_that_was_not_injected_and_has_ended(
    phase: str, labels: Object, why: str
) -> None:
    scene = Scene()
    scene.pods["bert-master-0"] = scene.created(0)
    scene.master["metadata"]["labels"] |= labels
    scene.master["status"] = {"phase": phase}
    for worker in scene.workers:
        scene.wait(worker, ago(minutes=5))
    found = first(scene)
    assert (
        found.message
        == f"rank 0 {why} and published no address; it is {phase}, and its members still run"
    )
    assert found.action == "give all pods of the job the same labels and networks, then restart it"


def test_a_rank_zero_without_injection_whose_members_met_it_ended_for_its_own_reason() -> None:
    scene = Scene()
    scene.pods["bert-master-0"] = scene.created(0)
    scene.master["status"] = {"phase": "Failed"}
    assert first(scene).message == "rank 0 is Failed, and its members still run"


def test_a_rank_zero_that_is_being_deleted() -> None:
    scene = Scene()
    scene.master["metadata"]["deletionTimestamp"] = ago(seconds=5)
    assert texts(findings(scene, "members")) == [
        "fail pod bert-master-0 (rank 0): rank 0 is Terminating, and its members still run",
        f"warn job {scene.master['metadata']['labels'][names.JOB]}: has 3 of 4 members",
    ]
    for pod in scene.workers:
        pod["metadata"]["deletionTimestamp"] = ago(seconds=5)
    assert findings(scene) == [], "the whole job is being deleted"


def test_a_rank_zero_that_does_not_end_has_no_log_that_helps() -> None:
    scene = Scene()
    scene.master["metadata"] |= {
        "deletionTimestamp": ago(minutes=5),
        "finalizers": ["example.com/hold"],
    }
    assert first(scene).message == "rank 0 is Terminating, and its members still run"
    assert (
        first(scene).action
        == "wait for the next one; if this one stays, look at its finalizers and at its node's kubelet"
    )


def test_no_rank_zero_at_all() -> None:
    scene = Scene()
    del scene.pods["bert-master-0"]
    first, second = findings(scene, "members")
    assert (first.level, first.message) == ("fail", "has no rank-0 pod")
    assert (second.level, second.message) == ("warn", "has 3 of 4 members")


@pytest.mark.parametrize("how", ["flag", "variable"])
def test_members_that_are_missing(how: str) -> None:
    def say(pod: Object) -> None:
        container = pod["spec"]["containers"][0]
        if how == "flag":
            container["command"] = ["torchrun", "--nnodes=6", "train.py"]
        else:
            next(entry for entry in container["env"] if entry["name"] == "PET_NNODES")["value"] = (
                "6"
            )

    scene = Scene(before=say)
    assert "has 4 of 6 members" in one(scene, "members")


def test_a_number_of_members_that_no_job_has_is_none() -> None:
    """Python reads no number of more than 4,300 digits, and a tenant may write one."""
    scene = Scene()
    for pod in scene.pods.values():
        [container, *_] = pod["spec"]["containers"]
        next(entry for entry in container["env"] if entry["name"] == "PET_NNODES")["value"] = (
            "9" * 5000
        )
        pod["metadata"]["annotations"]["kueue.x-k8s.io/pod-group-total-count"] = "9" * 5000
    assert findings(scene, "members") == []
