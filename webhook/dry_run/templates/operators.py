"""Make the pods of the objects that other operators know: Kubeflow, Volcano, Ray and others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from webhook.core import podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.profiles.slips import did_you_mean
from webhook.core.workloads.systems import (
    GROVE,
    KUBEFLOW,
    PODCLIQUESET,
    RAY,
    STORM,
    VOLCANO,
    VOLCANO_GROUP,
)
from webhook.core.workloads.torchx import ROLE_INDEX
from webhook.dry_run.templates.controllers import job_pod
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import (
    UID,
    UNKNOWN_SUFFIX,
    Expand,
    Found,
    Workload,
    all_containers,
    append_env,
    append_to,
    label_of_pod,
    owner_reference,
    prepend_env,
)

_TYPES = {
    **dict.fromkeys(("PyTorchJob", "PaddleJob", "XGBoostJob"), ("Master", "Worker")),
    "TFJob": ("Chief", "Master", "PS", "Worker", "Evaluator"),
    "JAXJob": ("Worker",),
    "MPIJob": ("Launcher", "Worker"),
}
"""The replica types of each kind, as they are shown; the operator refuses others.

Source: kubeflow/trainer release-1.9 pkg/webhooks.
"""
_UNKNOWN_MAKERS = (
    *(("training.kubedl.io", kind) for kind in ("PyTorchJob", "TFJob", "MPIJob", "XGBoostJob")),
    *(("train.distributed.io", "TorchJob"), ("kubeflow.org", "MXJob")),
)

Env: TypeAlias = dict[str, str | Object]
Replicas: TypeAlias = dict[str, Section]
"""The section of each replica type, by its name in lower case."""


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


def expand_kubeflow_job(workload: Workload) -> Found:
    """Complete the first pod of each replica type of the training operator v1.

    Of a single type the first two are shown. Source: kubeflow/trainer release-1.9
    pkg/controller.v1/common/pod.go, pytorch/{envvar,master,elastic,initcontainer}.go.
    """
    types, is_pytorch = _replica_types(workload), workload.kind == "PyTorchJob"
    leaders = {"launcher", "master", "chief"} & types.keys() or {"worker"}
    for kind, replicas in types.items():

        def make(index: int, kind: str = kind, replicas: Section = replicas) -> Object:
            labels = {
                **_kubeflow_labels(workload, f"{workload.kind.lower()}-controller"),
                KUBEFLOW + "replica-index": str(index),
                KUBEFLOW + "replica-type": kind,
            }
            if kind in leaders and (kind != "worker" or index == 0):
                labels[KUBEFLOW + "job-role"] = "master"
            name = f"{workload.name}-{kind}" + (f"-{index}" if kind != "launcher" else "")
            pod = workload.pod(replicas.node("template"), name, labels=labels)
            if is_pytorch:
                given = _pytorch_variables(workload, types, kind, index)
                append_env(pod["spec"]["containers"], given)
            return pod

        alone = _count(types) == replicas.number("replicas")
        yield from workload.several(replicas, make, alone=alone)


def _kubeflow_labels(workload: Workload, operator: str) -> dict[str, str]:
    return {KUBEFLOW + "job-name": workload.name, KUBEFLOW + "operator-name": operator}


def _pytorch_variables(workload: Workload, types: Replicas, kind: str, index: int) -> Env:
    spec, found = workload.spec, Env(PYTHONUNBUFFERED="1")
    processes = str(spec.value["nprocPerNode"]) if spec.has("nprocPerNode") else "auto"
    if "master" in types:
        port, master = _pytorch_port(types["master"]), f"{workload.name}-master-0"
        nodes, rank = _count(types), str(index + (kind == "worker"))
        each = int(processes) if processes.isascii() and processes.isdigit() else 1
        found |= {"MASTER_PORT": port, "PET_MASTER_PORT": port}
        found |= {"MASTER_ADDR": master, "PET_MASTER_ADDR": master}
        found |= {"WORLD_SIZE": str(nodes * each), "RANK": rank, "PET_NODE_RANK": rank}
        found |= {"PET_NPROC_PER_NODE": processes, "PET_NNODES": str(nodes)}
    if spec.has("elasticPolicy"):
        found |= _elastic_variables(workload, types.get("worker") or Section({"replicas": 0}))
        found["PET_NPROC_PER_NODE"] = processes
    return found


def _elastic_variables(workload: Workload, worker: Section) -> Env:
    policy, workers = workload.spec.node("elasticPolicy"), worker.number("replicas")
    host = policy.text("rdzvHost", f"{workload.name}-worker-0")
    port = policy.number("rdzvPort", int(_pytorch_port(worker)))
    conf = [f"{pair.text('key')}={pair.text('value')}" for pair in policy.nodes("rdzvConf")]
    least, most = (policy.number(key, workers) for key in ("minReplicas", "maxReplicas"))
    is_range = policy.has("minReplicas") or policy.has("maxReplicas")
    return {
        "PET_RDZV_ENDPOINT": f"{host}:{port}",
        "PET_RDZV_BACKEND": policy.text("rdzvBackend", "c10d"),
        "PET_NNODES": f"{least}:{most}" if is_range else str(workers),
        **({"PET_RDZV_CONF": ",".join(conf)} if conf else {}),
        **({"PET_STANDALONE": ""} if policy.flag("standalone") else {}),
    }


def _pytorch_port(replicas: Section) -> str:
    """Return the port that the operator reads from container ``pytorch``, else its own."""
    container = replicas.node("template", "spec").named("containers", "pytorch")
    return str(container.named("ports", "pytorchjob-port").number("containerPort", 23456))


def expand_mpi_job(workload: Workload) -> Found:
    """Complete the launcher and the first two workers of an MPIJob of the mpi-operator.

    Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go.
    """
    if workload.root.text("apiVersion").endswith("/v1"):
        yield from expand_kubeflow_job(workload)
        return
    launcher_works = workload.spec.flag("runLauncherAsWorker")
    for kind, replicas in _replica_types(workload).items():

        def make(index: int, kind: str = kind, replicas: Section = replicas) -> Object:
            template, name = replicas.node("template"), f"{workload.name}-{kind}"
            labels = _kubeflow_labels(workload, "mpi-operator") | {KUBEFLOW + "job-role": kind}
            if kind == "launcher":
                own = {KUBEFLOW + "replica-index": "0"} if launcher_works else {}
                return job_pod(workload, template, name, None, labels | own, hostname=name)
            labels[KUBEFLOW + "replica-index"] = str(index + launcher_works)
            name = f"{name}-{index}"
            return workload.pod(
                template, name, labels=labels, hostname=name, subdomain=workload.name
            )

        yield from workload.several(replicas, make)


def expand_volcano_job(workload: Workload) -> Found:
    """Complete two pods of each task of a Volcano Job, or one with the pytorch plugin.

    TorchX has a task for each replica. Source: volcano
    pkg/controllers/job/job_controller_util.go, plugins/{svc,distributed-framework/pytorch}.
    """
    holder, nodes = workload.spec.node("plugins"), workload.spec.nodes("tasks")
    plugins = {name: holder.words(name) for name in holder.value}
    if not plugins.keys().isdisjoint(("pytorch", "tensorflow", "mpi", "ray")):
        plugins.setdefault("svc", [])
    names = [task.text("name", f"default{index}") for index, task in enumerate(nodes)]
    tasks = list(zip(names, nodes, strict=True))
    pytorch = _pytorch_plugin(workload, plugins.get("pytorch"), dict(tasks[::-1]))
    hosts = _volcano_hosts(workload.name, names) if _gives_hosts(plugins.get("svc")) else {}
    roles = [task.node("template", "metadata", "labels").text(ROLE_INDEX) for task in nodes]
    for (name, task), copies in zip(tasks, _shown_by_role(roles), strict=True):

        def make(index: int, name: str = name, task: Section = task) -> Object:
            pod = _volcano_pod(workload, task, name, index)
            if pytorch is not None:
                append_env(pod["spec"]["containers"], pytorch(name, index))
            if "svc" in plugins:
                pod["spec"]["hostname"] = pod["spec"].get("hostname") or pod["metadata"]["name"]
                pod["spec"]["subdomain"] = pod["spec"].get("subdomain") or workload.name
            append_env(all_containers(pod), hosts)
            return pod

        if copies:
            yield from workload.several(task, make, alone=pytorch is None, copies=copies)


def _shown_by_role(roles: Sequence[str]) -> Iterator[int]:
    """Yield for each part of a TorchX app how many it stands for, 0 where another stands for it.

    The first two replicas of each role are shown; parts without a role all are.
    """
    sizes, seen = Counter(roles), Counter[str]()
    for role in roles:
        seen[role] += 1
        yield 1 if not role or seen[role] == 1 else sizes[role] - 1 if seen[role] == 2 else 0


def _volcano_pod(workload: Workload, task: Section, name: str, index: int) -> Object:
    job = workload.name
    shared = {
        VOLCANO + "task-index": str(index),
        VOLCANO + "task-spec": name,
        VOLCANO + "job-name": job,
        VOLCANO + "queue-name": workload.spec.text("queue", "default"),
    }
    return workload.pod(
        task.node("template"),
        f"{job}-{name}-{index}",
        labels=shared,
        annotations={**shared, VOLCANO_GROUP: f"{job}-{UID}", VOLCANO + "job-version": "0"},
    )


def _pytorch_plugin(
    workload: Workload, arguments: Sequence[str] | None, tasks: Mapping[str, Section]
) -> Callable[[str, int], Env] | None:
    """Return what gives a task and index its variables; None without the plugin or its master."""
    if arguments is None:
        return None
    master, worker = (_argument(arguments, role, role) for role in ("master", "worker"))
    if master not in tasks:
        return None
    spec = tasks[master].node("template", "spec")
    hostname = spec.text("hostname", f"{workload.name}-{master}-0")
    shared: Env = {
        "MASTER_ADDR": f"{hostname}.{spec.text('subdomain', workload.name)}",
        "MASTER_PORT": _argument(arguments, "port", "23456"),
        "WORLD_SIZE": str(_count({role: tasks[role] for role in {master, worker} & tasks.keys()})),
    }

    def given(task: str, index: int) -> Env:
        rank = {worker: {"RANK": str(index + 1)}, master: {"RANK": "0"}}
        return {**shared, **rank.get(task, {})}

    return given


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


def _volcano_hosts(job: str, tasks: Sequence[str]) -> Env:
    names = [
        f"VC_{task.replace('-', '_').upper()}_{suffix}"
        for task in tasks
        for suffix in ("HOSTS", "NUM")
    ]
    return {name: {"configMapKeyRef": {"name": f"{job}-svc", "key": name}} for name in names}


_RAY_CLUSTERS = {
    "RayCluster": (),
    "RayService": ("rayClusterConfig",),
    "RayJob": ("rayClusterSpec",),
    "RayClusterFleet": ("template", "spec"),
    "RayClusterReplicaSet": ("template", "spec"),
}
"""Where each kind holds the spec of the cluster that it makes; the last two are AIBrix'."""


