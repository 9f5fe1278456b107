"""Every kind gives its pods, or says why it gives none."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.test_templates_pods import DL_ROLES, ROLES, TORCH_ROLES, container, template, workload
from webhook import podspec
from webhook.errors import InputError
from webhook.model import Object
from webhook.templates import Templates, find_templates, parse_documents
from webhook.workloads import Member, recognise

PLAIN = template(container("main"))


def find(*manifests: Any, namespace: str | None = None) -> Templates:
    return find_templates(json.loads(json.dumps(manifests)), namespace)


def names(found: Templates) -> list[str]:
    return [podspec.display_name(each.pod) for each in found.pods]


def env(pod: Object, name: str, index: int = 0) -> str | None:
    return podspec.env_value(pod["spec"]["containers"][index], name)


def pytorch_job(**spec: Any) -> Object:
    return workload("kubeflow.org/v1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": ROLES, **spec})


def elastic_job(**policy: Any) -> Object:
    worker = {"Worker": {"replicas": 4, "template": template(container("pytorch"))}}
    return workload("kubeflow.org/v1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": worker, "elasticPolicy": policy})


def volcano_job(*tasks: tuple[str, int], **spec: Any) -> Object:
    made = [{"name": name, "replicas": count, "template": PLAIN} for name, count in tasks]
    return workload("batch.volcano.sh/v1alpha1", "Job", "bert", {"tasks": made, **spec})


def ray(kind: str, key: str | None) -> Object:
    cluster = {
        "headGroupSpec": {"rayStartParams": {}, "template": template(container("ray-head"))},
        "workerGroupSpecs": [{"groupName": "gpu", "replicas": 4, "template": template(container("ray-worker"))}],
    }
    return workload("ray.io/v1", kind, "rc", {key: cluster} if key else cluster)


def mpi_job(version: str, **spec: Any) -> Object:
    roles = {
        "Launcher": {"replicas": 1, "template": template(container("mpi"))},
        "Worker": {"replicas": 4, "template": template(container("mpi"))},
    }
    return workload(f"kubeflow.org/{version}", "MPIJob", "hvd", {"mpiReplicaSpecs": roles, **spec})


def wrapped(version: str, *objects: Object) -> Object:
    if version == "v1beta1":
        spec: Object = {"resources": {"GenericItems": [{"replicas": 1, "generictemplate": each} for each in objects]}}
    else:
        spec = {"components": [{"template": each} for each in objects]}
    return workload(f"workload.codeflare.dev/{version}", "AppWrapper", "aw", spec)


def jobset(*jobs: tuple[str, int, int]) -> Object:
    made = [
        {
            "name": name,
            "replicas": replicas,
            "template": {"spec": {"completions": count, "parallelism": count, "template": PLAIN}},
        }
        for name, replicas, count in jobs
    ]
    return workload("jobset.x-k8s.io/v1alpha2", "JobSet", "js", {"replicatedJobs": made})


SHOWN: dict[str, tuple[Object, list[str]]] = {
    "Pod": ({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}, ["p"]),
    "Pod with generateName": (
        {"apiVersion": "v1", "kind": "Pod", "metadata": {"generateName": "p-"}, **PLAIN},
        ["p-*"],
    ),
    "PodTemplate": ({"apiVersion": "v1", "kind": "PodTemplate", "metadata": {"name": "p"}, "template": PLAIN}, ["p-*"]),
    "Deployment": (workload("apps/v1", "Deployment", "web", {"replicas": 5, "template": PLAIN}), ["web-*"]),
    "ReplicaSet": (workload("apps/v1", "ReplicaSet", "web", {"template": PLAIN}), ["web-*"]),
    "DaemonSet": (workload("apps/v1", "DaemonSet", "web", {"template": PLAIN}), ["web-*"]),
    "ReplicationController": (workload("v1", "ReplicationController", "web", {"template": PLAIN}), ["web-*"]),
    "StatefulSet of one": (workload("apps/v1", "StatefulSet", "db", {"template": PLAIN}), ["db-0"]),
    "StatefulSet of four": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": 4, "template": PLAIN}),
        ["db-0", "db-1"],
    ),
    "StatefulSet that starts at 3": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": 2, "ordinals": {"start": 3}, "template": PLAIN}),
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
            {"tfReplicaSpecs": {"PS": {"template": PLAIN}, "Worker": {"replicas": 3, "template": PLAIN}}},
        ),
        ["tf-ps-0", "tf-worker-0"],
    ),
    "MPIJob": (mpi_job("v2beta1"), ["hvd-launcher-*", "hvd-worker-0", "hvd-worker-1"]),
    "MPIJob v1": (mpi_job("v1"), ["hvd-launcher", "hvd-worker-0", "hvd-worker-1"]),
    "TrainJob": (
        workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {"trainer": {"numNodes": 3}}),
        ["tj-node-0-0-*", "tj-node-0-1-*"],
    ),
    "TrainJob of one node": (workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {}), ["tj-node-0-0-*"]),
    "JobSet of one Job": (jobset(("w", 1, 4)), ["js-w-0-0-*", "js-w-0-1-*"]),
    "JobSet of many Jobs": (jobset(("w", 4, 1)), ["js-w-0-0-*", "js-w-1-0-*"]),
    "JobSet of two groups": (jobset(("a", 1, 1), ("b", 1, 2)), ["js-a-0-0-*", "js-b-0-0-*", "js-b-0-1-*"]),
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
            "leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "lws", {"leaderWorkerTemplate": {"workerTemplate": PLAIN}}
        ),
        ["lws-0"],
    ),
    "KubeDL": (
        workload("training.kubedl.io/v1alpha1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": DL_ROLES}),
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
    "RayService": (ray("RayService", "rayClusterConfig"), ["rc-xxxxx-head-*", "rc-xxxxx-gpu-worker-*"]),
    "RayJob on a cluster that is there": (
        workload(
            "ray.io/v1",
            "RayJob",
            "rc",
            {"clusterSelector": {"ray.io/cluster": "rc"}, "submitterPodTemplate": template(container("submit"))},
        ),
        ["rc-*"],
    ),
    "RayCluster without a head yet": (
        workload("ray.io/v1", "RayCluster", "rc", {"workerGroupSpecs": [{"groupName": "gpu", "template": PLAIN}]}),
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
    "AppWrapper in an AppWrapper": (wrapped("v1beta2", wrapped("v1beta1", jobset(("w", 1, 1)))), ["js-w-0-0-*"]),
    "a kind of Argo": (workload("argoproj.io/v1alpha1", "Rollout", "web", {"template": PLAIN}), ["web-*"]),
    "a kind with many templates": (
        workload("example.com/v1", "Pipeline", "p", {"steps": [{"podTemplate": PLAIN}, {"podTemplate": PLAIN}]}),
        ["p-*", "p-*"],
    ),
    "a kind with podSpec": (
        workload(
            "grove.io/v1alpha1", "PodCliqueSet", "p", {"template": {"cliques": [{"spec": {"podSpec": PLAIN["spec"]}}]}}
        ),
        ["p-*"],
    ),
    "a wrapper of another project": (
        workload("work.karmada.io/v1alpha1", "Work", "w", {"workload": {"manifests": [pytorch_job()]}}),
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
    assert found.ignored == ()
    assert names(found) == shown


SOURCES: dict[str, tuple[Object, list[str]]] = {
    "Pod": (SHOWN["Pod"][0], ["Pod/p"]),
    "Deployment": (SHOWN["Deployment"][0], ["Deployment/web spec.template"]),
    "CronJob": (SHOWN["CronJob"][0], ["CronJob/prep spec.jobTemplate.spec.template"]),
    "PyTorchJob": (
        pytorch_job(),
        [f"PyTorchJob/bert spec.pytorchReplicaSpecs.{role}.template" for role in ("Master", "Worker")],
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


IGNORED: dict[str, tuple[Any, str, str, bool]] = {
    "ConfigMap": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        "ConfigMap/x",
        "holds no pod template",
        False,
    ),
    "text": ("hello", "document 1", "is no object", True),
    "no kind": ({"a": 1}, "document 1", "names no kind", True),
    "kind is no text": ({"kind": 5}, "document 1", "names no kind", True),
    "scaled to zero": (
        workload("apps/v1", "Deployment", "web", {"replicas": 0, "template": PLAIN}),
        "Deployment/web spec.replicas",
        "is 0: no pod is created",
        False,
    ),
    "no replicas of a role": (
        pytorch_job(pytorchReplicaSpecs={"Worker": {"replicas": 0, "template": PLAIN}}),
        "PyTorchJob/bert spec.pytorchReplicaSpecs.Worker",
        "asks for 0 replicas",
        False,
    ),
    "a runtime": (
        workload("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "r", {}),
        "ClusterTrainingRuntime/r",
        "makes no pod itself",
        False,
    ),
    "no name": (
        {"apiVersion": "apps/v1", "kind": "Deployment", "spec": {"template": PLAIN}},
        "Deployment/?",
        "metadata.name: expected a name, found nothing",
        True,
    ),
    "a pod without a name": (
        {"apiVersion": "v1", "kind": "Pod", **PLAIN},
        "Pod/?",
        "metadata.name: expected a name, found nothing",
        True,
    ),
    "a name is a number": (
        volcano_job((5, 1)),  # type: ignore[arg-type]  # what YAML makes of an unquoted one
        "Job/bert",
        "spec.tasks[0].name: expected a string, found 5",
        True,
    ),
    "arguments are one text": (
        volcano_job(("main", 1), plugins={"svc": "--inject-hosts-env=false"}),
        "Job/bert",
        "spec.plugins.svc: expected a list of strings, found a string",
        True,
    ),
    "a flag is text": (
        mpi_job("v2beta1", runLauncherAsWorker="yes"),
        "MPIJob/hvd",
        "spec.runLauncherAsWorker: expected true or false, found a string",
        True,
    ),
    "containers are no list": (
        workload("apps/v1", "Deployment", "web", {"template": {"spec": {"containers": {"a": 1}}}}),
        "Deployment/web",
        "spec.template.spec.containers: expected a list, found an object",
        True,
    ),
    "no containers": (
        workload("apps/v1", "Deployment", "web", {"template": {"spec": {}}}),
        "Deployment/web",
        "spec.template.spec.containers: expected at least one container, found none",
        True,
    ),
    "no template": (
        workload("apps/v1", "Deployment", "web", {}),
        "Deployment/web",
        "spec.template.spec.containers: expected at least one container, found none",
        True,
    ),
    "a variable is a number": (
        volcano_job(("main", 1))
        | {"spec": {"tasks": [{"template": template(container("m", env=[{"name": "A", "value": 1}]))}]}},
        "Job/bert",
        "spec.tasks[0].template.spec.containers[0].env[0].value: expected a string, found a number",
        True,
    ),
    "replicas is text": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": "4", "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected a number from 0, found a string",
        True,
    ),
    "replicas is negative": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": -4, "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected a number from 0, found -4",
        True,
    ),
    "spec is a list": (
        workload("kubeflow.org/v1", "PyTorchJob", "b", []),
        "PyTorchJob/b",
        "spec: expected a map, found a list",
        True,
    ),
    "tasks are a map": (
        workload("batch.volcano.sh/v1alpha1", "Job", "j", {"tasks": {}}),
        "Job/j",
        "spec.tasks: expected a list, found a map",
        True,
    ),
    "a wrapped object is broken": (
        wrapped("v1beta2", workload("apps/v1", "Deployment", "web", {"template": {"spec": {"containers": [5]}}})),
        "AppWrapper/aw",
        "spec.components[0].template.spec.template.spec.containers[0]: expected an object, found a number",
        True,
    ),
}


@pytest.mark.parametrize(("manifest", "source", "message", "broken"), IGNORED.values(), ids=IGNORED)
def test_says_why_an_object_gives_no_pod(manifest: Any, source: str, message: str, broken: bool) -> None:
    found = find(manifest)
    assert found.pods == ()
    [ignored] = found.ignored
    assert ignored.source == source
    assert message in ignored.message
    assert ignored.broken is broken


NONE: dict[str, tuple[Object, str]] = {
    "StatefulSet": (workload("apps/v1", "StatefulSet", "x", {"replicas": 0, "template": PLAIN}), "spec.replicas"),
    "Job": (workload("batch/v1", "Job", "x", {"parallelism": 0, "template": PLAIN}), "spec.parallelism"),
    "Volcano Job": (volcano_job(("main", 0)), "spec.tasks[0].replicas"),
    "JobSet": (jobset(("w", 0, 1)), "spec.replicatedJobs[0].replicas"),
    "LeaderWorkerSet": (
        workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "x", {"replicas": 0}),
        "spec.replicas",
    ),
    "TFJob": (
        workload("kubeflow.org/v1", "TFJob", "x", {"tfReplicaSpecs": {"PS": {"replicas": 0}}}),
        "spec.tfReplicaSpecs.PS",
    ),
    "MPIJob": (
        workload("kubeflow.org/v2beta1", "MPIJob", "x", {"mpiReplicaSpecs": {"Worker": {"replicas": 0}}}),
        "spec.mpiReplicaSpecs.Worker",
    ),
    "KubeDL": (
        workload("training.kubedl.io/v1alpha1", "TFJob", "x", {"tfReplicaSpecs": {"Worker": {"replicas": 0}}}),
        "spec.tfReplicaSpecs.Worker",
    ),
    "torch-on-k8s": (
        workload("train.distributed.io/v1alpha1", "TorchJob", "x", {"torchTaskSpecs": {"Worker": {"numTasks": 0}}}),
        "spec.torchTaskSpecs.Worker",
    ),
}


@pytest.mark.parametrize(("manifest", "path"), NONE.values(), ids=NONE)
def test_says_where_no_pod_is_asked_for(manifest: Object, path: str) -> None:
    found = find(manifest)
    assert found.pods == ()
    [ignored] = found.ignored
    assert ignored.source.endswith(f" {path}")
    assert "no pod is created" in ignored.message
    assert not ignored.broken


def test_goes_on_behind_a_broken_object() -> None:
    found = find(IGNORED["no template"][0], SHOWN["Pod"][0])
    assert names(found) == ["p"]
    assert len(found.ignored) == 1


@pytest.mark.parametrize(
    "manifest",
    [
        {"apiVersion": "v1", "kind": "List", "items": [SHOWN["Pod"][0], SHOWN["Deployment"][0]]},
        {
            "apiVersion": "v1",
            "kind": "List",
            "items": [{"apiVersion": "v1", "kind": "List", "items": [SHOWN["Pod"][0]]}, SHOWN["Deployment"][0]],
        },
        [SHOWN["Pod"][0], SHOWN["Deployment"][0]],
    ],
    ids=["List", "List in a List", "JSON list"],
)
def test_takes_lists_apart(manifest: Any) -> None:
    assert names(find(manifest)) == ["p", "web-*"]


def test_knows_the_kind_of_items_that_do_not_say_it() -> None:
    item = {"metadata": {"name": "p", "namespace": "ml"}, **PLAIN}
    found = find({"apiVersion": "v1", "kind": "PodList", "items": [item]})
    assert [(each.source, each.namespace) for each in found.pods] == [("Pod/p", "ml")]


@pytest.mark.parametrize(
    ("own", "given", "expected"),
    [(None, None, "default"), (None, "research", "research"), ("ml", "research", "ml")],
    ids=["default", "given", "own"],
)
def test_places_a_pod_in_a_namespace(own: str | None, given: str | None, expected: str) -> None:
    manifest = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": {"template": PLAIN}}
    if own:
        manifest["metadata"] = {"name": "db", "namespace": own}
    [found] = find(manifest, namespace=given).pods
    assert (found.namespace, found.pod["metadata"]["namespace"]) == (expected, expected)


def test_places_wrapped_objects_beside_their_wrapper() -> None:
    inner = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}
    [found] = find(wrapped("v1beta1", inner)).pods
    assert found.namespace == "train"


def test_copies_limits_to_requests_and_keeps_quantities_as_written() -> None:
    resources = {"limits": {"cpu": "2000m", "rdma/hca": 1, "memory": "4096M"}, "requests": {"cpu": "1900m"}}
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p"},
        **template(
            container("main", resources=resources),
            container("plain", resources={}),
            initContainers=[container("init", resources=resources)],
        ),
    }
    [found] = find(manifest).pods
    expected = {"cpu": "1900m", "rdma/hca": 1, "memory": "4096M"}
    assert found.pod["spec"]["containers"][0]["resources"]["requests"] == expected
    assert found.pod["spec"]["initContainers"][0]["resources"]["requests"] == expected
    assert found.pod["spec"]["containers"][1]["resources"] == {}


def test_separates_what_yaml_aliases_share() -> None:
    text = """
    kind: StatefulSet
    apiVersion: apps/v1
    metadata: {name: db}
    spec:
      template:
        spec:
          containers:
          - {name: a, image: i, env: &env [{name: A, value: b}]}
          - {name: b, image: i, env: *env}
    """
    [found] = find_templates(parse_documents(text)).pods
    first, second = found.pod["spec"]["containers"]
    assert first["env"] == second["env"]
    assert first["env"] is not second["env"]


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
    manifest = workload("apps/v1", "StatefulSet", "db", {"template": PLAIN, "volumeClaimTemplates": [claim]})
    [found] = find(manifest).pods
    assert found.pod["spec"]["volumes"] == [{"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}}]


def test_keeps_an_index_variable_that_the_user_wrote() -> None:
    own = {"name": "JOB_COMPLETION_INDEX", "value": "7"}
    spec = {"completionMode": "Indexed", "template": template(container("main", env=[own]))}
    [found] = find(workload("batch/v1", "Job", "ddp", spec)).pods
    assert found.pod["spec"]["containers"][0]["env"] == [own]


def test_counts_processes_of_a_pytorch_job() -> None:
    master, worker = find(pytorch_job(nprocPerNode="8")).pods
    assert [env(each.pod, "WORLD_SIZE") for each in (master, worker)] == ["16", "16"]
    assert [env(each.pod, "RANK") for each in (master, worker)] == ["0", "1"]
    assert env(master.pod, "PET_NPROC_PER_NODE") == "8"


def test_reads_the_port_of_a_pytorch_job() -> None:
    metrics, port = ({"name": name, "containerPort": number} for name, number in (("m", 1), ("pytorchjob-port", 29400)))
    side = container("side", ports=[{**port, "containerPort": 2}])
    roles = {**ROLES, "Master": {"template": template(side, container("pytorch", ports=[metrics, port]))}}
    found = find(pytorch_job(pytorchReplicaSpecs=roles)).pods
    assert {env(each.pod, "MASTER_PORT") for each in found} == {"29400"}


def test_writes_the_variables_of_an_elastic_pytorch_job() -> None:
    policy = {
        "minReplicas": 2,
        "maxReplicas": 6,
        "maxRestarts": 3,
        "rdzvId": "x",
        "rdzvConf": [{"key": "timeout", "value": "30"}, {"key": "is_host", "value": "1"}],
    }
    first, second = (each.pod for each in find(elastic_job(**policy)).pods)
    assert {entry["name"]: entry["value"] for entry in second["spec"]["containers"][0]["env"]} == {
        "PYTHONUNBUFFERED": "1",
        "PET_RDZV_ENDPOINT": "bert-worker-0:23456",
        "PET_RDZV_BACKEND": "c10d",
        "PET_NNODES": "2:6",
        "PET_NPROC_PER_NODE": "auto",
        "PET_MAX_RESTARTS": "3",
        "PET_RDZV_ID": "x",
        "PET_RDZV_CONF": "timeout=30,is_host=1",
    }
    assert podspec.labels(first)["training.kubeflow.org/job-role"] == "master"
    assert "training.kubeflow.org/job-role" not in podspec.labels(second)
    assert "initContainers" not in second["spec"]


def test_writes_the_variables_of_a_standalone_pytorch_job() -> None:
    pod = find(elastic_job(standalone=True, rdzvHost="h", rdzvPort=1234, rdzvBackend="etcd")).pods[0].pod
    names_of = ("PET_RDZV_ENDPOINT", "PET_RDZV_BACKEND", "PET_NNODES", "PET_STANDALONE")
    assert [env(pod, name) for name in names_of] == ["h:1234", "etcd", "4", ""]


def test_gives_an_elastic_pytorch_job_with_a_master_both_sets_of_variables() -> None:
    master, worker = (each.pod for each in find(pytorch_job(elasticPolicy={"maxReplicas": 4})).pods)
    for pod in (master, worker):
        assert env(pod, "MASTER_ADDR") == "bert-master-0"
        assert env(pod, "PET_RDZV_ENDPOINT") == "bert-worker-0:23456"
        assert env(pod, "PET_NNODES") == "1:4"
        variables = [entry["name"] for entry in pod["spec"]["containers"][0]["env"]]
        assert len(variables) == len(set(variables))


def test_leaves_a_jobsets_pods_without_names_where_it_says_so() -> None:
    manifest = jobset(("w", 2, 1))
    manifest["spec"]["network"] = {"enableDNSHostnames": False}
    manifest["spec"]["replicatedJobs"][0]["template"]["spec"]["completionMode"] = "NonIndexed"
    found = find(manifest)
    assert names(found) == ["js-w-0-*", "js-w-1-*"]
    assert all("subdomain" not in each.pod["spec"] for each in found.pods)


def test_passes_scheduler_and_priority_of_a_volcano_job_on() -> None:
    manifest = volcano_job(("a", 1), ("b", 1), priorityClassName="high", schedulerName="own")
    manifest["spec"]["tasks"][1]["template"] = template(container("b"), schedulerName="mine", priorityClassName="low")
    first, second = (each.pod["spec"] for each in find(manifest).pods)
    assert (first["schedulerName"], first["priorityClassName"]) == ("own", "high")
    assert (second["schedulerName"], second["priorityClassName"]) == ("mine", "low")


def test_completes_other_jobs_of_kubedl() -> None:
    roles = {"PS": {"template": PLAIN}, "Worker": {"replicas": 2, "template": PLAIN}}
    found = find(workload("training.kubedl.io/v1alpha1", "TFJob", "tf", {"tfReplicaSpecs": roles}))
    assert names(found) == ["tf-ps-0", "tf-worker-0"]
    assert env(found.pods[0].pod, "MASTER_ADDR") is None


def test_gives_an_mpi_worker_without_a_command_the_ssh_server() -> None:
    bare = {"name": "mpi", "image": "i"}
    roles = {"Worker": {"template": template(bare)}}
    [found] = find(workload("kubeflow.org/v2beta1", "MPIJob", "hvd", {"mpiReplicaSpecs": roles})).pods
    assert found.pod["spec"]["containers"][0]["command"] == ["/usr/sbin/sshd", "-De"]


def test_turns_exit_code_into_never() -> None:
    roles = {"Master": {"restartPolicy": "ExitCode", "template": template(container("pytorch"))}}
    [found] = find(pytorch_job(pytorchReplicaSpecs=roles)).pods
    assert found.pod["spec"]["restartPolicy"] == "Never"


def test_wraps_what_the_user_set_after_the_variables_of_leaderworkerset() -> None:
    own = [{"name": "LWS_GROUP_SIZE", "value": "9"}, {"name": "A", "value": "$(LWS_LEADER_ADDRESS)"}]
    both = {"size": 2, "leaderTemplate": template(container("l")), "workerTemplate": template(container("w", env=own))}
    spec = {"leaderWorkerTemplate": both, "networkConfig": {"subdomainPolicy": "UniquePerReplica"}}
    leader, worker = (
        each.pod for each in find(workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "m", spec)).pods
    )
    assert [entry["name"] for entry in worker["spec"]["containers"][0]["env"]] == [
        "LWS_LEADER_ADDRESS",
        "LWS_GROUP_SIZE",
        "LWS_WORKER_INDEX",
        "A",
    ]
    assert env(leader, "LWS_LEADER_ADDRESS") == "m-0.m-0.train"
    assert env(worker, "LWS_GROUP_SIZE") == "2"
    assert leader["spec"]["containers"][0]["name"] == "l"


@pytest.mark.parametrize("kind", ["kubedl", "torch-on-k8s"])
def test_uses_the_nodes_network_where_the_job_says_so(kind: str) -> None:
    if kind == "kubedl":
        manifest = workload(
            "training.kubedl.io/v1alpha1",
            "PyTorchJob",
            "b",
            {"pytorchReplicaSpecs": DL_ROLES},
            annotations={"kubedl.io/network-mode": "host"},
        )
    else:
        manifest = workload(
            "train.distributed.io/v1alpha1",
            "TorchJob",
            "b",
            {"torchTaskSpecs": TORCH_ROLES},
            annotations={"distributed.io/network-mode": "host"},
        )
    assert all(each.pod["spec"]["hostNetwork"] for each in find(manifest).pods)


def test_puts_the_arguments_of_torchelastic_first() -> None:
    roles = {"Master": {"template": template(container("torch", args=["train.py"]))}}
    policy = {"rendezvousBackend": "etcd", "rendezvousEndpoint": "etcd:2379", "numMaxReplicas": 4}
    spec = {"torchTaskSpecs": roles, "enableTorchElastic": True, "torchElasticPolicy": policy}
    [found] = find(workload("train.distributed.io/v1alpha1", "TorchJob", "b", spec)).pods
    assert found.pod["spec"]["containers"][0]["args"] == [
        "--rdzv_backend=etcd",
        "--rdzv_endpoint=etcd:2379",
        "--rdzv_id=b",
        "--nproc_per_node=1",
        "--nnodes=1:4",
        "train.py",
    ]


@pytest.mark.parametrize(
    ("plugins", "expected"),
    [
        ({"svc": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        ({"env": []}, ["VK_TASK_INDEX", "VC_TASK_INDEX"]),
        ({"svc": ["--inject-hosts-env=false"]}, []),
        (
            {"pytorch": ["--master", "main"]},
            ["MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE", "RANK", "VC_MAIN_HOSTS", "VC_MAIN_NUM"],
        ),
        ({"pytorch": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        ({"tensorflow": []}, ["VC_MAIN_HOSTS", "VC_MAIN_NUM"]),
        (None, []),
    ],
    ids=["svc", "env", "svc without hosts", "pytorch", "pytorch without a master", "tensorflow", "none"],
)
def test_runs_the_plugins_of_a_volcano_job(plugins: Object | None, expected: list[str]) -> None:
    [found] = find(volcano_job(("main", 1), plugins=plugins)).pods
    assert [entry["name"] for entry in podspec.env(found.pod["spec"]["containers"][0])] == expected


def test_takes_host_and_subdomain_of_the_master_from_its_template() -> None:
    manifest = volcano_job(
        ("master", 1), ("worker", 1), plugins={"pytorch": ["--port=1234", "-wait-master-enabled=true"]}
    )
    manifest["spec"]["tasks"][0]["template"] = template(container("m"), hostname="h", subdomain="s")
    master, worker = (each.pod for each in find(manifest).pods)
    assert (env(worker, "MASTER_ADDR"), env(worker, "MASTER_PORT")) == ("h.s", "1234")
    assert (master["spec"]["hostname"], master["spec"]["subdomain"]) == ("h", "s")
    assert [each["name"] for each in worker["spec"]["initContainers"]] == ["wait-for-master"]


def test_a_task_that_is_neither_master_nor_worker_gets_no_rank() -> None:
    found = find(volcano_job(("master", 1), ("worker", 2), ("monitor", 1), plugins={"pytorch": []})).pods
    assert [env(each.pod, "RANK") for each in found] == ["0", "1", None]
    assert {env(each.pod, "MASTER_ADDR") for each in found} == {"bert-master-0.bert"}
    assert {env(each.pod, "WORLD_SIZE") for each in found} == {"3"}


def test_labels_wrapped_pods() -> None:
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, **PLAIN}
    labelled = workload("apps/v1", "Deployment", "web", {"template": {"metadata": {"labels": {"app": "web"}}, **PLAIN}})
    bare = workload("apps/v1", "Deployment", "bare", {"template": PLAIN})
    first, second, third = (each.pod for each in find(wrapped("v1beta1", pod, labelled, bare)).pods)
    assert podspec.labels(first) == {"appwrapper.mcad.ibm.com": "aw", "resourceName": "p"}
    assert podspec.controller(first)["kind"] == "AppWrapper"
    assert podspec.labels(second) == {"app": "web", "appwrapper.mcad.ibm.com": "aw", "resourceName": "web"}
    assert podspec.labels(third) == {}
    for inner in (bare, pod):
        [other] = find(wrapped("v1beta2", inner)).pods
        assert podspec.labels(other.pod) == {"workload.codeflare.dev/appwrapper": "aw"}


def runtime(**policy: Any) -> Object:
    node = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {"template": template(container("node", env=[{"name": "A", "value": "runtime"}]))},
        },
    }
    initializer = {
        "name": "dataset-initializer",
        "template": {"spec": {"template": template(container("dataset-initializer"))}},
    }
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [initializer, node]}}}
    return workload("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "own", spec)


def train_job(**spec: Any) -> Object:
    return workload("trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {"runtimeRef": {"name": "own"}, **spec})


def test_uses_the_runtime_that_the_input_holds() -> None:
    trainer = {"env": [{"name": "A", "value": "own"}, {"name": "B", "value": "b"}], "args": ["x"], "numProcPerNode": 4}
    found = find(runtime(numNodes=2, torch={}), train_job(trainer=trainer))
    assert names(found) == ["tj-dataset-initializer-0-0-*", "tj-node-0-0-*", "tj-node-0-1-*"]
    node = found.pods[1].pod
    assert node["spec"]["containers"][0]["args"] == ["x"]
    values = {entry["name"]: entry.get("value") for entry in node["spec"]["containers"][0]["env"]}
    assert values | {"PET_NODE_RANK": None, "JOB_COMPLETION_INDEX": None} == {
        "A": "own",
        "B": "b",
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "4",
        "PET_NODE_RANK": None,
        "PET_MASTER_ADDR": "tj-node-0-0.tj",
        "PET_MASTER_PORT": "29500",
        "JOB_COMPLETION_INDEX": None,
    }
    assert found.pods[1].source == (
        "TrainJob/tj ClusterTrainingRuntime/own spec.template.spec.replicatedJobs[1].template.spec.template"
    )
    assert [each.source for each in found.ignored] == ["ClusterTrainingRuntime/own"]


def test_says_that_a_runtime_is_missing() -> None:
    found = find(train_job())
    assert names(found) == ["tj-node-0-0-*"]
    [ignored] = found.ignored
    assert (ignored.source, ignored.broken) == ("ClusterTrainingRuntime/own", False)
    assert ignored.message == "is not in the input: TrainJob/tj is shown with torch-distributed"


def test_writes_no_torch_variables_for_another_runtime() -> None:
    found = find(runtime(numNodes=2, mpi={"numProcPerNode": 1}), train_job(trainer={}))
    assert env(found.pods[1].pod, "PET_MASTER_ADDR") is None


def test_runs_one_pod_of_an_mpi_runtimes_launcher() -> None:
    """With the trainer's label the launcher gets what the TrainJob says, but for its number of nodes."""
    own = runtime(numNodes=2, mpi={"numProcPerNode": 1})
    launcher = own["spec"]["template"]["spec"]["replicatedJobs"][0]
    launcher["name"] = "launcher"
    launcher["template"]["metadata"] = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    launcher["template"]["spec"]["template"] = template(container("launcher"))
    found = find(own, train_job(trainer={"numNodes": 4}))
    assert names(found) == ["tj-launcher-0-0-*", "tj-node-0-0-*", "tj-node-0-1-*"]


