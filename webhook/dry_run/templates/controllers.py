"""Make the pods of Kubernetes' own workloads, and of JobSet, LeaderWorkerSet and TrainJob.

The last three make Jobs or StatefulSets. Source: kubernetes pkg/controller/{controller_utils,
replicaset,daemon,statefulset,job,cronjob}.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.systems import BATCH, COMPLETION_INDEX, JOBSET, LWS, STATEFUL_POD
from webhook.dry_run.templates.documents import parse_documents
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import (
    UID,
    Expand,
    Found,
    Ignored,
    Workload,
    all_containers,
    append_env,
    append_to,
    checked_pod,
    copied,
    label_of_pod,
    owner_reference,
    prepend_env,
    variables,
)

_INDEX = "JOB_COMPLETION_INDEX"


def expand_pod(workload: Workload) -> Found:
    """Complete a pod of the input, which has no controller."""
    pod = checked_pod(workload.root)
    metadata = {**(pod.get("metadata") or {}), "namespace": workload.namespace}
    if workload.name:  # else it raises InputError
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": pod["spec"]}
        yield workload.template(workload.root, whole)


def expand_replicated(workload: Workload) -> Found:
    """Complete one of the equal pods of a Deployment, ReplicaSet or DaemonSet."""
    spec, owner, prefix = workload.spec, workload.owner(), f"{workload.name}-"
    if workload.kind == "Deployment":
        owner |= {"kind": "ReplicaSet"}

    def make(_index: int) -> Object:
        return workload.pod(spec.node("template"), generate_name=prefix, owner=owner)

    yield from workload.several(spec, make, alone=False)


def expand_stateful_set(workload: Workload) -> Found:
    """Complete the first two pods of a StatefulSet."""
    spec, start = workload.spec, workload.spec.node("ordinals").number("start", 0)

    def make(index: int) -> Object:
        service = spec.text("serviceName")
        pod = _stateful_pod(
            workload, spec.node("template"), workload.name, start + index, subdomain=service
        )
        for claim in spec.nodes("volumeClaimTemplates"):
            name = claim.node("metadata").text("name")
            source = {"claimName": f"{name}-{pod['metadata']['name']}"}
            append_to(pod["spec"], "volumes", {"name": name, "persistentVolumeClaim": source})
        return pod

    yield from workload.several(spec, make)


def _stateful_pod(
    workload: Workload,
    template: Section,
    set_name: str,
    ordinal: int,
    labels: Mapping[str, str] = {},
    **more: Any,
) -> Object:
    name = f"{set_name}-{ordinal}"
    return workload.pod(
        template,
        name,
        generate_name=f"{set_name}-",
        owner=owner_reference("apps/v1", "StatefulSet", set_name),
        labels={**labels, "apps.kubernetes.io/pod-index": str(ordinal), STATEFUL_POD: name},
        hostname=name,
        **more,
    )


def expand_job(workload: Workload) -> Found:
    """Complete the first two indices of a Job, also of a CronJob's; else its first pod."""
    spec, job = workload.spec, workload.name
    if workload.kind == "CronJob":
        spec, job = spec.node("jobTemplate", "spec"), f"{job}-0"
    count, indexed = spec.number("parallelism"), spec.text("completionMode") == "Indexed"
    if indexed and count:
        count = spec.number("completions", count)

    def make(index: int) -> Object:
        return job_pod(workload, spec.node("template"), job, index if indexed else None)

    yield from workload.several(spec, make, key="parallelism", count=count, alone=indexed)


def job_pod(
    workload: Workload,
    template: Section,
    job: str,
    index: int | None = None,
    labels: Mapping[str, str] = {},
    annotations: Mapping[str, str] = {},
    *,
    hostname: str = "",
    subdomain: str = "",
) -> Object:
    """Make pod *index* of the batch Job *job*; None where the Job is not indexed."""
    suffix, number = ("", {}) if index is None else (f"-{index}", {COMPLETION_INDEX: str(index)})
    names = {BATCH + "job-name": job, "job-name": job, BATCH + "controller-uid": UID}
    pod = workload.pod(
        template,
        generate_name=f"{job}{suffix}-",
        owner=owner_reference("batch/v1", "Job", job),
        labels={**labels, **names, **number},
        annotations={**annotations, **number},
        hostname=hostname or (f"{job}-{index}" if number else ""),
        subdomain=subdomain,
    )
    for container in all_containers(pod) if number else ():
        if not podspec.has_env(container, _INDEX):
            append_env([container], {_INDEX: label_of_pod(COMPLETION_INDEX)})
    return pod


