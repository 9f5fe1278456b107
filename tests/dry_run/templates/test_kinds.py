"""Every kind gives its pods, and says where each comes from."""

from __future__ import annotations

import pytest

from tests.dry_run.templates.kinds import (
    DL_ROLES,
    PLAIN,
    ROLES,
    TORCH_ROLES,
    container,
    elastic_job,
    find,
    grove,
    jobset,
    mpi_job,
    names,
    pytorch_job,
    ray,
    storm_service,
    template,
    volcano_job,
    workload,
    wrapped,
)
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

SHOWN: dict[str, tuple[Object, list[str]]] = {
    "Pod": ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}, ["p"]),
    "Pod with generateName": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, **PLAIN},
        ["p-*"],
    ),
    "PodTemplate": (
        {"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "p"}, "template": PLAIN},
        ["p-*"],
    ),
    "Deployment": (
        workload("apps/v1", "Deployment", "web", {"replicas": 5, "template": PLAIN}),
        ["web-*"],
    ),
    "ReplicaSet": (workload("apps/v1", "ReplicaSet", "web", {"template": PLAIN}), ["web-*"]),
    "DaemonSet": (workload("apps/v1", "DaemonSet", "web", {"template": PLAIN}), ["web-*"]),
    "ReplicationController": (
        workload("v1", "ReplicationController", "web", {"template": PLAIN}),
        ["web-*"],
    ),
    "StatefulSet of one": (workload("apps/v1", "StatefulSet", "db", {"template": PLAIN}), ["db-0"]),
    "StatefulSet of four": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": 4, "template": PLAIN}),
        ["db-0", "db-1"],
    ),
    "StatefulSet that starts at 3": (
        workload(
            "apps/v1",
            "StatefulSet",
            "db",
            {"replicas": 2, "ordinals": {"start": 3}, "template": PLAIN},
        ),
        ["db-3", "db-4"],
    ),
    "Job": (workload("batch/v1", "Job", "prep", {"parallelism": 4, "template": PLAIN}), ["prep-*"]),
    "CronJob": (
        workload("batch/v1", "CronJob", "prep", {"jobTemplate": {"spec": {"template": PLAIN}}}),
        ["prep-0-*"],
    ),
    "indexed Job of one": (
        workload("batch/v1", "Job", "ddp", {"completionMode": "Indexed", "template": PLAIN}),
        ["ddp-0-*"],
    ),
    "PyTorchJob": (pytorch_job(), ["bert-master-0", "bert-worker-0"]),
    "PyTorchJob of a master alone": (
        pytorch_job(pytorchReplicaSpecs={"Master": ROLES["Master"]}),
        ["bert-master-0"],
    ),
    "elastic PyTorchJob": (elastic_job(minReplicas=2), ["bert-worker-0", "bert-worker-1"]),
    "TFJob": (
        workload(
            "kubeflow.org/v1",
            "TFJob",
            "tf",
            {
                "tfReplicaSpecs": {
                    "PS": {"template": PLAIN},
                    "Worker": {"replicas": 3, "template": PLAIN},
                }
            },
        ),
        ["tf-ps-0", "tf-worker-0"],
    ),
    "MPIJob": (mpi_job("v2beta1"), ["hvd-launcher-*", "hvd-worker-0", "hvd-worker-1"]),
    "MPIJob v1": (mpi_job("v1"), ["hvd-launcher", "hvd-worker-0", "hvd-worker-1"]),
    "TrainJob": (
        workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {"trainer": {"numNodes": 3}}),
        ["tj-node-0-0-*", "tj-node-0-1-*"],
    ),
    "TrainJob of one node": (
        workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {}),
        ["tj-node-0-0-*"],
    ),
    "JobSet of one Job": (jobset(("w", 1, 4)), ["js-w-0-0-*", "js-w-0-1-*"]),
    "JobSet of many Jobs": (jobset(("w", 4, 1)), ["js-w-0-0-*", "js-w-1-0-*"]),
    "JobSet of two groups": (
        jobset(("a", 1, 1), ("b", 1, 2)),
        ["js-a-0-0-*", "js-b-0-0-*", "js-b-0-1-*"],
    ),
    "LeaderWorkerSet": (
        workload(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "lws",
            {"replicas": 8, "leaderWorkerTemplate": {"size": 4, "workerTemplate": PLAIN}},
        ),
        ["lws-0", "lws-0-1"],
    ),
    "LeaderWorkerSet of one": (
        workload(
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            "lws",
            {"leaderWorkerTemplate": {"workerTemplate": PLAIN}},
        ),
        ["lws-0"],
    ),
    "PodCliqueSet": (
        grove(("leader", 1), ("worker", 3), group=2),
        ["pcs-0-g-0-leader-0-*", "pcs-0-g-0-worker-0-*", "pcs-0-g-0-worker-1-*"],
    ),
    "PodCliqueSet without scaling groups": (
        grove(("router", 2)),
        ["pcs-0-router-0-*", "pcs-0-router-1-*"],
    ),
    "StormService": (
        storm_service(stateful=True, replicas=3),
        [f"llm-roleset-xxxxx-p-xxxxx-{n}" for n in (0, 1)],
    ),
    "StormService of stateless pods": (storm_service(replicas=3), ["llm-roleset-xxxxx-p-*"] * 2),
    "StormService of PodSets": (
        storm_service(stateful=True, replicas=3, podGroupSize=4),
        [f"llm-roleset-xxxxx-p-xxxxx-0-{n}" for n in (0, 1)],
    ),
    "StormService of stateless PodSets": (
        storm_service(podGroupSize=2),
        [f"llm-roleset-xxxxx-p-xxxxx-{n}" for n in (0, 1)],
    ),
    "KubeDL": (
        workload(
            "training.kubedl.io/v1alpha1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": DL_ROLES}
        ),
        ["bert-master-0", "bert-worker-0"],
    ),
    "torch-on-k8s with AIMaster": (
        workload(
            "train.distributed.io/v1alpha1",
            "TorchJob",
            "bert",
            {"torchTaskSpecs": {**TORCH_ROLES, "AIMaster": {"template": PLAIN}}},
        ),
        ["bert-aimaster-0", "bert-master-0", "bert-worker-0"],
    ),
    "RayCluster": (ray("RayCluster", None), ["rc-head-*", "rc-gpu-worker-*"]),
    "RayJob": (ray("RayJob", "rayClusterSpec"), ["rc-xxxxx-head-*", "rc-xxxxx-gpu-worker-*"]),
    "RayService": (
        ray("RayService", "rayClusterConfig"),
        ["rc-xxxxx-head-*", "rc-xxxxx-gpu-worker-*"],
    ),
    "RayJob on a cluster that is there": (
        workload(
            "ray.io/v1",
            "RayJob",
            "rc",
            {
                "clusterSelector": {"ray.io/cluster": "rc"},
                "submitterPodTemplate": template(container("submit")),
            },
        ),
        ["rc-*"],
    ),
    "RayCluster without a head yet": (
        workload(
            "ray.io/v1",
            "RayCluster",
            "rc",
            {"workerGroupSpecs": [{"groupName": "gpu", "template": PLAIN}]},
        ),
        ["rc-gpu-worker-*"],
    ),
    "Volcano Job": (volcano_job(("main", 4)), ["bert-main-0", "bert-main-1"]),
    "Volcano Job of two tasks": (
        volcano_job(("actor", 2), ("learner", 1)),
        ["bert-actor-0", "bert-actor-1", "bert-learner-0"],
    ),
    "Volcano Job with the pytorch plugin": (
        volcano_job(("master", 1), ("worker", 4), plugins={"pytorch": []}),
        ["bert-master-0", "bert-worker-0"],
    ),
    "AppWrapper v1beta1": (wrapped("v1beta1", pytorch_job()), ["bert-master-0", "bert-worker-0"]),
    "AppWrapper v1beta2": (
        wrapped("v1beta2", volcano_job(("main", 1)), pytorch_job()),
        ["bert-main-0", "bert-master-0", "bert-worker-0"],
    ),
    "AppWrapper in an AppWrapper": (
        wrapped("v1beta2", wrapped("v1beta1", jobset(("w", 1, 1)))),
        ["js-w-0-0-*"],
    ),
    "a kind of Argo": (
        workload("argoproj.io/v1alpha1", "Rollout", "web", {"template": PLAIN}),
        ["web-*"],
    ),
    "a kind with many templates": (
        workload(
            "example.com/v1",
            "Pipeline",
            "p",
            {"steps": [{"podTemplate": PLAIN}, {"podTemplate": PLAIN}]},
        ),
        ["p-*", "p-*"],
    ),
    "a kind with podSpec": (
        workload(
            "example.com/v1",
            "Gang",
            "p",
            {"template": {"cliques": [{"spec": {"podSpec": PLAIN["spec"]}}]}},
        ),
        ["p-*"],
    ),
    "a wrapper of another project": (
        workload(
            "work.karmada.io/v1alpha1", "Work", "w", {"workload": {"manifests": [pytorch_job()]}}
        ),
        ["bert-master-0", "bert-worker-0"],
    ),
    "an object whose name the server will make": (
        {**pytorch_job(), "metadata": {"generateName": "bert-"}},
        ["bert-xxxxx-master-0", "bert-xxxxx-worker-0"],
    ),
}


