"""Jobs as people write them, made of containers: one builder for each kind of object."""

import json
from typing import Any

from tests import pods as fixtures
from tests.cluster.node import jobs
from tests.cluster.node.pods import HOLD
from webhook.core.model import Object

IMAGE = "torch:any"
"""Stands for the image that the row runs."""
GPU = {"nvidia.com/gpu": "1"}


def torchrun(rank: str = "$JOB_COMPLETION_INDEX", host: str = "$MASTER_ADDR", size: int = 2) -> str:
    """Give a static start of so many nodes."""
    nodes = f"--nnodes={size} --nproc-per-node=1 --node_rank={rank}"
    return f"torchrun {nodes} --master_addr={host} --master_port=29500 train.py"


def container(
    text: str, /, name: str = "main", gpu: bool = True, image: str = IMAGE, **env: str
) -> Object:
    """Give a container that runs a shell's text and holds on until it is killed.

    A value in braces, ``{status.podIP}``, is a field.
    """
    told = {**env, HOLD: "600", "PYTHONUNBUFFERED": "1"}
    entries = [_variable(key, value) for key, value in told.items()]
    found: Object = {"name": name, "image": image, "command": ["bash", "-c", text], "env": entries}
    return found | {"resources": {"limits": GPU}} if gpu else found


def with_image(manifest: Object, image: str) -> Object:
    """Give the manifest with this image in place of IMAGE."""
    text = json.dumps(manifest).replace(json.dumps(IMAGE), json.dumps(image))
    found: Object = json.loads(text)
    return found


def _variable(name: str, value: str) -> Object:
    if value.startswith("{"):
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": value.strip("{}")}}}
    return {"name": name, "value": value}


def indexed_job(one: Object, *more: Object, size: int = 2) -> Object:
    """Give a Job of pods ddp-0, ddp-1…, whose host names are below ddp."""
    spec = {"subdomain": "ddp", "restartPolicy": "Never", "containers": [one, *more]}
    sizes = {"completions": size, "parallelism": size, "completionMode": "Indexed"}
    return _kind("batch/v1", "Job", **sizes, backoffLimit=0, template={"spec": spec})


def pytorchjob(**roles: Object) -> Object:
    """Give a PyTorchJob of one pod for each role: ``Master=container(…, "pytorch")``."""
    pods = {role: {"spec": {"containers": [one]}} for role, one in roles.items()}
    fields = {"replicas": 1, "restartPolicy": "OnFailure"}
    specs = {role: {**fields, "template": pod} for role, pod in pods.items()}
    return _kind("kubeflow.org/v1", "PyTorchJob", nprocPerNode="1", pytorchReplicaSpecs=specs)


def jobset(size: int = 1, **roles: Object) -> Object:
    """Give a JobSet of so many pods for each role."""
    sizes = {"parallelism": size, "completions": size, "backoffLimit": 0}
    pods = {role: {"restartPolicy": "Never", "containers": [one]} for role, one in roles.items()}
    jobs = {role: {"spec": {**sizes, "template": {"spec": pod}}} for role, pod in pods.items()}
    replicated = [{"name": role, "replicas": 1, "template": job} for role, job in jobs.items()]
    return _kind("jobset.x-k8s.io/v1alpha2", "JobSet", replicatedJobs=replicated)


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
    """Give the JobSet that Kubeflow Trainer makes of a TrainJob of two nodes, by torch-distributed."""
    index = "{metadata.annotations['batch.kubernetes.io/job-completion-index']}"
    settings = {
        "PET_NNODES": "2",
        "PET_NPROC_PER_NODE": "1",
        "PET_NODE_RANK": index,
        "PET_MASTER_ADDR": "ddp-node-0-0.ddp",
        "PET_MASTER_PORT": "29500",
    }
    one["env"] += [_variable(name, value) for name, value in settings.items()]
    return jobset(2, node=one)


def pods_of(system: str) -> tuple[Object, ...]:
    """Give two pods as a system makes them that is not run: those of tests/fixtures."""
    found = []
    for rank in range(2):
        pod = fixtures.load(f"pods/{system}-{rank}.yaml")
        del pod["metadata"]["namespace"]
        pod["apiVersion"], pod["kind"] = "v1", "Pod"
        pod["spec"]["schedulerName"] = "default-scheduler"
        (one,) = pod["spec"]["containers"]
        one |= {"image": IMAGE, "command": ["python", "train.py"], "resources": {"limits": GPU}}
        fixtures.add_env(pod, HOLD, "600")
        found.append(pod)
    return tuple(found)


def volcano_job(main: Object | None = None, size: int = 1, **tasks: Object) -> Object:
    """Give a Volcano Job of so many pods for each task, which tells the tasks of each other.

    *main*: the container of the only task, where its name is of no matter.
    """
    given = {"main": main} if main else tasks
    pods = {name: {"restartPolicy": "Never", "containers": [one]} for name, one in given.items()}
    made = [{"name": name, "template": {"spec": pod}} for name, pod in pods.items()]
    plugins: dict[str, Any] = {"svc": ["--publish-not-ready-addresses"], "env": []}
    gang = {"schedulerName": "volcano", "queue": "default", "minAvailable": size * len(given)}
    found = [{**one, "replicas": size} for one in made]
    return _kind("batch.volcano.sh/v1alpha1", "Job", **gang, plugins=plugins, tasks=found)


def leader_worker_set(one: Object, groups: int = 1) -> Object:
    """Give groups of two, whose pods are alike."""
    pod = {"spec": {"containers": [one]}}
    group = {"size": 2, "leaderTemplate": pod, "workerTemplate": pod}
    kind = ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet")
    return _kind(*kind, replicas=groups, leaderWorkerTemplate=group)


def etcd() -> Object:
    """Give a pod of etcd, with the API that torch asks."""
    urls = ("--listen-client-urls=http://0.0.0.0:2379", "--advertise-client-urls=http://etcd:2379")
    command = ["etcd", "--enable-v2", "--data-dir=/tmp/etcd", *urls]
    return jobs.pod("etcd", command, image=IMAGE)


def _kind(version: str, kind: str, **spec: Any) -> Object:
    return {"apiVersion": version, "kind": kind, "metadata": {"name": "ddp"}, "spec": spec}