def expand_job_set(workload: Workload) -> Found:
    """Complete two pods of each replicated Job of a JobSet: job 0 index 0, and one other.

    Source: kubernetes-sigs/jobset pkg/controllers/jobset_controller.go constructJob.
    """
    yield from _job_set_pods(workload, workload.spec)


def _job_set_pods(workload: Workload, spec: Section) -> Found:
    jobs, network, name = spec.nodes("replicatedJobs"), spec.node("network"), workload.name
    subdomain = network.text("subdomain", name)
    shared = {
        JOBSET + "jobset-name": name,
        JOBSET + "jobset-uid": UID,
        JOBSET + "restart-attempt": "0",
        JOBSET + "global-replicas": str(sum(job.number("replicas") for job in jobs)),
    }
    if spec.has("coordinator"):
        at = spec.node("coordinator")
        place = f"{at.text('replicatedJob')}-{at.number('jobIndex', 0)}-{at.number('podIndex', 0)}"
        shared[JOBSET + "coordinator"] = f"{name}-{place}.{subdomain}"
    if not network.flag("enableDNSHostnames", default=True):
        subdomain = ""
    for job in jobs:
        yield from _replicated_job_pods(workload, job, shared, subdomain)


def _replicated_job_pods(
    workload: Workload, job: Section, shared: Mapping[str, str], subdomain: str
) -> Found:
    spec, replicas, name = job.node("template", "spec"), job.number("replicas"), job.text("name")
    template, pods = spec.node("template"), spec.number("parallelism")
    indexed = spec.text("completionMode", "Indexed") == "Indexed"
    if indexed:
        pods = spec.number("completions", pods)
    has_second_index = indexed and pods > 1

    def make(number: int) -> Object:
        job_index, index = (0, number) if has_second_index else (number, 0)
        labels = {
            **shared,
            JOBSET + "replicatedjob-name": name,
            JOBSET + "replicatedjob-replicas": str(replicas),
            JOBSET + "job-index": str(job_index),
        }
        job_name, at = f"{workload.name}-{name}-{job_index}", index if indexed else None
        return job_pod(workload, template, job_name, at, labels, labels, subdomain=subdomain)

    count, several = replicas * max(pods, 1), has_second_index or replicas > 1
    yield from workload.several(job, make, count=count, template=template, alone=several)


def expand_leader_worker_set(workload: Workload) -> Found:
    """Complete the leader and the first worker of the first group, which is a job of its own.

    They are as its own pod webhook leaves them. Source: kubernetes-sigs/lws
    pkg/webhooks/pod_webhook.go, pkg/utils/pod/pod_utils.go AddLWSVariables.
    """
    spec, both = workload.spec, workload.spec.node("leaderWorkerTemplate")
    name, leader = workload.name, f"{workload.name}-0"
    size, groups = both.number("size"), spec.number("replicas")
    worker = both.node("workerTemplate")
    first = both.node("leaderTemplate") if both.has("leaderTemplate") else worker
    policy = spec.node("networkConfig").text("subdomainPolicy", "Shared")
    subdomain = leader if policy == "UniquePerReplica" else name

    def make(index: int) -> Object:
        set_name, template = (leader, worker) if index else (name, first)
        labels = {LWS + "name": name, LWS + "group-index": "0", LWS + "worker-index": str(index)}
        given = {"annotations": {LWS + "size": str(size)}, "subdomain": subdomain}
        pod = _stateful_pod(workload, template, set_name, index, labels, **given)
        address = f"{leader}.{subdomain}.{workload.namespace}"
        sizes = {"LWS_GROUP_SIZE": str(size), "LWS_WORKER_INDEX": str(index)}
        prepend_env(all_containers(pod), {"LWS_LEADER_ADDRESS": address, **sizes})
        return pod

    leaders = groups * min(size, 1)
    yield from workload.several(spec, make, count=leaders, template=first, alone=False)
    if size > 1:
        yield workload.template(worker, make(1), groups * (size - 1))


