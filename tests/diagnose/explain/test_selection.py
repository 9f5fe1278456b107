"""Which pods ``job/NAME`` means."""

from __future__ import annotations

from typing import Any

import pytest

from tests.pods import load
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.explain.selection import choose, find_jobs, known_names
from webhook.diagnose.job_kinds import find_kind


def pod(
    name: str,
    owner: str = "",
    uid: str = "",
    *,
    kind: str = "StatefulSet",
    key: str = "",
    **labels: str,
) -> Object:
    """Give a pod's metadata; labels with ``__`` for a slash and ``_`` for a dot."""
    found = {label.replace("__", "/").replace("_", "."): value for label, value in labels.items()}
    metadata: dict[str, Any] = {"name": name, "labels": found | ({names.JOB: key} if key else {})}
    if owner:
        metadata["ownerReferences"] = [
            {"kind": kind, "name": owner, "uid": uid or owner, "controller": True}
        ]
    return {"metadata": metadata}


@pytest.mark.parametrize(
    ("fixture", "name", "title"),
    [
        ("pods/kubeflow-pytorchjob-1.yaml", "bert", "PyTorchJob/bert"),
        ("pods/statefulset-1.yaml", "ddp", "StatefulSet/ddp"),
        ("pods/jobset-1.yaml", "", "jobset/"),
        ("pods/lws-1.yaml", "", "leaderworkerset/"),
        ("pods/kubeflow-trainer-1.yaml", "", "jobset/"),
        ("pods/volcano-pytorch-1.yaml", "", "Job/"),
        ("pods/torchx-volcano-1.yaml", "trainer-d4q9zxk1tw", "Job/"),
        ("pods/torchx-volcano-1.yaml", "trainer", "torchx/"),
        ("pods/indexed-job-1.yaml", "", "Job/"),
        ("pods/kubedl-pytorchjob-1.yaml", "", "PyTorchJob/"),
        ("pods/torch-on-k8s-1.yaml", "", "TorchJob/"),
    ],
)
def test_finds_the_pods_of_every_training_system_by_name(
    fixture: str, name: str, title: str
) -> None:
    member = load(fixture)
    member["metadata"].setdefault("name", "member-1")
    name = name or known_names([member])[0]
    [job] = find_jobs([member, pod("other", "other")], name)
    assert list(job.pods) == [member["metadata"]["name"]]
    assert job.title.startswith(title), job.title


@pytest.mark.parametrize(
    ("fixture", "written", "name"),
    [
        ("pods/kubeflow-pytorchjob-1.yaml", "pytorchjob", "bert"),
        ("pods/kubeflow-pytorchjob-1.yaml", "pytorchjobs.v1.kubeflow.org", "bert"),
        ("pods/kubedl-pytorchjob-1.yaml", "pytorchjobs", ""),
        ("pods/volcano-pytorch-1.yaml", "volcanojob", ""),
        ("pods/volcano-pytorch-1.yaml", "jobs.batch.volcano.sh", ""),
        ("pods/torchx-volcano-1.yaml", "vcjob", "trainer-d4q9zxk1tw"),
        ("pods/jobset-1.yaml", "JobSet", ""),
        ("pods/kubeflow-trainer-1.yaml", "trainjob", ""),
        ("pods/lws-1.yaml", "lws", ""),
        ("pods/indexed-job-1.yaml", "job.batch", ""),
        ("pods/statefulset-1.yaml", "sts", "ddp"),
        ("pods/mpijob-launcher.yaml", "mpijob", "hvd"),
        ("pods/mpijob-worker-1.yaml", "mpijob", "hvd"),
        ("pods/grove-1.yaml", "pcs", "train"),
        ("pods/stormservice-1.yaml", "stormservices", "llm"),
        ("pods/torch-on-k8s-1.yaml", "torchjob", ""),
    ],
)
def test_a_kind_is_named_as_for_kubectl(fixture: str, written: str, name: str) -> None:
    member = load(fixture)
    member["metadata"].setdefault("name", "member-1")
    name = name or known_names([member])[0]
    kind = find_kind(written)
    assert kind is not None
    others = [pod(f"other-{each}", name, each, kind=each) for each in ("DaemonSet", "CronJob")]
    [job] = find_jobs([member, *others], name, kind)
    assert list(job.pods) == [member["metadata"]["name"]]