def expand_ray(workload: Workload) -> Found:
    """Complete the head and one worker of each group of a Ray cluster.

    Source: ray-project/kuberay ray-operator/controllers/ray/common/pod.go, utils/constant.go;
    vllm-project/aibrix pkg/controller/rayclusterfleet.
    """
    spec, copies = workload.spec, workload.spec.number("replicas")
    if spec.has("clusterSelector"):
        message = "chooses a RayCluster that exists: this RayJob makes no pod that trains"
        yield workload.ignore(spec.at("clusterSelector"), message)
    else:
        made = workload.part(workload.root, copies)
        yield from _ray_nodes(made, spec.node(*_RAY_CLUSTERS[workload.kind]))


def _ray_nodes(workload: Workload, spec: Section) -> Found:
    generated = "" if workload.kind == "RayCluster" else f"-{UNKNOWN_SUFFIX}"
    cluster = workload.name + generated
    if spec.has("headGroupSpec"):
        head = spec.node("headGroupSpec")
        pod = _ray_pod(workload, head, cluster, "head")
        yield workload.template(head.node("template"), pod)
    for group in spec.nodes("workerGroupSpecs"):
        replicas = max(group.number("replicas", 0), group.number("minReplicas", 0))
        if replicas == 0 and group.number("maxReplicas") == 0:
            yield workload.ignore(group.at("replicas"), "is 0: no pod is created")
            continue
        pod = _ray_pod(workload, group, cluster, "worker")
        number = max(replicas, 1) * max(group.number("numOfHosts"), 1)
        yield workload.template(group.node("template"), pod, number)


