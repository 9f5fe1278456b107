"""An object that gives no pod says why, and what is asked for zero times where."""

from __future__ import annotations

from typing import Any

import pytest

from tests.dry_run.templates.kinds import (
    PLAIN,
    container,
    find,
    grove,
    jobset,
    mpi_job,
    pytorch_job,
    storm_service,
    template,
    volcano_job,
    workload,
    wrapped,
)
from webhook.core.model import Object

IGNORED: dict[str, tuple[Any, str, str, bool]] = {
    "ConfigMap": (
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}},
        "ConfigMap/x",
        "holds no pod template",
        False,
    ),
    "a misspelt key": (
        workload(
            "kubeflow.org/v1",
            "PyTorchJob",
            "bert",
            {"pytorchReplicaSpec": {"Worker": {"template": PLAIN}}},
        ),
        "PyTorchJob/bert",
        "holds no pod template, without which a PyTorchJob makes no pod: is a key misspelt or empty?",
        True,
    ),
    "a misspelt replica type": (
        pytorch_job(
            pytorchReplicaSpecs={"Master": {"template": PLAIN}, "Workers": {"template": PLAIN}}
        ),
        "PyTorchJob/bert",
        "spec.pytorchReplicaSpecs.Workers: is not a replica type of PyTorchJob; did you mean Worker?",
        True,
    ),
    "a misspelt replica type of an MPIJob": (
        workload(
            "kubeflow.org/v2beta1",
            "MPIJob",
            "x",
            {"mpiReplicaSpecs": {"launchers": {"template": PLAIN}}},
        ),
        "MPIJob/x",
        "spec.mpiReplicaSpecs.launchers: is not a replica type of MPIJob; did you mean Launcher?",
        True,
    ),
    "a misspelt replica type of KubeDL": (
        workload(
            "training.kubedl.io/v1alpha1",
            "TFJob",
            "x",
            {"tfReplicaSpecs": {"Cheif": {"template": PLAIN}}},
        ),
        "TFJob/x",
        "spec.tfReplicaSpecs.Cheif: is not a replica type of TFJob; did you mean Chief?",
        True,
    ),
    "a replica type of another kind": (
        workload(
            "train.distributed.io/v1alpha1",
            "TorchJob",
            "x",
            {"torchTaskSpecs": {"PS": {"template": PLAIN}}},
        ),
        "TorchJob/x",
        "spec.torchTaskSpecs.PS: is not a replica type of TorchJob; write one of Master, Worker",
        True,
    ),
    "text": ("hello", "document 1", "is not an object", True),
    "no kind": ({"a": 1}, "document 1", "names no kind", True),
    "long kind": (
        {"kind": "K" * 254},
        "document 1",
        "its kind has 254 characters, and Kubernetes takes 253",
        True,
    ),
    "long name": (
        {"kind": "Job", "metadata": {"generateName": "n" * 254}},
        "document 1",
        "its name has 254 characters, and Kubernetes takes 253",
        True,
    ),
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
        "spec.runLauncherAsWorker: expected a boolean, found the string 'yes'",
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
        | {
            "spec": {
                "tasks": [{"template": template(container("m", env=[{"name": "A", "value": 1}]))}]
            }
        },
        "Job/bert",
        "spec.tasks[0].template.spec.containers[0].env[0].value: expected a string, found a number",
        True,
    ),
    "replicas is text": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": "4", "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected an integer, 0 or more, found the string '4'",
        True,
    ),
    "replicas is a placeholder": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": "$WORKERS", "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected an integer, 0 or more, found the string '$WORKERS'",
        True,
    ),
    "replicas is a long text": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": "x" * 61, "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected an integer, 0 or more, found a string",
        True,
    ),
    "replicas is negative": (
        workload("apps/v1", "StatefulSet", "db", {"replicas": -4, "template": PLAIN}),
        "StatefulSet/db",
        "spec.replicas: expected an integer, 0 or more, found -4",
        True,
    ),
    "spec is a list": (
        workload("kubeflow.org/v1", "PyTorchJob", "b", []),
        "PyTorchJob/b",
        "spec: expected an object, found a list",
        True,
    ),
    "tasks are a map": (
        workload("batch.volcano.sh/v1alpha1", "Job", "j", {"tasks": {}}),
        "Job/j",
        "spec.tasks: expected a list, found an object",
        True,
    ),
    "a wrapped object is broken": (
        wrapped(
            "v1beta2",
            workload("apps/v1", "Deployment", "web", {"template": {"spec": {"containers": [5]}}}),
        ),
        "AppWrapper/aw",
        "spec.components[0].template.spec.template.spec.containers[0]: expected an object, found a number",
        True,
    ),
}


@pytest.mark.parametrize(("manifest", "source", "message", "broken"), IGNORED.values(), ids=IGNORED)
def test_says_why_an_object_gives_no_pod(
    manifest: Any, source: str, message: str, broken: bool
) -> None:
    found = find(manifest)
    assert found.pods == ()
    [ignored] = found.ignored
    assert ignored.source == source
    assert message in ignored.message
    assert ignored.broken is broken


NONE: dict[str, tuple[Object, str]] = {
    "StatefulSet": (
        workload("apps/v1", "StatefulSet", "x", {"replicas": 0, "template": PLAIN}),
        "spec.replicas",
    ),
    "Job": (
        workload("batch/v1", "Job", "x", {"parallelism": 0, "template": PLAIN}),
        "spec.parallelism",
    ),
    "Volcano Job": (volcano_job(("main", 0)), "spec.tasks[0].replicas"),
    "JobSet": (jobset(("w", 0, 1)), "spec.replicatedJobs[0].replicas"),
    "LeaderWorkerSet": (
        workload("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", "x", {"replicas": 0}),
        "spec.replicas",
    ),
    "PodCliqueSet": (grove(("c", 1), replicas=0), "spec.replicas"),
    "PodCliqueSet, its clique": (grove(("c", 0)), "spec.template.cliques[0].spec.replicas"),
    "StormService": (
        workload("orchestration.aibrix.ai/v1alpha1", "StormService", "x", {"replicas": 0}),
        "spec.replicas",
    ),
    "StormService, its role": (storm_service(replicas=0), "spec.template.spec.roles[0].replicas"),
    "TFJob": (
        workload("kubeflow.org/v1", "TFJob", "x", {"tfReplicaSpecs": {"PS": {"replicas": 0}}}),
        "spec.tfReplicaSpecs.PS",
    ),
    "MPIJob": (
        workload(
            "kubeflow.org/v2beta1", "MPIJob", "x", {"mpiReplicaSpecs": {"Worker": {"replicas": 0}}}
        ),
        "spec.mpiReplicaSpecs.Worker",
    ),
    "KubeDL": (
        workload(
            "training.kubedl.io/v1alpha1",
            "TFJob",
            "x",
            {"tfReplicaSpecs": {"Worker": {"replicas": 0}}},
        ),
        "spec.tfReplicaSpecs.Worker",
    ),
    "torch-on-k8s": (
        workload(
            "train.distributed.io/v1alpha1",
            "TorchJob",
            "x",
            {"torchTaskSpecs": {"Worker": {"numTasks": 0}}},
        ),
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