def test_of_two_kinds_of_one_name_the_one_that_is_asked_for_is_meant() -> None:
    pods = [pod("a-0", "a", "u1", kind="PyTorchJob"), pod("a-1", "a", "u2", kind="Job")]
    pods[1]["metadata"]["ownerReferences"][0]["apiVersion"] = "batch/v1"
    found = {
        written: find_jobs(pods, "a", find_kind(written))
        for written in ("pytorchjob", "job.batch", "vj", "job")
    }
    assert {written: [list(job.pods) for job in jobs] for written, jobs in found.items()} == {
        "pytorchjob": [["a-0"]],
        "job.batch": [["a-1"]],
        "vj": [],
        "job": [["a-0"], ["a-1"]],
    }


def test_events_of_another_kind_of_that_name_are_not_of_the_job() -> None:
    kind = find_kind("pytorchjob")
    assert kind is not None
    assert kind.is_other({"kind": "Job", "apiVersion": "batch/v1", "name": "a"}, "a")
    assert not kind.is_other(
        {"kind": "PyTorchJob", "apiVersion": "kubeflow.org/v1", "name": "a"}, "a"
    )
    assert not kind.is_other({"kind": "Workload", "name": "a"}, "a")


def test_pods_without_our_label_join_those_of_the_same_owner() -> None:
    [job] = find_jobs([pod("a-0", "a"), pod("a-1", "a", key="a-1f")], "a")
    assert (job.key, sorted(job.pods)) == ("a-1f", ["a-0", "a-1"])


def test_two_runs_of_one_name_are_two_jobs_and_the_live_one_is_meant() -> None:
    old, new = pod("a-0", "a", "u1", key="a-1"), pod("a-1", "a", "u2", key="a-2")
    jobs = find_jobs([old, new], "a")
    assert [job.key for job in jobs] == ["a-1", "a-2"]
    assert choose(jobs) is None
    jobs[0].live = 0
    assert choose(jobs) is jobs[1]
    jobs[1].live = 0
    assert choose(jobs) is jobs[1], "the newest of those that have ended"
    assert choose([]) is None


def test_groups_of_one_leaderworkerset_are_jobs_of_their_own() -> None:
    group = "leaderworkerset_sigs_k8s_io__group-index"
    name = {"leaderworkerset_sigs_k8s_io__name": "l"}
    pods = [pod(f"l-{n}", "l", key=f"l-{n}f", **name, **{group: str(n)}) for n in range(2)]
    late = pod("l-1-1", "l-1", **name, **{group: "1"})
    assert [sorted(job.pods) for job in find_jobs([*pods, late], "l")] == [["l-0"], ["l-1"]], (
        "by the owner's name"
    )
    assert known_names([late]) == ["l"]


def test_a_pod_of_nobody_is_no_job() -> None:
    assert known_names(
        [pod("debug", app="shell"), pod("bare"), pod("a-0", key="a-1f", app="a")]
    ) == ["a"]


def test_an_owner_of_the_name_goes_before_labels_of_the_name() -> None:
    [job] = find_jobs([pod("a-0", "a"), pod("x", "x", app="a")], "a")
    assert list(job.pods) == ["a-0"]


def test_a_job_that_is_being_deleted_is_not_live() -> None:
    gone = pod("a-0", "a")
    gone["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    [job] = find_jobs([gone], "a")
    assert job.live == 0
    assert str(job) == "StatefulSet/a: StatefulSet/a, 1 pods, newest of unknown age"
