"""The pods of a RayCluster, and of a RayJob that makes one."""

from __future__ import annotations

from tests.dry_run.templates.kinds import container, find, ray, template, workload
from webhook.core.workloads import recognise


def test_mounts_shared_memory_as_kuberay_does() -> None:
    own = container("h", volumeMounts=[{"name": "mine", "mountPath": "/dev/shm"}])
    sized = container("w", resources={"limits": {"memory": "64Gi"}})
    spec = {
        "headGroupSpec": {"template": template(own)},
        "workerGroupSpecs": [
            {"groupName": "a", "template": template(sized)},
            {"groupName": "b", "rayStartParams": {"plasma-directory": "/x"}, "template": template(sized)},
            {"groupName": "c", "maxReplicas": 0, "template": template(sized)},
        ],
    }
    found = find(workload("ray.io/v1", "RayCluster", "rc", spec))
    head, first, second = (each.pod for each in found.pods)
    assert "volumes" not in head["spec"]
    assert first["spec"]["volumes"] == [{"name": "shared-mem", "emptyDir": {"medium": "Memory", "sizeLimit": "64Gi"}}]
    assert "volumes" not in second["spec"]
    assert [each.source for each in found.ignored] == ["RayCluster/rc spec.workerGroupSpecs[2].replicas"]


def test_shows_the_submitter_of_a_ray_job() -> None:
    manifest = ray("RayJob", "rayClusterSpec")
    manifest["spec"]["submitterPodTemplate"] = template(container("submit"))
    submitter = find(manifest).pods[-1].pod
    assert recognise(submitter).system == "raycluster"
    assert submitter["metadata"]["generateName"] == "rc-"
