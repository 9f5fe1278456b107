"""Manifests of every kind of workload, and the pods that are found in them."""

from __future__ import annotations

import json
from typing import Any

from webhook.core import podspec
from webhook.core.model import Object
from webhook.dry_run.templates import Templates, find_templates


def container(name: str, **fields: Any) -> Object:
    return {
        "name": name,
        "image": "registry.example.com/train/pytorch:2.6",
        "command": ["torchrun", "train.py"],
        "resources": {"limits": {"nvidia.com/gpu": "8"}},
        **fields,
    }


def template(*containers: Object, **spec: Any) -> Object:
    return {"spec": {"containers": list(containers), **spec}}


def workload(
    api_version: str, kind: str, name: str, spec: Any, namespace: str = "train", **metadata: Any
) -> Object:
    return {
        "apiVersion": api_version,
        "kind": kind,
        "metadata": {"name": name, "namespace": namespace, **metadata},
        "spec": spec,
    }


PLAIN = template(container("main"))
ROLES = {
    "Master": {
        "replicas": 1,
        "restartPolicy": "OnFailure",
        "template": template(container("pytorch")),
    },
    "Worker": {
        "replicas": 1,
        "restartPolicy": "OnFailure",
        "template": template(container("pytorch")),
    },
}
DL_ROLES = {
    "Master": {"replicas": 1, "template": template(container("pytorch"))},
    "Worker": {"replicas": 1, "template": template(container("pytorch"))},
}
TORCH_ROLES = {
    "Master": {"numTasks": 1, "template": template(container("torch"))},
    "Worker": {"numTasks": 1, "template": template(container("torch"))},
}


def grove(*cliques: tuple[str, int], group: int = 0, **spec: Any) -> Object:
    """Return a PodCliqueSet; with *group*, its cliques are in a scaling group of that many replicas."""
    listed = [
        {"name": name, "spec": {"replicas": count, "podSpec": PLAIN["spec"]}}
        for name, count in cliques
    ]
    groups = (
        [{"name": "g", "cliqueNames": [name for name, _ in cliques], "replicas": group}]
        if group
        else []
    )
    both: Object = {"cliques": listed, "podCliqueScalingGroups": groups}
    return workload("grove.io/v1alpha1", "PodCliqueSet", "pcs", {"template": both, **spec})


def storm_service(**role: Any) -> Object:
    roles = [{"name": "p", "template": PLAIN, **role}]
    return workload(
        "orchestration.aibrix.ai/v1alpha1",
        "StormService",
        "llm",
        {"template": {"spec": {"roles": roles}}},
    )


def pytorch_job(**spec: Any) -> Object:
    return workload("kubeflow.org/v1", "PyTorchJob", "bert", {"pytorchReplicaSpecs": ROLES, **spec})


def elastic_job(**policy: Any) -> Object:
    worker = {"Worker": {"replicas": 4, "template": template(container("pytorch"))}}
    return workload(
        "kubeflow.org/v1",
        "PyTorchJob",
        "bert",
        {"pytorchReplicaSpecs": worker, "elasticPolicy": policy},
    )


def volcano_job(*tasks: tuple[str, int], **spec: Any) -> Object:
    made = [{"name": name, "replicas": count, "template": PLAIN} for name, count in tasks]
    return workload("batch.volcano.sh/v1alpha1", "Job", "bert", {"tasks": made, **spec})


def ray(kind: str, key: str | None) -> Object:
    cluster = {
        "headGroupSpec": {"rayStartParams": {}, "template": template(container("ray-head"))},
        "workerGroupSpecs": [
            {"groupName": "gpu", "replicas": 4, "template": template(container("ray-worker"))}
        ],
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
        spec: Object = {
            "resources": {
                "GenericItems": [{"replicas": 1, "generictemplate": each} for each in objects]
            }
        }
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


def runtime(**policy: Any) -> Object:
    node = {
        "name": "node",
        "template": {
            "metadata": {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}},
            "spec": {
                "template": template(container("node", env=[{"name": "A", "value": "runtime"}]))
            },
        },
    }
    initializer = {
        "name": "dataset-initializer",
        "template": {"spec": {"template": template(container("dataset-initializer"))}},
    }
    spec = {"mlPolicy": policy, "template": {"spec": {"replicatedJobs": [initializer, node]}}}
    return workload("trainer.kubeflow.org/v1alpha1", "ClusterTrainingRuntime", "own", spec)


def train_job(**spec: Any) -> Object:
    return workload(
        "trainer.kubeflow.org/v1alpha1", "TrainJob", "tj", {"runtimeRef": {"name": "own"}, **spec}
    )


def find(*manifests: Any, namespace: str | None = None) -> Templates:
    return find_templates(json.loads(json.dumps(manifests)), namespace)


def names(found: Templates) -> list[str]:
    return [podspec.display_name(each.pod) for each in found.pods]


def env(pod: Object, name: str, index: int = 0) -> str | None:
    return podspec.env_value(pod["spec"]["containers"][index], name)
