"""Make the pods of each kind of workload: which there are, and with what values for shapes.yaml."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.workloads.torchx import ROLE_INDEX
from webhook.dry_run.templates.pods import (
    UNKNOWN_SUFFIX,
    Expand,
    Found,
    Template,
    Values,
    Workload,
    checked_pod,
)
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.train_job import find_runtime


def pod(workload: Workload) -> Found:
    """Complete a pod of the input, which has no controller."""
    made = checked_pod(workload.root)
    metadata = {**(made.get("metadata") or {}), "namespace": workload.namespace}
    if workload.name:  # else it raises InputError
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}
        yield workload.template(workload.root, whole)


def equal_pods(workload: Workload) -> Found:
    """Complete one of the equal pods of a Deployment, ReplicaSet or DaemonSet."""
    yield from workload.several(*workload.spec.replicated(), "equal", alone=False)


def stateful_set(workload: Workload) -> Found:
    """Complete the first two pods of a StatefulSet."""
    spec = workload.spec
    values = {"set": workload.name, "subdomain": spec.get("serviceName", "")}
    yield from workload.several(*spec.replicated(), "statefulset", values)


def batch_job(workload: Workload) -> Found:
    """Complete the first two indices of a Job, also of a CronJob's; else its first pod."""
    spec, batch = workload.spec, workload.name
    if workload.kind == "CronJob":
        spec, batch = spec.node("jobTemplate", "spec"), f"{batch}-0"
    shapes, count = _indices(spec, "NonIndexed")
    alone = "indexed" in shapes
    yield from workload.several(spec.node("template"), count, shapes, {"batch": batch}, alone=alone)


def _indices(job: Section, mode: str) -> tuple[str, int]:
    """Return the shapes of a Job's pods, and how many there are; *mode* is the default."""
    count = job.get("parallelism", 1)
    if job.get("completionMode", mode) != "Indexed":
        return "job", count
    return "job indexed", job.get("completions", count)


def job_set(workload: Workload) -> Found:
    """Complete two pods of each replicated Job of a JobSet: job 0 index 0, and one other.

    The JobSet of a TrainJob is that of its runtime, with what the TrainJob says.
    """
    spec = workload.spec
    if workload.kind == "TrainJob":
        spec, missing = find_runtime(workload)
        yield from missing
    jobs, network, at = spec.nodes("replicatedJobs"), spec.node("network"), spec.node("coordinator")
    subdomain = network.get("subdomain", workload.name)
    place = f"{at.get('replicatedJob', '')}-{at.get('jobIndex', 0)}-{at.get('podIndex', 0)}"
    shared = {
        "coordinator": f"{workload.name}-{place}.{subdomain}" if at.value else "",
        "subdomain": subdomain if network.get("enableDNSHostnames", True) else "",
        "everywhere": _count(jobs),
    }
    for job in jobs:
        (template, replicas), role = job.replicated(), job.get("name", "")
        shapes, pods = _indices(template.node("spec"), "Indexed")
        has_second_index, batch = "indexed" in shapes and pods > 1, f"{workload.name}-{role}"
        first = {"batch": f"{batch}-0", "index": 0, "job_index": 0}
        yield from workload.several(
            template.node("spec", "template"),
            replicas * max(pods, 1),
            f"{shapes} jobset",
            {**shared, **first, "role": role, "replicas": replicas},
            second={"index": 1} if has_second_index else {"batch": f"{batch}-1", "job_index": 1},
            alone=has_second_index or replicas > 1,
        )


def leader_worker_set(workload: Workload) -> Found:
    """Complete the leader and the first worker of the first group, which is a job of its own."""
    both, name = workload.spec.node("leaderWorkerTemplate"), workload.name
    size, groups = both.get("size", 1), workload.spec.get("replicas", 1)
    shapes, worker = "statefulset leaderworkerset", both.node("workerTemplate")
    leader = both.node("leaderTemplate") if both.has("leaderTemplate") else worker
    values = {"set": name, "subdomain": name, "size": size}
    yield from workload.several(leader, groups * min(size, 1), shapes, values, alone=False)
    if size > 1:
        values |= {"set": f"{name}-0", "index": 1}
        yield from workload.several(worker, groups * (size - 1), shapes, values, alone=False)


_ROLES = ("launcher", "chief", "master", "ps", "worker", "evaluator")
"""The replica types of all kinds, rank 0 first. Source: kubeflow/trainer release-1.9 pkg/apis."""