def _ray_pod(workload: Workload, group: Section, cluster: str, node_type: str) -> Object:
    name = group.text("groupName", "headgroup")
    prefix = "head" if node_type == "head" else f"{name}-worker"
    version = workload.root.text("apiVersion")
    version = version if version.startswith("ray.io/") else "ray.io/v1"
    pod = workload.pod(
        group.node("template"),
        generate_name=f"{cluster}-{prefix}-",
        owner=owner_reference(version, "RayCluster", cluster),
        labels={RAY + "cluster": cluster, RAY + "group": name, RAY + "node-type": node_type},
    )
    if not group.node("rayStartParams").has("plasma-directory"):
        _add_shared_memory(pod)
    return pod


def _add_shared_memory(pod: Object) -> None:
    """Mount memory at /dev/shm of the Ray container, as large as its memory, where none is."""
    container = pod["spec"]["containers"][0]
    if any(mount.get("mountPath") == "/dev/shm" for mount in podspec.mounts(container)):
        return
    size = podspec.requests(container).get("memory") or podspec.limits(container).get("memory")
    volume: Object = {"medium": "Memory", "sizeLimit": size} if size else {"medium": "Memory"}
    append_to(pod["spec"], "volumes", {"name": "shared-mem", "emptyDir": volume})
    append_to(container, "volumeMounts", {"name": "shared-mem", "mountPath": "/dev/shm"})


