"""Jobs as people write them, made of containers: one builder for each kind of object that rows are written with."""

from typing import Any

from tests import pods as fixtures
from webhook.core.model import Object

IMAGE = "torch:any"
"""Stands for the image that the row runs."""
GPU = {"nvidia.com/gpu": "1"}


def container(text: str, /, name: str = "main", gpu: bool = True, **env: str) -> Object:
    """Give a container that runs a shell's text and holds on until it is killed; a value in braces, ``{status.podIP}``, is a field."""
    entries = [
        _variable(key, value)
        for key, value in {**env, "HOLD_SECONDS": "600", "PYTHONUNBUFFERED": "1"}.items()
    ]
    found: Object = {"name": name, "image": IMAGE, "command": ["bash", "-c", text], "env": entries}
    return found | {"resources": {"limits": GPU}} if gpu else found


def _variable(name: str, value: str) -> Object:
    if value.startswith("{"):
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value.strip("{}")}}}
    return {"name": name, "value": value}


def indexed_job(one: Object, *more: Object, size: int = 2) -> Object:
    """Give a Job of pods ddp-0, ddp-1…, whose host names are below ddp."""
    spec = {"subdomain": "ddp", "restartPolicy": "Never", "containers": [one, *more]}
    return _kind(
        "batch/v1",
        "Job",
        completions=size,
        parallelism=size,
        completionMode="Indexed",
        backoffLimit=0,
        template={"spec": spec},
    )


def pytorchjob(**roles: Object) -> Object:
    """Give a PyTorchJob of one pod for each role: ``Master=container(…, "pytorch")``."""
    specs = {
        role: {
            "replicas": 1,
            "restartPolicy": "OnFailure",
            "template": {"spec": {"containers": [one]}},
        }
        for role, one in roles.items()
    }
    return _kind("kubeflow.org/v1", "PyTorchJob", nprocPerNode="1", pytorchReplicaSpecs=specs)


def jobset(**roles: Object) -> Object:
    """Give a JobSet of one pod for each role."""
    replicated = [
        {"name": role, "replicas": 1, "template": {"spec": _job_of_one(one)}}
        for role, one in roles.items()
    ]
    return _kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=replicated)


def _job_of_one(one: Object) -> Object:
    pod = {"restartPolicy": "Never", "containers": [one]}
    return {"parallelism": 1, "completions": 1, "backoffLimit": 0, "template": {"spec": pod}}


def in_order(jobset: Object) -> Object:
    """Let each role start once the role before it is ready."""
    jobset["spec"]["startupPolicy"] = {"startupPolicyOrder": "InOrder"}
    return jobset


def last_after_first(jobset: Object) -> Object:
    """Let the last role start once the first is ready."""
    first, *_, last = jobset["spec"]["replicatedJobs"]
    last["dependsOn"] = [{"name": first["name"], "status": "Ready"}]
    return jobset


def trainjob(one: Object) -> Object:
    """Give the JobSet that Kubeflow Trainer makes of a TrainJob of two nodes, with its runtime torch-distributed."""
    index = "{metadata.annotations['batch.kubernetes.io/job-completion-index']}"
    settings = {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": index,
        "PET_MASTER_ADDR": "ddp-node-0-0.ddp",
        "PET_MASTER_PORT": "29500",
    }
    one["env"] += [_variable(name, value) for name, value in settings.items()]
    made = jobset(node=one)
    made["spec"]["replicatedJobs"][0]["template"]["spec"] |= {"parallelism": 2, "completions": 2}
    return made


def pods_of(system: str) -> tuple[Object, ...]:
    """Give the two pods of a job as the system makes them, which is not run here: those of tests/fixtures, with python programs."""
    found = []
    for rank in range(2):
        pod = fixtures.load(f"pods/{system}-{rank}.yaml")
        del pod["metadata"]["namespace"]
        pod["apiVersion"], pod["kind"] = "v1", "Pod"
        pod["spec"]["schedulerName"] = "default-scheduler"
        (one,) = pod["spec"]["containers"]
        one |= {"image": IMAGE, "command": ["python", "train.py"], "resources": {"limits": GPU}}
        fixtures.add_env(pod, "HOLD_SECONDS", "600")
        found.append(pod)
    return tuple(found)


def volcano_job(**tasks: Object) -> Object:
    """Give a Volcano Job of one pod for each task, which tells the tasks of each other."""
    found = [
        {
            "name": name,
            "replicas": 1,
            "template": {"spec": {"restartPolicy": "Never", "containers": [one]}},
        }
        for name, one in tasks.items()
    ]
    plugins: dict[str, Any] = {"svc": ["--publish-not-ready-addresses"], "env": []}
    gang = {"schedulerName": "volcano", "queue": "default", "minAvailable": len(tasks)}
    return _kind("batch.volcano.sh/v1alpha1", "Job", **gang, plugins=plugins, tasks=found)


def leader_worker_set(leader: Object, worker: Object) -> Object:
    """Give one group of two."""
    templates = {"leaderTemplate": leader, "workerTemplate": worker}
    specs = {name: {"spec": {"containers": [one]}} for name, one in templates.items()}
    return _kind(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        replicas=1,
        leaderWorkerTemplate={"size": 2, **specs},
    )


def etcd() -> Object:
    """Give a pod of etcd, with the API that torch asks."""
    urls = ("--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://etcd:2379")
    command = ["etcd", "--enable-v2", "--data-dir=/tmp/etcd", *urls]
    one = {"name": "etcd", "image": IMAGE, "command": command}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "etcd"},
        "spec": {"containers": [one]},
    }


def _kind(version: str, kind: str, **spec: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "ddp"}, "spec": spec}
