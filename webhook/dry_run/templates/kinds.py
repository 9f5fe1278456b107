"""Make the pods of each kind of workload: which there are, and with what values for shapes.yaml."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.profiles.slips import did_you_mean
from webhook.core.workloads.torchx import ROLE_INDEX
from webhook.dry_run.templates.pods import (
    UNKNOWN_SUFFIX,
    Expand,
    Found,
    Workload,
    append_to,
    checked_pod,
)
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.train_job import find_runtime

Replicas = dict[str, Section]
"""The section of each replica type, by its name in lower case."""


def pod(workload: Workload) -> Found:
    """Complete a pod of the input, which has no controller."""
    made = checked_pod(workload.root)
    metadata = {**(made.get("metadata") or {}), "namespace": workload.namespace}
    if workload.name:  # else it raises InputError
        whole = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": made["spec"]}
        yield workload.template(workload.root, whole)


def equal_pods(workload: Workload) -> Found:
    """Complete one of the equal pods of a Deployment, ReplicaSet or DaemonSet."""
    shape = "deployment" if workload.kind == "Deployment" else "equal"
    yield from workload.several(workload.spec, shape, {}, alone=False)


def stateful_set(workload: Workload) -> Found:
    """Complete the first two pods of a StatefulSet."""
    spec, start = workload.spec, workload.spec.node("ordinals").number("start", 0)
    values = {"set": workload.name, "subdomain": spec.text("serviceName")}
    yield from workload.several(
        spec, "statefulset", lambda index: {**values, "index": start + index}
    )


def batch_job(workload: Workload) -> Found:
    """Complete the first two indices of a Job, also of a CronJob's; else its first pod."""
    spec, batch = workload.spec, workload.name
    if workload.kind == "CronJob":
        spec, batch = spec.node("jobTemplate", "spec"), f"{batch}-0"
    count, indexed = spec.number("parallelism"), spec.text("completionMode") == "Indexed"
    if count == 0:
        yield workload.ignore(spec.at("parallelism"), "is 0: no pod is created")
        return
    shapes, count = (
        ("job indexed", spec.number("completions", count)) if indexed else ("job", count)
    )
    yield from workload.several(spec, shapes, {"batch": batch}, count=count, alone=indexed)


def job_set(workload: Workload) -> Found:
    """Complete two pods of each replicated Job of a JobSet: job 0 index 0, and one other."""
    yield from _job_set(workload, workload.spec)


def train_job(workload: Workload) -> Found:
    """Complete the pods of a TrainJob: the JobSet of its runtime, with what the TrainJob says."""
    jobset, missing = find_runtime(workload)
    if missing:
        yield missing
    yield from _job_set(workload, jobset)


def runtime(workload: Workload) -> Found:
    """Say that a runtime makes no pods itself."""
    yield workload.ignore("", "makes no pod itself: it is used by the TrainJobs that name it")


def _job_set(workload: Workload, spec: Section) -> Found:
    jobs, network, coordinator = spec.nodes("replicatedJobs"), spec.node("network"), ""
    subdomain = network.text("subdomain", workload.name)
    if spec.has("coordinator"):
        at = spec.node("coordinator")
        place = f"{at.text('replicatedJob')}-{at.number('jobIndex', 0)}-{at.number('podIndex', 0)}"
        coordinator = f"{workload.name}-{place}.{subdomain}"
    if not network.flag("enableDNSHostnames", default=True):
        subdomain = ""
    everywhere = sum(job.number("replicas") for job in jobs)
    shared = {"coordinator": coordinator, "subdomain": subdomain, "everywhere": everywhere}
    for job in jobs:
        yield from _replicated_job(workload, job, shared)


