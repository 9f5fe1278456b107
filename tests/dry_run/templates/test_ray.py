"""The pods of a RayCluster, and of a RayJob that makes one."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import container, find, ray, template, workload
from webhook.core import podspec
from webhook.core.workloads import recognise


def test_mounts_shared_memory_as_kuberay_does() -> None:
    own = container("h", volumeMounts=[{"name": "mine", "mountPath": "/dev/shm"}])
    sized = container("w", resources={"limits": {"memory": "64Gi"}})
    spec = {
        "headGroupSpec": {"template": template(own)},
        "workerGroupSpecs": [
            {"groupName": "a", "template": template(sized)},
            {
                "groupName": "b",
                "rayStartParams": {"plasma-directory": "/x"},
                "template": template(sized),
            },
            {"groupName": "c", "maxReplicas": 0, "template": template(sized)},
        ],
    }
    found = find(workload("ray.io/v1", "RayCluster", "rc", spec))
    head, first, second = (each.pod for each in found.pods)
    assert "volumes" not in head["spec"]
    assert first["spec"]["volumes"] == [
        {"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}
    ]
    assert "volumes" not in second["spec"]
    assert [each.source for each in found.ignored] == [
        "RayCluster/rc spec.workerGroupSpecs[2].replicas"
    ]


def test_shows_the_submitter_of_a_ray_job() -> None:
    manifest = ray("RayJob", "rayClusterSpec")
    manifest["spec"]["submitterPodTemplate"] = template(container("submit"))
    submitter = find(manifest).pods[-1].pod
    assert recognise(submitter).system == "raycluster"
    assert submitter["metadata"]["generateName"] == "rc-"


def test_a_ray_job_on_a_cluster_that_exists_makes_only_its_submitter() -> None:
    found = find(
        workload(
            "ray.io/v1",
            "RayJob",
            "rj",
            {"clusterSelector": {"ray.io/cluster": "rc"}, "entrypoint": "x"},
        )
    )
    assert found.pods == ()
    [told] = found.ignored
    assert (told.source, told.broken) == ("RayJob/rj spec.clusterSelector", False)
    assert (
        told.message
        == "chooses a RayCluster that exists: this RayJob makes no pod but the one that submits it"
    )


@pytest.mark.parametrize("kind", ["RayClusterFleet", "RayClusterReplicaSet"])
def test_shows_the_ray_clusters_of_aibrix_as_kuberay_makes_their_pods(kind: str) -> None:
    cluster = ray("RayCluster", None)["spec"]
    spec = {"replicas": 3, "template": {"metadata": {"labels": {"a": "b"}}, "spec": cluster}}
    head, worker = find(workload("orchestration.aibrix.ai/v1alpha1", kind, "fleet", spec)).pods
    assert podspec.controller(head.pod)["apiVersion"] == "ray.io/v1"
    assert podspec.labels(worker.pod)["ray.io/cluster"] == "fleet-xxxxx"
    assert (recognise(head.pod).system, recognise(worker.pod).system) == (
        "raycluster",
        "raycluster",
    )
    assert (head.replicas, worker.replicas) == (3, 12)
    none = find(
        workload("orchestration.aibrix.ai/v1alpha1", kind, "fleet", {**spec, "replicas": 0})
    )
    assert [(each.source, each.broken) for each in none.ignored] == [
        (f"{kind}/fleet spec.replicas", False)
    ]
