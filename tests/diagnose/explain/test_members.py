"""What `explain` finds of members: missing, doubled, of two jobs, or with another profile."""

from __future__ import annotations

import json

from tests.diagnose.findings import agrees, brief, expect, findings
from tests.diagnose.scenes import Scene, ago
from webhook.core import names


def test_two_live_ranks_zero() -> None:
    scene = Scene()
    twin = scene.created(0)
    twin["metadata"] |= {"name": "bert-master-1", "uid": "uid-9"}
    twin["metadata"]["creationTimestamp"] = ago(minutes=1)
    twin = scene.admitted(twin)
    key = scene.master["metadata"]["labels"][names.JOB]
    twin["metadata"]["labels"] |= {names.JOB: key, names.RENDEZVOUS: "master"}
    scene.bind(twin, ago(seconds=20))
    scene.pods["bert-master-1"] = twin
    found = (
        "has 2 live rank-0 pods (bert-master-0, bert-master-1); bert-master-1, the newest, counts"
    )
    action = "delete the others: kubectl delete pod -n research bert-master-0"
    row = f"fail rank-zero-twice job {key} | {found} | {action}"
    expect(findings(scene, "members"), row)


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


def test_names_members_with_another_revision_than_rank_zero() -> None:
    """They were created after the profile was changed."""
    scene = Scene(2)
    status = json.loads(scene.workers[1]["metadata"]["annotations"][names.STATUS])
    had, status["revision"] = status["revision"], "0" * 12
    scene.workers[1]["metadata"]["annotations"][names.STATUS] = json.dumps(status)
    row = "warn revisions-differ pod bert-worker-1 | has profile shared in revision 000000000000, "
    row += f"and rank 0, pod bert-master-0, has profile shared in revision {had}"
    assert any(agrees(line, row) for line in brief(findings(scene, "drift")))


def test_a_pod_that_was_asked_for_comes_with_rank_zero_alone() -> None:
    scene = Scene(3)
    scene.focus = "bert-worker-1"
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    assert "pod bert-worker-2" not in {each.subject for each in findings(scene)}
    assert [row.pod for row in scene.explained.rows] == ["bert-master-0", "bert-worker-1"]


def test_two_jobs_of_one_selector_are_told_apart() -> None:
    one_job, other = Scene(1), Scene(1)
    for pod in other.pods.values():
        pod["metadata"]["name"] = f"again-{pod['metadata']['name']}"
        pod["metadata"]["labels"][names.JOB] = "again-0123456789"
    other.tell(next(iter(other.workers)), "10.66.6.6")
    both = (*one_job.pods.values(), *other.pods.values())
    one_job.pods = {pod["metadata"]["name"]: pod for pod in both}
    explanation = one_job.explained
    assert len(explanation.jobs) == 2
    assert [row.pod for row in explanation.rows if row.role == "rank 0"] == [
        "again-bert-master-0",
        "bert-master-0",
    ]
    assert {row.job for row in explanation.rows} == set(explanation.jobs)
    row = "fail address-outdated pod again-bert-worker-0 | has 10.66.6.6 as rank 0's address"
    assert any(agrees(line, row) for line in brief(explanation.findings))