def _replicated_job(workload: Workload, job: Section, shared: Mapping[str, object]) -> Found:
    spec, replicas, role = job.node("template", "spec"), job.number("replicas"), job.text("name")
    template, pods = spec.node("template"), spec.number("parallelism")
    indexed = spec.text("completionMode", "Indexed") == "Indexed"
    if indexed:
        pods = spec.number("completions", pods)
    has_second_index, shapes = indexed and pods > 1, "job indexed" if indexed else "job"

    def values(number: int) -> Mapping[str, object]:
        at, index = (0, number) if has_second_index else (number, 0)
        own = {"batch": f"{workload.name}-{role}-{at}", "index": index, "job_index": at}
        return {**shared, **own, "role": role, "replicas": replicas}

    count, several = replicas * max(pods, 1), has_second_index or replicas > 1
    yield from workload.several(
        job, f"{shapes} jobset", values, count=count, template=template, alone=several
    )


def leader_worker_set(workload: Workload) -> Found:
    """Complete the leader and the first worker of the first group, which is a job of its own."""
    spec, both = workload.spec, workload.spec.node("leaderWorkerTemplate")
    name, leader = workload.name, f"{workload.name}-0"
    size, groups = both.number("size"), spec.number("replicas")
    worker = both.node("workerTemplate")
    first = both.node("leaderTemplate") if both.has("leaderTemplate") else worker
    is_own = spec.node("networkConfig").text("subdomainPolicy", "Shared") == "UniquePerReplica"
    values = {"subdomain": leader if is_own else name, "size": size}
    shapes, leaders = "statefulset leaderworkerset", groups * min(size, 1)
    own = {**values, "set": name}
    yield from workload.several(spec, shapes, own, count=leaders, template=first, alone=False)
    if size > 1:
        pod = workload.pod(worker, shapes, **values, set=leader, index=1)
        yield workload.template(worker, pod, groups * (size - 1))


_TYPES = {
    **dict.fromkeys(("PyTorchJob", "PaddleJob", "XGBoostJob"), ("Master", "Worker")),
    "TFJob": ("Chief", "Master", "PS", "Worker", "Evaluator"),
    "JAXJob": ("Worker",),
    "MPIJob": ("Launcher", "Worker"),
}
"""The replica types of each kind, as they are shown; the operator refuses others.

Source: kubeflow/trainer release-1.9 pkg/webhooks.
"""


def _replica_types(workload: Workload) -> Replicas:
    """Return what stands in the map whose key ends in ``ReplicaSpecs``, rank 0 first.

    Raises InputError for a type that the operator does not know.
    """
    known, found = _TYPES[workload.kind], {}
    for key in filter(lambda key: key.lower().endswith("replicaspecs"), workload.spec.value):
        holder = workload.spec.node(key)
        for name in filter(holder.has, holder.value):
            if name.lower() not in map(str.lower, known):
                meant = did_you_mean(name, known)
                remedy = f"did you mean {meant}?" if meant else f"write one of {', '.join(known)}"
                where = holder.at(name)
                raise InputError(f"{where}: is not a replica type of {workload.kind}; {remedy}")
            found[name.lower()] = holder.node(name)
    return {kind: found[kind] for kind in map(str.lower, known) if kind in found}


def _count(types: Replicas) -> int:
    return sum(each.number("replicas") for each in types.values())


def kubeflow_job(workload: Workload) -> Found:
    """Complete the first pod of each replica type of the training operator v1.

    Of a single type the first two are shown.
    """
    types = _replica_types(workload)
    leaders = {"launcher", "master", "chief"} & types.keys() or {"worker"}
    shared, values = _pytorch(workload, types) if workload.kind == "PyTorchJob" else ("", {})
    for role, replicas in types.items():
        shapes = "kubeflow" + (" kubeflow-leads" if role in leaders else "") + shared
        if role == "launcher":
            shapes += " kubeflow-launcher"
        if "pytorch-master" in shared:
            shapes += f" pytorch-rank-of-{role}"
        alone = _count(types) == replicas.number("replicas")
        yield from workload.several(replicas, shapes, {**values, "role": role}, alone=alone)