def test_leaves_the_command_of_a_torchtune_job_of_one_node() -> None:
    pod = find(runtime(torch={}), train_job(trainer={"numNodes": 1, "command": ["tune", "run"]})).pods[1].pod
    assert pod["spec"]["containers"][0]["command"] == ["tune", "run"]
    assert (env(pod, "PET_NNODES"), env(pod, "PET_MASTER_ADDR")) == ("1", None)


def test_passes_the_address_to_torchtune_as_an_argument() -> None:
    trainer = {"numNodes": 2, "command": ["tune", "run"]}
    pod = find(runtime(torch={}), train_job(trainer=trainer)).pods[1].pod
    assert pod["spec"]["containers"][0]["command"] == ["tune", "run", "--rdzv_endpoint=tj-node-0-0.tj:29500"]
    assert env(pod, "PET_MASTER_ADDR") is None
    member = recognise(pod)
    assert isinstance(member, Member)
    assert member.rendezvous is not None


@pytest.mark.parametrize("form", ["podSpecOverrides", "podTemplateOverrides", "runtimePatches"])
def test_lays_a_train_jobs_patches_over_the_runtime(form: str) -> None:
    mounts = [{"name": "shm", "mountPath": "/dev/shm"}]
    spec: Object = {
        "nodeSelector": {"rack": "a"},
        "volumes": [{"name": "shm", "emptyDir": {"medium": "Memory"}}],
        "containers": [
            {
                "name": "node",
                "env": [{"name": "A", "value": "patched"}],
                "volumeMounts": mounts,
            }
        ],
    }
    if form == "podSpecOverrides":
        patch: Object = {"targetJobs": [{"name": "node"}], **spec}
    elif form == "podTemplateOverrides":
        patch = {"targetJobs": [{"name": "node"}], "metadata": {"labels": {"team": "x"}}, "spec": spec}
    else:
        replicated = {
            "name": "node",
            "template": {"spec": {"template": {"metadata": {"labels": {"team": "x"}}, "spec": spec}}},
        }
        patch = {"manager": "m", "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": [replicated]}}}}
    initializer, pod = (each.pod for each in find(runtime(torch={}), train_job(**{form: [patch]})).pods)
    assert pod["spec"]["nodeSelector"] == {"rack": "a"}
    assert env(pod, "A") == "patched"
    assert pod["spec"]["containers"][0]["volumeMounts"] == mounts
    assert podspec.labels(pod).get("team") == (None if form == "podSpecOverrides" else "x")
    assert "nodeSelector" not in initializer["spec"]


