"""Kubernetes' own kinds: Pod, StatefulSet, Job."""

from __future__ import annotations

from tests.dry_run.templates.kinds import PLAIN, container, find, template, workload


def test_keeps_a_pod_as_it_was_saved() -> None:
    metadata = {
        "name": "p",
        "uid": "u",
        "labels": {"a": "b"},
        "ownerReferences": [{"kind": "Job", "name": "j", "controller": True}],
    }
    [found] = find({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, **PLAIN}).pods
    assert found.pod["metadata"] == {**metadata, "namespace": "default"}


def test_keeps_the_finalizers_of_a_template() -> None:
    marked = {"metadata": {"finalizers": ["example.com/keep"]}, **PLAIN}
    [found] = find(workload("apps/v1", "StatefulSet", "db", {"template": marked})).pods
    assert found.pod["metadata"]["finalizers"] == ["example.com/keep"]


def test_adds_the_volumes_of_a_stateful_set() -> None:
    claim = {"metadata": {"name": "data"}, "spec": {}}
    manifest = workload(
        "apps/v1", "StatefulSet", "db", {"template": PLAIN, "volumeClaimTemplates": [claim]}
    )
    [found] = find(manifest).pods
    assert found.pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}
    ]


def test_keeps_an_index_variable_that_the_user_wrote() -> None:
    own = {"name": "JOB_COMPLETION_INDEX", "value": "7"}
    spec = {"completionMode": "Indexed", "template": template(container("main", env=[own]))}
    [found] = find(workload("batch/v1", "Job", "ddp", spec)).pods
    assert found.pod["spec"]["containers"][0]["env"] == [own]