def _pytorch(workload: Workload, types: Replicas) -> tuple[str, Object]:
    """Return the shapes and values of a PyTorchJob's variables."""
    spec, shapes = workload.spec, " pytorch"
    processes = str(spec.value["nprocPerNode"]) if spec.has("nprocPerNode") else "auto"
    values: Object = {"processes": processes}
    if "master" in types:
        shapes += " pytorch-master"
        nodes, each = _count(types), int(processes) if re.fullmatch("[0-9]+", processes) else 1
        values |= {"port": _pytorch_port(types["master"]), "world": nodes * each, "nodes": nodes}
    if spec.has("elasticPolicy"):
        shapes += " pytorch-elastic"
        shapes += " pytorch-standalone" if spec.node("elasticPolicy").flag("standalone") else ""
        values |= _elastic(workload, types.get("worker") or Section({"replicas": 0}))
    return shapes, values


def _elastic(workload: Workload, worker: Section) -> Mapping[str, object]:
    policy, workers = workload.spec.node("elasticPolicy"), worker.number("replicas")
    host = policy.text("rdzvHost", f"{workload.name}-worker-0")
    least, most = (policy.number(key, workers) for key in ("minReplicas", "maxReplicas"))
    is_range = policy.has("minReplicas") or policy.has("maxReplicas")
    pairs = [f"{pair.text('key')}={pair.text('value')}" for pair in policy.nodes("rdzvConf")]
    return {
        "endpoint": f"{host}:{policy.number('rdzvPort', _pytorch_port(worker))}",
        "backend": policy.text("rdzvBackend", "c10d"),
        "range": f"{least}:{most}" if is_range else workers,
        "conf": ",".join(pairs),
    }


def _pytorch_port(replicas: Section) -> int:
    """Return the port that the operator reads from container ``pytorch``, else its own."""
    container = replicas.node("template", "spec").named("containers", "pytorch")
    return container.named("ports", "pytorchjob-port").number("containerPort", 23456)


def mpi_job(workload: Workload) -> Found:
    """Complete the launcher and the first two workers of an MPIJob of the mpi-operator."""
    if workload.root.text("apiVersion").endswith("/v1"):
        yield from kubeflow_job(workload)
        return
    launcher_works = workload.spec.flag("runLauncherAsWorker")
    for role, replicas in _replica_types(workload).items():
        values = {"role": role, "batch": f"{workload.name}-launcher"}
        if role == "launcher":
            shapes = "job mpi mpi-launcher" + (" mpi-rank" if launcher_works else "")
        else:
            shapes = "mpi mpi-worker " + ("mpi-next-rank" if launcher_works else "mpi-rank")
        yield from workload.several(replicas, shapes, values)


def volcano_job(workload: Workload) -> Found:
    """Complete two pods of each task of a Volcano Job, or one with the pytorch plugin.

    TorchX has a task for each replica.
    """
    holder, nodes = workload.spec.node("plugins"), workload.spec.nodes("tasks")
    plugins = {name: holder.words(name) for name in holder.value}
    if not plugins.keys().isdisjoint(("pytorch", "tensorflow", "mpi", "ray")):
        plugins.setdefault("svc", [])
    names = [task.text("name", f"default{index}") for index, task in enumerate(nodes)]
    tasks = list(zip(names, nodes, strict=True))
    shapes = "volcano" + (" volcano-svc" if "svc" in plugins else "")
    values: Object = {"queue": workload.spec.text("queue", "default")}
    ranks = _add_pytorch_plugin(values, workload, plugins.get("pytorch"), dict(tasks[::-1]))
    hosts = _volcano_hosts(workload.name, names) if _gives_hosts(plugins.get("svc")) else {}
    roles = [task.node("template", "metadata", "labels").text(ROLE_INDEX) for task in nodes]
    for (name, task), copies in zip(tasks, _shown_by_role(roles), strict=True):
        if copies:
            yield from workload.several(
                task,
                shapes + (" volcano-pytorch" + ranks.get(name, "") if ranks else ""),
                {**values, "task": name},
                alone=not ranks,
                copies=copies,
                env=hosts,
            )


