"""What is told of a job that somebody has suspended: it has no pod, and says so itself."""

from __future__ import annotations

from typing import Any

import pytest

from tests.diagnose.hostile import HostileConnection, cluster_of
from tests.diagnose.scenes import SPACE, Scene, workload
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.diagnose.collect.jobs import Target, read_all, read_job
from webhook.diagnose.explain.judge import explain
from webhook.diagnose.finding import Finding
from webhook.diagnose.jobs import find_kind
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.status.status import look_at_all

BATCH, JOBSETS = "batch/v1", "jobset.x-k8s.io/v1alpha2"
IN_SPEC, IN_POLICY = {"suspend": True}, {"runPolicy": {"suspend": True}}
QUEUE = {"kueue.x-k8s.io/queue-name": "team"}


def job(name: str = "su", spec: Object | None = None, **metadata: Any) -> Object:
    return {
        "metadata": {"name": name, "namespace": SPACE, **metadata},
        "spec": IN_SPEC if spec is None else spec,
    }


def cluster(*jobs: tuple[str, str, Object], scene: Scene | None = None) -> HostileConnection:
    """Return a cluster of these jobs, each with its API version and its resource; without pods unless a *scene* has some."""
    if scene is None:
        scene = Scene(0)
        scene.pods.clear()
    connection = cluster_of(scene)
    connection.objects["/api/v1/namespaces"] = [
        {"metadata": {"name": SPACE, "labels": scene.labels}}
    ]
    connection.objects["/api/v1/events"] = scene.events
    for version, resource, made in jobs:
        connection.objects[
            f"/apis/{version}/namespaces/{SPACE}/{resource}/{made['metadata']['name']}"
        ] = made
        for path in (
            f"/apis/{version}/{resource}",
            f"/apis/{version}/namespaces/{SPACE}/{resource}",
        ):
            connection.objects.setdefault(path, []).append(made)
    return connection


def told(connection: HostileConnection, written: str = "job/su") -> list[Finding]:
    kind, _, name = written.partition("/")
    target = Target("job", name, find_kind(kind), kind)
    return [
        each
        for each in explain(*read_job(Snapshot(connection, SPACE), target)).findings
        if each.level != "ok"
    ]


def shown(connection: HostileConnection) -> dict[str, str]:
    """Return the jobs of `status`, and what it says of each first."""
    found = look_at_all(*read_all(Snapshot(connection)))
    return {each.name: str(each.first.code) if each.first else "" for each in found}


@pytest.mark.parametrize(
    ("version", "kind", "spec"),
    [
        (BATCH, "Job", IN_SPEC),
        (JOBSETS, "JobSet", IN_SPEC),
        ("trainer.kubeflow.org/v1alpha1", "TrainJob", IN_SPEC),
        ("ray.io/v1", "RayJob", IN_SPEC),
        ("ray.io/v1", "RayCluster", IN_SPEC),
        ("kubeflow.org/v1", "PyTorchJob", IN_POLICY),
        ("kubeflow.org/v1", "TFJob", IN_POLICY),
        ("kubeflow.org/v1", "XGBoostJob", IN_POLICY),
        ("kubeflow.org/v1", "PaddleJob", IN_POLICY),
        ("kubeflow.org/v1", "JAXJob", IN_POLICY),
        ("kubeflow.org/v1", "MPIJob", IN_POLICY),
        ("kubeflow.org/v2beta1", "MPIJob", IN_POLICY),
    ],
)
def test_each_kind_says_that_it_is_suspended(version: str, kind: str, spec: Object) -> None:
    connection = cluster((version, f"{kind.lower()}s", job(spec=spec)))
    for written in ("job/su", f"{kind.lower()}.{version.partition('/')[0]}/su"):
        [found] = told(connection, written)
        assert (found.level, str(found.code), found.subject) == (
            "warn",
            "job-suspended",
            f"{kind} su",
        )
        assert found.message == "is suspended, so that it makes no pods"
    assert shown(connection) == {"su": "job-suspended"}


@pytest.mark.parametrize(
    "spec", [{}, {"suspend": False}, {"runPolicy": {"suspend": False}}, {"runPolicy": None}]
)
def test_a_job_that_is_not_suspended_is_not_told_to_be(spec: Object) -> None:
    connection = cluster((BATCH, "jobs", job(spec=spec)))
    with pytest.raises(InputError, match="has no such pod"):
        told(connection)
    assert shown(connection) == {}


def test_one_of_another_kind_than_was_asked_for_is_another() -> None:
    with pytest.raises(InputError, match="has no such pod"):
        told(cluster((JOBSETS, "jobsets", job())), "job.batch/su")


def test_a_job_that_was_suspended_by_the_one_that_made_it_is_not_told() -> None:
    owner = {
        "apiVersion": JOBSETS,
        "kind": "JobSet",
        "name": "su",
        "uid": "u-1",
        "controller": True,
    }
    connection = cluster(
        (JOBSETS, "jobsets", job(uid="u-1")),
        (BATCH, "jobs", job("su-workers-0", ownerReferences=[owner])),
        (BATCH, "jobs", job("su", ownerReferences=[owner])),
    )
    assert [each.subject for each in told(connection)] == ["JobSet su"]
    assert shown(connection) == {"su": "job-suspended"}


def test_kueue_suspends_in_its_own_words() -> None:
    held = workload(("QuotaReserved", "False", "Pending", "no room"), owner=("Job", "su"))
    scene = Scene(0)
    scene.pods.clear()
    scene.workloads.append(held)
    connection = cluster((BATCH, "jobs", job(labels=QUEUE)), scene=scene)
    assert [str(each.code) for each in told(connection)] == ["kueue-waiting"]
    scene.workloads.clear()
    [found] = told(cluster((BATCH, "jobs", job(labels=QUEUE)), scene=scene))
    assert found.message.endswith("as Kueue does with jobs of LocalQueue team")
    assert found.action == "look at its Workload: the job runs once Kueue admits that"


def test_a_job_whose_pods_have_ended_is_suspended_too_and_one_that_runs_is_not_asked() -> None:
    scene = Scene(1)
    suspended = ("kubeflow.org/v1", "pytorchjobs", job("bert", IN_POLICY))
    connection = cluster(suspended, scene=scene)
    assert told(connection, "job/bert") == []
    assert not [each for each in connection.asked if "pytorchjobs" in each]
    assert shown(connection) == {"bert": ""}
    for pod in scene.pods.values():
        pod["status"]["phase"] = "Failed"
    connection = cluster(suspended, scene=scene)
    assert [str(each.code) for each in told(connection, "job/bert")] == ["job-suspended"]
    assert shown(connection) == {"bert": "job-suspended"}


def test_status_shows_it_where_a_profile_is_asked_for() -> None:
    connection = cluster((BATCH, "jobs", job()))
    connection.objects["/api/v1/namespaces"][0]["metadata"]["labels"] = {}
    assert shown(connection) == {}
    assert not [each for each in connection.asked if each.endswith("/jobs")]


@pytest.mark.parametrize(("answer", "noted"), [(403, []), (500, ["jobs research/su"])])
def test_who_may_not_read_a_kind_learns_nothing_of_it(answer: int, noted: list[str]) -> None:
    connection = cluster((BATCH, "jobs", job()), (JOBSETS, "jobsets", job()))
    connection.spoil = lambda request, *given: (answer, b"{}") if "/batch/" in request else given
    reading = read_job(Snapshot(connection, SPACE), Target("job", "su"))
    assert [each.what for each in reading[0].unread] == noted
    assert [
        each.subject for each in explain(*reading).findings if str(each.code) == "job-suspended"
    ] == ["JobSet su"]