def test_changes_only_the_containers_that_a_train_job_names() -> None:
    own = runtime(torch={})
    node = own["spec"]["template"]["spec"]["replicatedJobs"][1]["template"]["spec"]["template"]["spec"]
    node["containers"].append(container("side"))
    patch = {
        "targetJobs": [{"name": "node"}],
        "spec": {
            "containers": [{"name": "side", "command": ["watch"], "resources": {"limits": {"cpu": "1"}}}],
            "initContainers": [{"name": "absent", "command": ["x"]}],
        },
    }
    pod = find(own, train_job(trainer={"command": ["own"]}, podTemplateOverrides=[patch])).pods[1].pod
    first, side = pod["spec"]["containers"]
    assert (first["command"], side["command"]) == (["own"], ["watch"])
    assert side["resources"]["limits"] == {"nvidia.com/gpu": "8", "cpu": "1"}
    assert env(pod, "PET_NNODES", 1) is None
    assert "initContainers" not in pod["spec"]


def test_leaves_the_containers_of_a_runtime_as_they_are_without_a_trainer() -> None:
    pod = find(runtime(torch={}), train_job()).pods[1].pod
    assert env(pod, "PET_NNODES") is None
    assert env(pod, "A") == "runtime"


def test_takes_a_runtime_of_the_jobs_own_namespace() -> None:
    other = {**runtime(torch={}), "kind": "TrainingRuntime"}
    other["metadata"] = {"name": "own", "namespace": "elsewhere"}
    found = find(other, train_job(runtimeRef={"name": "own", "kind": "TrainingRuntime"}))
    assert "TrainingRuntime/own" in [each.source for each in found.ignored]
    assert "is not in the input" in " ".join(each.message for each in found.ignored)


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