def _shown_by_role(roles: Sequence[str]) -> Iterator[int]:
    """Yield for each part of a TorchX app how many it stands for, 0 where another stands for it.

    The first two replicas of each role are shown; parts without a role all are.
    """
    sizes, seen = Counter(roles), Counter[str]()
    for role in roles:
        seen[role] += 1
        yield 1 if not role or seen[role] == 1 else sizes[role] - 1 if seen[role] == 2 else 0


def _add_pytorch_plugin(
    values: Object,
    workload: Workload,
    arguments: Sequence[str] | None,
    tasks: Mapping[str, Section],
) -> Mapping[str, str]:
    """Add the plugin's values; return the shape of each task's rank, none without its master."""
    master, worker = (_argument(arguments or (), role, role) for role in ("master", "worker"))
    if arguments is None or master not in tasks:
        return {}
    spec = tasks[master].node("template", "spec")
    host = spec.text("hostname", f"{workload.name}-{master}-0")
    values["master"] = f"{host}.{spec.text('subdomain', workload.name)}"
    values["port"] = _argument(arguments, "port", "23456")
    values["world"] = _count({role: tasks[role] for role in {master, worker} & tasks.keys()})
    return {worker: " volcano-pytorch-worker", master: " volcano-pytorch-master"}


def _argument(arguments: Sequence[str], name: str, default: str) -> str:
    """Read a flag as Go's flag package does: ``--name=value``, ``-name value``."""
    for index, argument in enumerate(arguments):
        key, equals, value = argument.lstrip("-").partition("=")
        if key == name:
            return value if equals else next(iter(arguments[index + 1 :]), "true")
    return default


def _gives_hosts(svc: Sequence[str] | None) -> bool:
    says = "false" if svc is None else _argument(svc, "inject-hosts-env", "true")
    return says.lower() not in ("false", "f", "0")


def _volcano_hosts(job: str, tasks: Sequence[str]) -> Object:
    """Return the variables in which the svc plugin names the pods of all tasks."""
    tasks = [task.replace("-", "_").upper() for task in tasks]
    names = [f"VC_{task}_{suffix}" for task in tasks for suffix in ("HOSTS", "NUM")]
    return {name: {"configMapKeyRef": {"name": f"{job}-svc", "key": name}} for name in names}


_RAY_CLUSTERS = {
    "RayCluster": (),
    "RayService": ("rayClusterConfig",),
    "RayJob": ("rayClusterSpec",),
    "RayClusterFleet": ("template", "spec"),
    "RayClusterReplicaSet": ("template", "spec"),
}
"""Where each kind holds the spec of the cluster that it makes; the last two are AIBrix'.

Source: vllm-project/aibrix pkg/controller/rayclusterfleet.
"""


def ray_cluster(workload: Workload) -> Found:
    """Complete the head and one worker of each group of a Ray cluster."""
    spec = workload.spec
    if spec.has("clusterSelector"):
        message = "chooses a RayCluster that exists: this RayJob makes no pod that trains"
        yield workload.ignore(spec.at("clusterSelector"), message)
        return
    made = workload.part(workload.root, spec.number("replicas"))
    spec = spec.node(*_RAY_CLUSTERS[workload.kind])
    if spec.has("headGroupSpec"):
        head = spec.node("headGroupSpec")
        yield made.template(head.node("template"), _ray_pod(made, head, "head"))
    for group in spec.nodes("workerGroupSpecs"):
        replicas = max(group.number("replicas", 0), group.number("minReplicas", 0))
        if replicas == 0 and group.number("maxReplicas") == 0:
            yield made.ignore(group.at("replicas"), "is 0: no pod is created")
            continue
        number = max(replicas, 1) * max(group.number("numOfHosts"), 1)
        yield made.template(group.node("template"), _ray_pod(made, group, "worker"), number)