def expand_pod_clique_set(workload: Workload) -> Found:
    """Complete two pods of each clique of the first replica, and of its first scaling groups.

    Source: ai-dynamo/grove operator/api/common/namegen.go,
    operator/internal/controller/podclique/components/pod/pod.go.
    """
    copies, template = workload.spec.number("replicas"), workload.spec.node("template")
    cliques = {one.text("name"): one for one in template.nodes("cliques")}
    sizes = {name: clique.node("spec").number("replicas") for name, clique in cliques.items()}
    keys = ("podCliqueScalingGroups", "podCliqueScalingGroupConfigs")
    groups = [group for key in keys for group in template.nodes(key)]
    for name, clique in cliques.items():
        group = next((one for one in groups if name in one.words("cliqueNames")), Section({}))
        number = group.number("replicas")
        pods = sum(sizes.get(other, 0) for other in group.words("cliqueNames"))
        yield from workload.several(
            clique.node("spec"),
            _clique_pod(workload, clique, group.text("name"), pods),
            count=sizes[name] if number else 0,
            template=clique,
            copies=copies * number,
        )


def _clique_pod(
    workload: Workload, clique: Section, group: str, group_pods: int
) -> Callable[[int], Object]:
    """Return what makes pods of a clique in *group*, where a replica has *group_pods*."""
    name, replica = workload.name, f"{workload.name}-0"
    owner = f"{replica}-{group}" if group else name
    full_name = f"{owner}-0-{clique.text('name')}"
    group_label, index_label = GROVE + "podcliquescalinggroup", GROVE + "podclique-pod-index"
    labels = {
        PODCLIQUESET: name,
        GROVE + "podclique": full_name,
        GROVE + "podgang": replica,
        GROVE + "podcliqueset-replica-index": "0",
    }
    given: Env = {
        "GROVE_PCS_NAME": name,
        "GROVE_PCS_INDEX": "0",
        "GROVE_PCLQ_NAME": full_name,
        "GROVE_HEADLESS_SERVICE": f"{replica}.{workload.namespace}.svc.cluster.local",
        "GROVE_PCLQ_POD_INDEX": label_of_pod(index_label),
    }
    if group:
        labels |= {group_label: owner, group_label + "-replica-index": "0"}
        given["GROVE_PCSG_NAME"] = label_of_pod(group_label)
        given["GROVE_PCSG_TEMPLATE_NUM_PODS"] = str(group_pods)
        given["GROVE_PCSG_INDEX"] = label_of_pod(group_label + "-replica-index")
    metadata = {key: clique.node(key).value for key in ("labels", "annotations")}
    spec = clique.node("spec", "podSpec")

    def make(index: int) -> Object:
        pod = workload.pod(
            Section({"metadata": metadata, "spec": spec.value}, spec.path),
            generate_name=f"{full_name}-{index}-",
            owner=owner_reference("grove.io/v1alpha1", "PodClique", full_name),
            labels={**labels, index_label: str(index)},
            hostname=f"{full_name}-{index}",
            subdomain=replica,
        )
        prepend_env(all_containers(pod), given)
        return pod

    return make