_ANCESTOR = "trainer.kubeflow.org/trainjob-ancestor-step"
_DEFAULT = "torch-distributed"
_NODE = "node"
_TORCHTUNE = ["tune", "run"]
_PORT = "29500"
_MPI_KEYS = "mpi-ssh-auth"


def expand_train_job(workload: Workload) -> Found:
    """Complete the pods of a TrainJob: the JobSet of its runtime, with what the TrainJob says.

    The runtime is the input's, else what Trainer ships under that name. Source: kubeflow/trainer
    pkg/runtime/core/trainingruntime.go, pkg/runtime/framework/plugins/{torch,jax,xgboost,mpi}.
    """
    reference = workload.spec.node("runtimeRef")
    kind, name = reference.text("kind", "ClusterTrainingRuntime"), reference.text("name", _DEFAULT)
    runtime = _find_runtime(workload, kind, name)
    if runtime is None:
        known = name if kind == "ClusterTrainingRuntime" and name in _shipped() else _DEFAULT
        runtime = Section(copied(_shipped()[known]), "runtime")
        other = "the one that Trainer ships"
        if known != name:
            other = f"Trainer's {known} in its place; add it to the input"
        message = f"is not in the input: {workload.source} is shown with {other}"
        yield Ignored(f"{kind}/{name}", message)
    policy, jobset = runtime.node("mlPolicy"), runtime.node("template", "spec")
    for job in jobset.nodes("replicatedJobs"):
        _apply_train_job(workload, job, policy)
        for patch in _patches(workload, job.text("name")):
            _merge(job.node("template", "spec").value, {"template": patch})
    yield from _job_set_pods(workload, jobset)


def expand_runtime(workload: Workload) -> Found:
    """Say that a runtime makes no pods itself."""
    yield workload.ignore("", "makes no pod itself: it is used by the TrainJobs that name it")


def _find_runtime(workload: Workload, kind: str, name: str) -> Section | None:
    known = workload.peers.get((kind, name), {})
    found = known.get(workload.namespace) or known.get(None)
    if found is None and kind == "ClusterTrainingRuntime":
        found = next(iter(known.values()), None)
    if found is None:
        return None
    return Section(copied(Section(found).node("spec").value), f"{kind}/{name} spec")


@cache
def _shipped() -> Mapping[str, Object]:
    """Return the specs of the ClusterTrainingRuntimes that Trainer ships, by name."""
    file = files("webhook.dry_run.templates").joinpath("trainer_runtimes.yaml")
    [runtimes] = parse_documents(file.read_text(encoding="utf-8"))
    found: Mapping[str, Object] = runtimes
    return found


def _apply_train_job(workload: Workload, job: Section, policy: Section) -> None:
    """Write into a replicated Job what the TrainJob says of its nodes and their containers."""
    name, is_mpi = job.text("name"), policy.has("mpi")
    step = job.node("template", "metadata", "labels").text(_ANCESTOR)
    is_trainer = step == "trainer" or (name == _NODE and not is_mpi)
    spec = job.node("template", "spec")
    if is_trainer or name == _NODE:
        job.value["replicas"] = 1
        nodes = workload.spec.node("trainer").number("numNodes", policy.number("numNodes"))
        if policy.node("mpi").flag("runLauncherAsNode"):  # the launcher is one of the nodes
            nodes = max(nodes - 1, 1)
        if name == _NODE or not is_mpi:
            spec.value |= {"completions": nodes, "parallelism": nodes}
        for container in spec.node("template", "spec").nodes("containers"):
            if container.text("name") == _NODE:
                _apply_trainer(workload, container, policy, nodes, runs_command=is_trainer)
    if is_mpi and name in (_NODE, "launcher"):  # both get the keys by which they reach each other
        pod, keys = spec.node("template", "spec"), f"{workload.name}-{_MPI_KEYS}"
        volumes = [node.value for node in pod.nodes("volumes")]
        pod.value["volumes"] = [*volumes, {"name": _MPI_KEYS, "secret": {"secretName": keys}}]