def _ray_pod(workload: Workload, group: Section, node: str) -> Object:
    name, version = group.text("groupName", "headgroup"), workload.root.text("apiVersion")
    generated = "" if workload.kind == "RayCluster" else f"-{UNKNOWN_SUFFIX}"
    made = workload.pod(
        group.node("template"),
        "ray",
        cluster=workload.name + generated,
        prefix="head" if node == "head" else f"{name}-worker",
        version=version if version.startswith("ray.io/") else "ray.io/v1",
        group=name,
        node=node,
    )
    if not group.node("rayStartParams").has("plasma-directory"):
        _add_shared_memory(made)
    return made


def _add_shared_memory(pod: Object) -> None:
    """Mount memory at /dev/shm of the Ray container, as large as its memory, where none is."""
    container = pod["spec"]["containers"][0]
    if any(mount.get("mountPath") == "/dev/shm" for mount in podspec.mounts(container)):
        return
    size = podspec.requests(container).get("memory") or podspec.limits(container).get("memory")
    volume: Object = {"medium": "Memory", "sizeLimit": size} if size else {"medium": "Memory"}
    append_to(pod["spec"], "volumes", {"name": "shared-mem", "emptyDir": volume})
    append_to(container, "volumeMounts", {"name": "shared-mem", "mountPath": "/dev/shm"})


def pod_clique_set(workload: Workload) -> Found:
    """Complete two pods of each clique of the first replica, and of its first scaling groups.

    Source: ai-dynamo/grove operator/api/common/namegen.go.
    """
    copies, template = workload.spec.number("replicas"), workload.spec.node("template")
    cliques = {one.text("name"): one for one in template.nodes("cliques")}
    sizes = {name: clique.node("spec").number("replicas") for name, clique in cliques.items()}
    keys = ("podCliqueScalingGroups", "podCliqueScalingGroupConfigs")
    groups = [group for key in keys for group in template.nodes(key)]
    for name, clique in cliques.items():
        group = next((one for one in groups if name in one.words("cliqueNames")), Section({}))
        number, own = group.number("replicas"), group.text("name")
        pods = sum(sizes.get(other, 0) for other in group.words("cliqueNames"))
        owner = f"{workload.name}-0-{own}" if own else workload.name
        spec = clique.node("spec", "podSpec")
        metadata = {key: clique.node(key).value for key in ("labels", "annotations")}
        made_of = Section({"metadata": metadata, "spec": spec.value}, clique.path)
        values = {"clique": f"{owner}-0-{name}", "owner": owner, "pods": pods}
        yield from workload.several(
            clique.node("spec"),
            "grove grove-group" if own else "grove",
            values,
            count=sizes[name] if number else 0,
            template=made_of,
            copies=copies * number,
        )


def storm_service(workload: Workload) -> Found:
    """Complete two pods of each role of the first RoleSet, or of the first PodSet of the role."""
    copies, roleset = workload.spec.number("replicas"), f"{workload.name}-roleset-{UNKNOWN_SUFFIX}"
    for role in workload.spec.node("template", "spec").nodes("roles"):
        replicas, size = role.number("replicas"), role.number("podGroupSize")
        name, is_stateful = role.text("name"), role.flag("stateful")
        podset = f"{roleset}-{name}-{UNKNOWN_SUFFIX}" + ("-0" if is_stateful else "")
        values = {"roleset": roleset, "role": name, "podset": podset, "size": size}
        shapes, count, sets = "storm", replicas, 1
        if size > 1:
            shapes, count, sets = "storm storm-podset", size * min(replicas, 1), replicas
            shapes += " storm-stateful-podset" if is_stateful else ""
        elif is_stateful:
            shapes = "storm storm-stateful"
        yield from workload.several(role, shapes, values, count=count, copies=copies * sets)