def _roles(workload: Workload) -> Mapping[str, Section]:
    """Return what stands in the map whose key ends in ``ReplicaSpecs``, by type in lower case.

    Raises InputError for a type that no operator knows.
    """
    found = {}
    for key in filter(lambda key: key.lower().endswith("replicaspecs"), workload.spec.value):
        holder = workload.spec.node(key)
        for name in filter(holder.has, holder.value):
            if name.lower() not in _ROLES:
                problem = f"is not a replica type; write one of {', '.join(_ROLES)}"
                raise InputError(f"{holder.at(name)}: {problem}")
            found[name.lower()] = holder.node(name)
    return {role: found[role] for role in _ROLES if role in found}


def _count(roles: Iterable[Section]) -> int:
    return sum(each.get("replicas", 1) for each in roles)


def kubeflow_job(workload: Workload) -> Found:
    """Complete the first pod of each replica type of the training operator v1.

    Of a single type the first two are shown.
    """
    roles = _roles(workload)
    leaders = {"launcher", "master", "chief"} & roles.keys() or {"worker"}
    shared, values = _pytorch(workload, roles) if workload.kind == "PyTorchJob" else ("", {})
    for role, replicas in roles.items():
        shapes = f"kubeflow{' kubeflow-leads' if role in leaders else ''}{shared}"
        shapes += " kubeflow-launcher" if role == "launcher" else ""
        (template, count), own = replicas.replicated(), {**values, "role": role}
        yield from workload.several(
            template, count, shapes, own, alone=count == _count(roles.values())
        )


def _pytorch(workload: Workload, roles: Mapping[str, Section]) -> tuple[str, Values]:
    """Return the shapes and values of a PyTorchJob's variables."""
    policy = workload.spec.node("elasticPolicy")
    workers = _count(roles[role] for role in roles.keys() - {"master"})
    host = policy.get("rdzvHost", f"{workload.name}-worker-0")
    least, most = (policy.get(key, workers) for key in ("minReplicas", "maxReplicas"))
    shapes = " pytorch-master" if "master" in roles else ""
    shapes += " pytorch-elastic" if workload.spec.has("elasticPolicy") else ""
    return shapes, {
        "nodes": _count(roles.values()),
        "endpoint": f"{host}:{policy.get('rdzvPort', 23456)}",
        "backend": policy.get("rdzvBackend", "c10d"),
        "range": workers if least == most else f"{least}:{most}",
    }


def mpi_job(workload: Workload) -> Found:
    """Complete the launcher and the first two workers of an MPIJob of the mpi-operator."""
    if workload.root.get("apiVersion", "").endswith("/v1"):
        yield from kubeflow_job(workload)
        return
    for role, replicas in _roles(workload).items():
        values = {"role": role, "batch": f"{workload.name}-launcher"}
        shapes = "job mpi mpi-launcher" if role == "launcher" else "mpi mpi-worker"
        yield from workload.several(*replicas.replicated(), shapes, values)


def volcano_job(workload: Workload) -> Found:
    """Complete two pods of each task of a Volcano Job, or one with the pytorch plugin.

    TorchX has a task for each replica.
    """
    holder, nodes = workload.spec.node("plugins"), workload.spec.nodes("tasks")
    plugins = {name: holder.words(name) for name in holder.value}
    if not plugins.keys().isdisjoint(("pytorch", "tensorflow", "mpi", "ray")):
        plugins.setdefault("svc", [])
    names = [task.get("name", f"default{index}") for index, task in enumerate(nodes)]
    tasks = dict(zip(names, nodes, strict=True))
    ranks, values = _pytorch_plugin(workload, plugins.get("pytorch"), tasks)
    svc, hosts = (" volcano-svc", names) if "svc" in plugins else ("", [])
    keys = [f"VC_{task.replace('-', '_').upper()}_HOSTS" for task in hosts]
    env = {key: {"configMapKeyRef": {"name": f"{workload.name}-svc", "key": key}} for key in keys}
    for index, copies in _shown_by_role([task.node("template") for task in nodes]):
        shapes = f"volcano{svc} {ranks.get(names[index], ranks.get('', ''))}"
        pods, own = nodes[index].replicated(), {**values, "task": names[index]}
        yield from workload.several(*pods, shapes, own, env=env, alone=not ranks, copies=copies)


def _shown_by_role(parts: Sequence[Section]) -> Iterator[tuple[int, int]]:
    """Yield which parts of a TorchX app are shown, and how many each stands for.

    The first two replicas of each role are shown; parts without a role all are.
    """
    roles = [part.node("metadata", "labels").get(ROLE_INDEX, "") for part in parts]
    sizes, seen = Counter(roles), Counter[str]()
    for index, role in enumerate(roles):
        seen[role] += 1
        if not role or seen[role] == 1:
            yield index, 1
        elif seen[role] == 2:
            yield index, sizes[role] - 1


