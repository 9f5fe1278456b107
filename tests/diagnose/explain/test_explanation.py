"""What `explain` answers as a whole: a job that trains, that has ended, of which there is no pod, or one of two."""

from __future__ import annotations

from tests.diagnose.explain.explanations import findings, texts
from tests.diagnose.scenes import Scene, plugin_gone
from webhook.core import names
from webhook.diagnose.explain.explanation import Explanation, explain


def test_finds_nothing_wrong_with_a_job_that_trains() -> None:
    explanation: Explanation = explain(Scene().reading)
    assert {each.level for each in explanation.findings} == {"ok"}
    assert [row.role for row in explanation.rows] == ["rank 0", "worker", "worker", "worker"]


def test_a_pod_that_was_asked_for_comes_with_rank_zero_alone() -> None:
    scene = Scene(3)
    scene.changes = {"focus": "bert-worker-1"}
    scene.tell(scene.pods["bert-worker-2"], "10.66.6.6")
    plugin_gone(scene)
    found = texts(findings(scene))
    assert not [each for each in found if each.startswith("fail pod bert-worker-2")]
    assert [row.pod for row in explain(scene.reading).rows] == ["bert-master-0", "bert-worker-1"]


def test_two_jobs_of_one_selector_are_told_apart() -> None:
    one_job, other = Scene(1), Scene(1)
    for pod in other.pods.values():
        pod["metadata"]["name"] = f"again-{pod['metadata']['name']}"
        pod["metadata"]["labels"][names.JOB] = "again-0123456789"
    other.tell(next(iter(other.workers)), "10.66.6.6")
    both = (*one_job.pods.values(), *other.pods.values())
    one_job.changes = {"pods": both}
    explanation = explain(one_job.reading)
    assert len(explanation.jobs) == 2
    assert [row.pod for row in explanation.rows if row.role == "rank 0"] == [
        "again-bert-master-0",
        "bert-master-0",
    ]
    assert {row.job for row in explanation.rows} == set(explanation.jobs)
    told = texts(explanation.findings)
    assert (
        "fail pod again-bert-worker-0: is told that rank 0 is at 10.66.6.6, and again-bert-master-0 is at 192.168.0.1"
        in told
    )


def test_programs_read_null_for_what_is_not_there() -> None:
    scene = Scene(1)
    worker = scene.workers[0]
    scene.unschedule(worker, "0/2 nodes are available: 2 Insufficient rdma/hca.")
    told = {member["pod"]: member for member in explain(scene.reading).as_json()["members"]}[
        worker["metadata"]["name"]
    ]
    absent = ("node", "address", "told", "wait")
    assert {key: told[key] for key in absent} == dict.fromkeys(absent)
    assert (told["role"], told["phase"]) == ("worker", "Pending")