def app_wrapper(workload: Workload) -> Found:
    """Find the pods of every wrapped object: MCAD's v1beta1, TorchX's among them, and v1beta2.

    Source: project-codeflare/multi-cluster-app-dispatcher
    pkg/controller/queuejobresources/genericresource; project-codeflare/appwrapper
    internal/controller/appwrapper/resource_management.go.
    """
    wrapped = workload.spec.node("resources").nodes("GenericItems")
    items = [item.node("generictemplate") for item in wrapped]
    items += [component.node("template") for component in workload.spec.nodes("components")]
    roles = [item.node("metadata", "labels").text(ROLE_INDEX) for item in items]
    for item, copies in zip(items, _shown_by_role(roles), strict=True):
        if copies:
            yield from workload.expand(workload.part(_owned(workload, item), copies))


def _owned(workload: Workload, item: Section) -> Section:
    owners = [*(node.value for node in item.node("metadata").nodes("ownerReferences"))]
    metadata = {**item.node("metadata").value, "ownerReferences": [*owners, workload.owner()]}
    return Section({**item.value, "metadata": metadata}, item.path)


def unknown(workload: Workload) -> Found:
    """Complete one pod of each template in an object of a kind that no table knows.

    A template is ``{spec: {containers: […]}}``, or a ``podSpec`` that holds containers. An object
    inside it, as other wrappers hold them, is completed by its own kind.
    """
    for node, replicas in _below(workload.root.value, "", 1, is_root=True):
        if _is_object(node.value):
            yield from workload.expand(workload.part(node, replicas))
        else:
            yield workload.template(node, workload.pod(node, "equal"), replicas)


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


def refuse(workload: Workload) -> Found:
    """Say that nobody wrote down what the operator of a kind makes of it."""
    advice = "save a pod that its operator made, and give that to dry-run"
    yield workload.ignore("", f"is of a kind whose pods dry-run cannot make; {advice}")


_TABLE: tuple[tuple[Expand, str, str], ...] = (
    (pod, "", "Pod"),
    (equal_pods, "", "ReplicationController"),
    (equal_pods, "apps", "ReplicaSet Deployment DaemonSet"),
    (stateful_set, "apps", "StatefulSet"),
    (batch_job, "batch", "Job CronJob"),
    (job_set, "jobset.x-k8s.io", "JobSet"),
    (leader_worker_set, "leaderworkerset.x-k8s.io", "LeaderWorkerSet"),
    (train_job, "trainer.kubeflow.org", "TrainJob"),
    (runtime, "trainer.kubeflow.org", "ClusterTrainingRuntime TrainingRuntime"),
    (kubeflow_job, "kubeflow.org", "PyTorchJob PaddleJob XGBoostJob TFJob JAXJob"),
    (mpi_job, "kubeflow.org", "MPIJob"),
    (volcano_job, "batch.volcano.sh", "Job"),
    (ray_cluster, "ray.io", "RayCluster RayJob RayService"),
    (ray_cluster, "orchestration.aibrix.ai", "RayClusterFleet RayClusterReplicaSet"),
    (storm_service, "orchestration.aibrix.ai", "StormService"),
    (pod_clique_set, "grove.io", "PodCliqueSet"),
    (app_wrapper, "workload.codeflare.dev", "AppWrapper"),
    (app_wrapper, "mcad.ibm.com", "AppWrapper"),
    (refuse, "kubeflow.org", "MXJob"),
    (refuse, "training.kubedl.io", "PyTorchJob TFJob MPIJob XGBoostJob"),
    (refuse, "train.distributed.io", "TorchJob"),
)
KINDS: Mapping[tuple[str, str], Expand] = {
    (group, kind): expand for expand, group, kinds in _TABLE for kind in kinds.split()
}
"""What finds the pods of each kind, by API group and kind."""