@pytest.mark.parametrize(("manifest", "shown"), SHOWN.values(), ids=SHOWN)
def test_shows_rank_zero_and_one_other(manifest: Object, shown: list[str]) -> None:
    found = find(manifest)
    assert [
        each
        for each in found.ignored
        if "is shown with the one that Trainer ships" not in each.message
    ] == []
    assert names(found) == shown


SOURCES: dict[str, tuple[Object, list[str]]] = {
    "Pod": (SHOWN["Pod"][0], ["Pod/p"]),
    "Deployment": (SHOWN["Deployment"][0], ["Deployment/web spec.template"]),
    "CronJob": (SHOWN["CronJob"][0], ["CronJob/prep spec.jobTemplate.spec.template"]),
    "PyTorchJob": (
        pytorch_job(),
        [
            f"PyTorchJob/bert spec.pytorchReplicaSpecs.{role}.template"
            for role in ("Master", "Worker")
        ],
    ),
    "JobSet": (jobset(("w", 1, 1)), ["JobSet/js spec.replicatedJobs[0].template.spec.template"]),
    "wrapped": (
        wrapped("v1beta2", SHOWN["Deployment"][0]),
        ["AppWrapper/aw spec.components[0].template.spec.template"],
    ),
    "unknown kind": (
        SHOWN["a kind with many templates"][0],
        ["Pipeline/p spec.steps[0].podTemplate", "Pipeline/p spec.steps[1].podTemplate"],
    ),
    "TrainJob": (
        SHOWN["TrainJob of one node"][0],
        ["TrainJob/tj runtime.template.spec.replicatedJobs[0].template.spec.template"],
    ),
}


@pytest.mark.parametrize(("manifest", "sources"), SOURCES.values(), ids=SOURCES)
def test_says_where_a_pod_comes_from(manifest: Object, sources: list[str]) -> None:
    assert [each.source for each in find(manifest).pods] == sources


@pytest.mark.parametrize(
    "kind", ["RayCluster", "RayJob", "RayService", "MPIJob", "MPIJob v1", "TFJob"]
)
def test_makes_pods_of_systems_without_a_process_group_that_are_recognised(kind: str) -> None:
    for each in find(SHOWN[kind][0]).pods:
        member = recognise(each.pod)
        assert isinstance(member, TrainingPod)
        assert member.rendezvous is None