def _apply_trainer(
    workload: Workload, container: Section, policy: Section, nodes: int, *, runs_command: bool
) -> None:
    trainer = workload.spec.node("trainer")
    written = {"resources": "resourcesPerNode"}
    if runs_command:
        written |= {key: key for key in ("image", "command", "args")}
    for key, own in written.items():
        if trainer.has(own):
            container.value[key] = copied(trainer.value[own])
    env = [node.value for node in container.nodes("env")]
    _upsert(env, (node.value for node in trainer.nodes("env")))
    master = f"{workload.name}-{_NODE}-0-0.{workload.name}"
    index = label_of_pod(COMPLETION_INDEX, "annotations")
    given: Object = {}
    if policy.has("jax"):
        given = {"JAX_NUM_PROCESSES": str(nodes), "JAX_PROCESS_ID": index}
        given |= {"JAX_COORDINATOR_ADDRESS": f"{master}:{_PORT}", "JAX_COORDINATOR_PORT": _PORT}
    elif workload.spec.has("trainer") and policy.has("torch"):
        processes = str(trainer.number("numProcPerNode", 0) or "auto")
        given = {"PET_NNODES": str(nodes), "PET_NPROC_PER_NODE": processes, "PET_NODE_RANK": index}
        if trainer.words("command") != _TORCHTUNE:
            given |= {"PET_MASTER_ADDR": master, "PET_MASTER_PORT": _PORT}
        elif nodes > 1:
            container.value["command"] = [*_TORCHTUNE, f"--rdzv_endpoint={master}:{_PORT}"]
    elif workload.spec.has("trainer") and policy.has("xgboost"):
        given = {"DMLC_TRACKER_URI": master, "DMLC_TRACKER_PORT": _PORT, "DMLC_TASK_ID": index}
    _upsert(env, variables(given))
    container.value["env"] = env


def _patches(workload: Workload, job: str) -> Iterator[Object]:
    """Yield what the TrainJob lays over the pod template of a replicated Job."""
    for key in ("podSpecOverrides", "podTemplateOverrides"):  # of v2.0 and v2.1
        for override in workload.spec.nodes(key):
            patch = {one: value for one, value in override.value.items() if one != "targetJobs"}
            if any(target.text("name") == job for target in override.nodes("targetJobs")):
                yield {"spec": patch} if key == "podSpecOverrides" else patch
    for patch_of_runtime in workload.spec.nodes("runtimePatches"):
        spec = patch_of_runtime.node("trainingRuntimeSpec", "template", "spec")
        for replicated in spec.nodes("replicatedJobs"):
            if replicated.text("name") == job:
                yield replicated.node("template", "spec", "template").value


def _merge(target: Object, change: Mapping[str, Any]) -> None:
    """Lay *change* over *target*: objects and containers key by key, other items by their names."""
    for key, value in change.items():
        is_containers = key in ("containers", "initContainers")
        old = target.get(key, [] if is_containers else None)
        if isinstance(old, dict) and isinstance(value, dict):
            _merge(old, value)
        elif not (isinstance(old, list) and isinstance(value, list) and _is_named([*old, *value])):
            target[key] = copied(value)
        elif is_containers:  # those that the runtime has
            for one in value:
                for same in (container for container in old if container["name"] == one["name"]):
                    _merge(same, one)
        else:
            _upsert(old, copied(value))


def _is_named(items: Iterable[Any]) -> bool:
    return all(isinstance(item, dict) and isinstance(item.get("name"), str) for item in items)


def _upsert(items: list[Object], added: Iterable[Object]) -> None:
    """Replace entries of the same name, append the others."""
    for entry in added:
        places = [at for at, item in enumerate(items) if item.get("name") == entry.get("name")]
        if places:
            items[places[0]] = entry
        else:
            items.append(entry)


KINDS: Mapping[tuple[str, str], Expand] = {
    ("", "Pod"): expand_pod,
    ("", "ReplicationController"): expand_replicated,
    ("apps", "ReplicaSet"): expand_replicated,
    ("apps", "Deployment"): expand_replicated,
    ("apps", "DaemonSet"): expand_replicated,
    ("apps", "StatefulSet"): expand_stateful_set,
    ("batch", "Job"): expand_job,
    ("batch", "CronJob"): expand_job,
    ("jobset.x-k8s.io", "JobSet"): expand_job_set,
    ("leaderworkerset.x-k8s.io", "LeaderWorkerSet"): expand_leader_worker_set,
    ("trainer.kubeflow.org", "TrainJob"): expand_train_job,
    ("trainer.kubeflow.org", "ClusterTrainingRuntime"): expand_runtime,
    ("trainer.kubeflow.org", "TrainingRuntime"): expand_runtime,
}
