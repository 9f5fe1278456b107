"""What `explain` answers as a whole: a job that trains, that has ended, of which there is no pod, or one of two."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import Scene, plugin_gone
from webhook.core import names


def test_a_pod_that_was_asked_for_comes_with_rank_zero_alone() -> None:
    scene = Scene(3)
    scene.changes = {"focus": "bert-worker-1"}
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    plugin_gone(scene)
    found = texts(findings(scene))
    assert not [each for each in found if each.startswith("fail pod bert-worker-2")]
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
    told = texts(explanation.findings)
    assert (
        "fail pod again-bert-worker-0: has 10.66.6.6 as rank 0's address, and again-bert-master-0 is at 192.168.0.1"
        in told
    )