@pytest.mark.parametrize("kind", ["RayCluster", "RayJob", "RayService", "MPIJob", "MPIJob v1", "TFJob"])
def test_makes_pods_of_systems_without_a_process_group_that_are_recognised(kind: str) -> None:
    for each in find(SHOWN[kind][0]).pods:
        member = recognise(each.pod)
        assert isinstance(member, Member)
        assert member.rendezvous is None


def test_shows_the_submitter_of_a_ray_job() -> None:
    manifest = ray("RayJob", "rayClusterSpec")
    manifest["spec"]["submitterPodTemplate"] = template(container("submit"))
    submitter = find(manifest).pods[-1].pod
    assert recognise(submitter).system == "raycluster"
    assert submitter["metadata"]["generateName"] == "rc-"


def test_gives_a_launcher_that_works_the_first_index() -> None:
    launcher, worker, _ = (each.pod for each in find(mpi_job("v2beta1", runLauncherAsWorker=True)).pods)
    index = "training.kubeflow.org/replica-index"
    assert (podspec.labels(launcher)[index], podspec.labels(worker)[index]) == ("0", "1")


def test_refuses_more_than_can_be_shown() -> None:
    tasks = [(f"t{number}", 1) for number in range(600)]
    with pytest.raises(InputError, match="too many to show at once"):
        find(volcano_job(*tasks, plugins={"svc": []}))