def _pytorch_plugin(
    workload: Workload, arguments: Sequence[str] | None, tasks: Mapping[str, Section]
) -> tuple[Mapping[str, str], Values]:
    """Return the shapes of each task, of others by ``""``, and the values of all.

    Without its master the plugin does nothing.
    """
    flags = dict(argument.lstrip("-").partition("=")[::2] for argument in arguments or ())
    master, worker = flags.get("master", "master"), flags.get("worker", "worker")
    if arguments is None or master not in tasks:
        return {}, {}
    shape = "volcano-pytorch"
    return {"": shape, worker: f"{shape} {shape}-worker", master: f"{shape} {shape}-master"}, {
        "master": f"{workload.name}-{master}-0.{workload.name}",
        "port": flags.get("port", "23456"),
        "world": _count(tasks[role] for role in {master, worker} & tasks.keys()),
    }


_RAY_CLUSTERS = {"RayCluster": "", "RayService": "rayClusterConfig", "RayJob": "rayClusterSpec"}
"""Where each kind holds the spec of the cluster that it makes; AIBrix' fleets hold a template.

Source: vllm-project/aibrix pkg/controller/rayclusterfleet.
"""


def ray_cluster(workload: Workload) -> Found:
    """Complete the head and one worker of each group of a Ray cluster."""
    spec = workload.spec
    if spec.has("clusterSelector"):
        message = "chooses a RayCluster that exists: this RayJob makes no pod that trains"
        yield workload.ignore(spec.at("clusterSelector"), message)
        return
    made = workload.part(workload.root, spec.get("replicas", 1))
    spec = spec.node(*_RAY_CLUSTERS.get(workload.kind, "template spec").split())
    heads = [spec.node("headGroupSpec")] if spec.has("headGroupSpec") else []
    name = workload.name + ("" if workload.kind == "RayCluster" else f"-{UNKNOWN_SUFFIX}")
    for group in heads + spec.nodes("workerGroupSpecs"):
        is_head, of = group in heads, group.get("groupName", "headgroup")
        least = max(group.get("replicas", 0), group.get("minReplicas", 0))
        most = 0 if least == group.get("maxReplicas", 1) == 0 else max(least, 1)
        node, prefix = ("head", "head") if is_head else ("worker", f"{of}-worker")
        values = {"cluster": name, "group": of, "node": node, "prefix": prefix}
        number = most * max(group.get("numOfHosts", 1), 1)
        for each in made.several(group.node("template"), number, "ray", values, alone=False):
            if isinstance(each, Template):
                _add_shared_memory(each.pod)
            yield each


def _add_shared_memory(pod: Object) -> None:
    """Mount memory at /dev/shm of the Ray container, where nothing is mounted."""
    container = pod["spec"]["containers"][0]
    if all(mount.get("mountPath") != "/dev/shm" for mount in podspec.mounts(container)):
        volume = {"name": "shared-mem", "emptyDir": {"medium": "Memory"}}
        mount = {"name": "shared-mem", "mountPath": "/dev/shm"}
        pod["spec"]["volumes"] = [*podspec.volumes(pod), volume]
        container["volumeMounts"] = [*podspec.mounts(container), mount]


def pod_clique_set(workload: Workload) -> Found:
    """Complete two pods of each clique of the first replica, and of its first scaling groups.

    Source: ai-dynamo/grove operator/api/common/namegen.go.
    """
    copies, template = workload.spec.get("replicas", 1), workload.spec.node("template")
    cliques = {one.get("name", ""): one for one in template.nodes("cliques")}
    sizes = {name: clique.node("spec").get("replicas", 1) for name, clique in cliques.items()}
    keys = ("podCliqueScalingGroups", "podCliqueScalingGroupConfigs")
    groups = [group for key in keys for group in template.nodes(key)]
    for name, clique in cliques.items():
        group = next((one for one in groups if name in one.words("cliqueNames")), Section({}))
        number, own = group.get("replicas", 1), group.get("name", "")
        owner = f"{workload.name}-0-{own}" if own else workload.name
        metadata = {key: clique.node(key).value for key in ("labels", "annotations")}
        pod = {"metadata": metadata, "spec": clique.node("spec", "podSpec").value}
        pods = sum(sizes.get(other, 0) for other in group.words("cliqueNames"))
        values = {"clique": f"{owner}-0-{name}", "owner": owner, "pods": pods}
        template, shapes = Section(pod, clique.path), "grove grove-group" if own else "grove"
        yield from workload.several(template, sizes[name], shapes, values, copies=copies * number)


def storm_service(workload: Workload) -> Found:
    """Complete two pods of each role of the first RoleSet, or of the first PodSet of the role."""
    roleset, sets = f"{workload.name}-roleset-{UNKNOWN_SUFFIX}", workload.spec.get("replicas", 1)
    for role in workload.spec.node("template", "spec").nodes("roles"):
        (template, count), size = role.replicated(), role.get("podGroupSize", 1)
        name, is_stateful = role.get("name", ""), role.get("stateful", False)
        podset = f"{roleset}-{name}-{UNKNOWN_SUFFIX}" + ("-0" if is_stateful else "")
        values = {"roleset": roleset, "role": name, "podset": podset, "size": size}
        shapes, copies = "storm storm-stateful" if is_stateful else "storm", sets
        if size > 1:
            shapes, count, copies = "storm storm-podset", size, sets * count
        yield from workload.several(template, count, shapes, values, copies=copies)