def expand_storm_service(workload: Workload) -> Found:
    """Complete two pods of each role of the first RoleSet, or of the first PodSet of the role.

    Source: vllm-project/aibrix pkg/controller/roleset/{utils,podset_rollsyncer}.go,
    pkg/controller/podset/podset_controller.go.
    """
    spec, copies = workload.spec, workload.spec.number("replicas")
    for role in spec.node("template", "spec").nodes("roles"):
        replicas, size = role.number("replicas"), role.number("podGroupSize")
        count, sets = (size * min(replicas, 1), replicas) if size > 1 else (replicas, 1)
        make = _role_pod(workload, role, size)
        yield from workload.several(role, make, count=count, copies=copies * sets)


def _role_pod(workload: Workload, role: Section, size: int) -> Callable[[int], Object]:
    """Return what makes pods of the first PodSet, or of the role where *size* is 1."""
    service, name, has_index = workload.name, role.text("name"), role.flag("stateful")
    roleset, version = f"{service}-roleset-{UNKNOWN_SUFFIX}", "orchestration.aibrix.ai/v1alpha1"

    def make(index: int) -> Object:
        replica = 0 if size > 1 else index
        full_name = f"{roleset}-{name}-{UNKNOWN_SUFFIX}" + (f"-{replica}" if has_index else "")
        labels = {"storm-service-name": service, "roleset-name": roleset, "role-name": name}
        given = {"STORM_SERVICE_NAME": service, "ROLESET_NAME": roleset, "ROLESET_INDEX": "0"}
        given["ROLE_NAME"] = name
        owner, pod_name = ("RoleSet", roleset), full_name if has_index else ""
        if has_index:
            labels[STORM + "role-replica-index"] = given["ROLE_REPLICA_INDEX"] = str(replica)
        if size > 1:
            labels[STORM + "podset-name"] = given["PODSET_NAME"] = full_name
            labels[STORM + "pod-group-index"] = given["POD_GROUP_INDEX"] = str(index)
            given["POD_GROUP_SIZE"] = str(size)
            owner, pod_name = ("PodSet", full_name), f"{full_name}-{index}"
        pod = workload.pod(
            role.node("template"),
            pod_name,
            generate_name="" if pod_name else f"{roleset}-{name}-",
            owner=owner_reference(version, *owner),
            labels=labels,
            hostname=pod_name,
            subdomain=service,
        )
        prepend_env(pod["spec"]["containers"], given)
        return pod

    return make


def expand_app_wrapper(workload: Workload) -> Found:
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


def expand_unknown(workload: Workload) -> Found:
    """Complete one pod of each template in an object of a kind that no table knows.

    A template is ``{spec: {containers: […]}}``, or a ``podSpec`` that holds containers. An object
    inside it, as other wrappers hold them, is completed by its own kind.
    """
    for node, replicas in _below(workload.root.value, "", 1, is_root=True):
        if _is_object(node.value):
            yield from workload.expand(workload.part(node, replicas))
        else:
            pod = workload.pod(node, generate_name=f"{workload.name}-")
            yield workload.template(node, pod, replicas)


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


KINDS: Mapping[tuple[str, str], Expand] = {
    **{("kubeflow.org", kind): expand_kubeflow_job for kind in _TYPES},
    ("kubeflow.org", "MPIJob"): expand_mpi_job,
    ("batch.volcano.sh", "Job"): expand_volcano_job,
    **{("ray.io", kind): expand_ray for kind in ("RayCluster", "RayJob", "RayService")},
    ("orchestration.aibrix.ai", "RayClusterFleet"): expand_ray,
    ("orchestration.aibrix.ai", "RayClusterReplicaSet"): expand_ray,
    ("orchestration.aibrix.ai", "StormService"): expand_storm_service,
    ("grove.io", "PodCliqueSet"): expand_pod_clique_set,
    ("workload.codeflare.dev", "AppWrapper"): expand_app_wrapper,
    ("mcad.ibm.com", "AppWrapper"): expand_app_wrapper,
    **dict.fromkeys(_UNKNOWN_MAKERS, refuse),
}