def expander(workload: Workload) -> Expand:
    """Return what finds the pods of an object of this kind."""
    group, _, _version = workload.root.get("apiVersion", "").rpartition("/")
    return KINDS.get((group, workload.kind), any_object)


def any_object(workload: Workload) -> Found:
    """Complete one pod of each template in an object of any kind: AppWrappers, and unknown ones.

    A template is ``{spec: {containers: […]}}``, or a ``podSpec`` that holds containers. An object
    inside it is completed by its own kind. Source: project-codeflare/multi-cluster-app-dispatcher
    pkg/controller/queuejobresources/genericresource; project-codeflare/appwrapper
    internal/controller/appwrapper/resource_management.go.
    """
    found = [*_below(workload.root.value, workload.root.path, 1, is_root=True)]
    for index, copies in _shown_by_role([node for node, _ in found]):
        node, replicas = found[index]
        if _is_object(node.value):
            part = workload.part(node, replicas * copies)
            yield from expander(part)(part)
        else:
            yield from workload.several(node, replicas * copies, "equal", alone=False)


def _below(
    value: Any, path: str, replicas: int, *, is_root: bool = False
) -> Iterator[tuple[Section, int]]:
    """Yield each template and object with the product of all ``replicas`` above it."""
    if isinstance(value, list):
        for index, item in enumerate(value):
            yield from _below(item, f"{path}[{index}]", replicas)
    if not isinstance(value, dict):
        return
    if not is_root and (_is_object(value) or _has_containers(value.get("spec"))):
        yield Section(value, path), replicas
        return
    own = value.get("replicas")
    replicas *= own if type(own) is int and own > 0 else 1
    for key, item in value.items():
        if key == "podSpec" and _has_containers(item):
            beside = {one: value[one] for one in ("labels", "annotations") if one in value}
            yield Section({"metadata": beside, "spec": item}, path), replicas
        elif key not in ("status", "managedFields"):
            yield from _below(item, f"{path}.{key}".removeprefix("."), replicas)


def _is_object(value: Object) -> bool:
    texts = (value.get("kind"), value.get("apiVersion"))
    return "metadata" in value and all(isinstance(text, str) for text in texts)


def _has_containers(spec: Any) -> bool:
    return isinstance(spec, dict) and isinstance(spec.get("containers"), list)


def no_pod(workload: Workload) -> Found:
    """Say why an object makes no pod, or none that anybody wrote down."""
    message = "makes no pod itself: it is used by the TrainJobs that name it"
    if not workload.kind.endswith("Runtime"):
        advice = "save a pod that its operator made, and give that to dry-run"
        message = f"is of a kind whose pods dry-run cannot make; {advice}"
    yield workload.ignore("", message)


_TABLE: tuple[tuple[Expand, str, str], ...] = (
    (pod, "", "Pod"),
    (equal_pods, "apps", "ReplicaSet Deployment DaemonSet"),
    (stateful_set, "apps", "StatefulSet"),
    (batch_job, "batch", "Job CronJob"),
    (job_set, "jobset.x-k8s.io", "JobSet"),
    (leader_worker_set, "leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    (job_set, "trainer.kubeflow.org", "TrainJob"),
    (no_pod, "trainer.kubeflow.org", "ClusterTrainingRuntime TrainingRuntime"),
    (kubeflow_job, "kubeflow.org", "PyTorchJob PaddleJob XGBoostJob TFJob JAXJob"),
    (mpi_job, "kubeflow.org", "MPIJob"),
    (no_pod, "kubeflow.org", "MXJob"),
    (volcano_job, "batch.volcano.sh", "Job"),
    (ray_cluster, "ray.io", "RayCluster RayJob RayService"),
    (ray_cluster, "orchestration.aibrix.ai", "RayClusterFleet RayClusterReplicaSet"),
    (storm_service, "orchestration.aibrix.ai", "StormService"),
    (pod_clique_set, "grove.io", "PodCliqueSet"),
    (no_pod, "training.kubedl.io", "PyTorchJob TFJob MPIJob XGBoostJob"),
    (no_pod, "train.distributed.io", "TorchJob"),
)
KINDS: Mapping[tuple[str, str], Expand] = {
    (group, kind): expand for expand, group, kinds in _TABLE for kind in kinds.split()
}
"""What finds the pods of each kind, by API group and kind."""
