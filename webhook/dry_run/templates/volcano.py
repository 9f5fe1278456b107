"""Complete the pods of Volcano Jobs, TorchX's among them.

Plugins run in random order; here pytorch comes first, then svc, then env.
Source: volcano pkg/controllers/job/job_controller_util.go, plugins/{svc,env,distributed-framework/pytorch},
pkg/webhooks/admission/jobs/mutate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from webhook.core.model import Object
from webhook.core.workloads import torchx
from webhook.core.workloads.systems import VOLCANO, VOLCANO_GROUP
from webhook.dry_run.templates.pod_parts import UID, all_containers, append_env, append_to, variable
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Workload, shown_indices

_NEED_SVC = frozenset(("pytorch", "tensorflow", "mpi", "ray"))


@dataclass(frozen=True, slots=True)
class _Task:
    name: str
    replicas: int
    node: Section
    template: Section

    @property
    def role(self) -> str:
        """Return TorchX' role, each replica of which is a task; empty for other jobs."""
        return self.template.node("metadata").node("labels").text(torchx.ROLE_INDEX)


@dataclass(frozen=True, slots=True)
class _Pytorch:
    """Hold the arguments of the pytorch plugin, and what follows from them for the job."""

    master: str
    worker: str
    port: str
    wait_image: str
    address: str
    world_size: int


def expand(workload: Workload) -> Found:
    """Complete the pods of a Volcano Job.

    Shown: of TorchX, which has a task for each replica, the first two replicas of each role; with the pytorch plugin the first pod
    of each task; else the first two of each.
    """
    plugins = _plugins(workload.spec)
    tasks = [_task(node, index) for index, node in enumerate(workload.spec.nodes("tasks"))]
    pytorch = _pytorch(workload, plugins, tasks)
    hosts = (
        _host_variables(workload.name, tasks)
        if "svc" in plugins and _injects_hosts(plugins["svc"])
        else []
    )
    replicas_of = Counter(task.role for task in tasks)
    shown_replicas: Counter[str] = Counter()
    for task in tasks:
        if task.replicas == 0:
            yield workload.ignore(task.node.at("replicas"), "is 0: no pod is created")
            continue
        shown_replicas[task.role] += 1
        if task.role and shown_replicas[task.role] > 2:
            continue
        unshown = replicas_of[task.role] - 2 if task.role and shown_replicas[task.role] == 2 else 0
        for index, like in shown_indices(task.replicas, alone=pytorch is None):
            pod = _pod(workload, task, index)
            if pytorch is not None:
                _run_pytorch(pod, pytorch, task.name, index)
            if "svc" in plugins:
                _run_svc(pod, workload.name, hosts)
            if "env" in plugins:
                indices = [
                    variable("VK_TASK_INDEX", str(index)),
                    variable("VC_TASK_INDEX", str(index)),
                ]
                append_env(all_containers(pod), indices)
            yield workload.template(task.template, pod, like + unshown)


def _plugins(spec: Section) -> dict[str, list[str]]:
    holder = spec.node("plugins")
    plugins = {name: holder.words(name) for name in holder.value}
    if not _NEED_SVC.isdisjoint(plugins):
        plugins.setdefault("svc", [])
    return plugins


def _task(node: Section, index: int) -> _Task:
    return _Task(
        node.text("name", f"default{index}"),
        node.number("replicas", 1),
        node,
        node.node("template"),
    )


def _argument(arguments: list[str], name: str, default: str) -> str:
    """Read a flag as Go's flag package does: ``--name=value``, ``-name value``."""
    for index, argument in enumerate(arguments):
        key, equals, value = argument.lstrip("-").partition("=")
        if key == name:
            return value if equals else next(iter(arguments[index + 1 :]), "true")
    return default


def _injects_hosts(arguments: list[str]) -> bool:
    return _argument(arguments, "inject-hosts-env", "true").lower() not in ("false", "f", "0")


def _pytorch(
    workload: Workload, plugins: Mapping[str, list[str]], tasks: list[_Task]
) -> _Pytorch | None:
    arguments = plugins.get("pytorch")
    if arguments is None:
        return None
    master, worker = (
        _argument(arguments, "master", "master"),
        _argument(arguments, "worker", "worker"),
    )
    task = next((task for task in tasks if task.name == master), None)
    if task is None:
        return None
    spec = task.template.node("spec")
    hostname = spec.text("hostname", f"{workload.name}-{master}-0")
    waits = _argument(arguments, "wait-master-enabled", "false").lower() in ("true", "t", "1")
    return _Pytorch(
        master,
        worker,
        _argument(arguments, "port", "23456"),
        _argument(arguments, "wait-master-image", "busybox:1.36.1") if waits else "",
        f"{hostname}.{spec.text('subdomain', workload.name)}",
        sum(task.replicas for task in tasks if task.name in (master, worker)),
    )


def _pod(workload: Workload, task: _Task, index: int) -> Object:
    job, queue, spec = workload.name, workload.spec.text("queue", "default"), workload.spec
    shared = {
        VOLCANO + "task-index": str(index),
        VOLCANO + "task-spec": task.name,
        VOLCANO + "job-name": job,
        VOLCANO + "queue-name": queue,
    }
    pod = workload.pod(
        task.template,
        name=f"{job}-{task.name}-{index}",
        owner=workload.owner(),
        labels={**shared, VOLCANO + "job-namespace": workload.namespace},
        annotations={
            **shared,
            VOLCANO_GROUP: f"{job}-{UID}",
            VOLCANO + "job-version": "0",
            VOLCANO + "job-retry-count": "0",
            VOLCANO + "template-uid": f"{job}-{task.name}",
        },
    )
    if not pod["spec"].get("schedulerName"):
        pod["spec"]["schedulerName"] = spec.text("schedulerName", "volcano")
    if not pod["spec"].get("priorityClassName") and spec.has("priorityClassName"):
        pod["spec"]["priorityClassName"] = spec.text("priorityClassName")
    return pod


def _run_pytorch(pod: Object, plugin: _Pytorch, task: str, index: int) -> None:
    entries = [
        variable("MASTER_ADDR", plugin.address),
        variable("MASTER_PORT", plugin.port),
        variable("WORLD_SIZE", str(plugin.world_size)),
    ]
    if task == plugin.worker:
        entries.append(variable("RANK", str(index + 1)))
        if plugin.wait_image:
            script = f"until nc -z {plugin.address} {plugin.port}; do sleep 2; done"
            waiter = {
                "name": "wait-for-master",
                "image": plugin.wait_image,
                "command": ["sh", "-c", script],
            }
            append_to(pod["spec"], "initContainers", waiter)
    elif task == plugin.master:
        entries.append(variable("RANK", "0"))
    append_env(pod["spec"]["containers"], entries)


def _host_variables(job: str, tasks: list[_Task]) -> list[Object]:
    names = [
        f"VC_{task.name.replace('-', '_').upper()}_{suffix}"
        for task in tasks
        for suffix in ("HOSTS", "NUM")
    ]
    return [
        {"name": name, "valueFrom": {"configMapKeyRef": {"name": f"{job}-svc", "key": name}}}
        for name in names
    ]


def _run_svc(pod: Object, job: str, hosts: list[Object]) -> None:
    spec = pod["spec"]
    if not spec.get("hostname"):
        spec["hostname"] = pod["metadata"]["name"]
    if not spec.get("subdomain"):
        spec["subdomain"] = job
    append_env(all_containers(pod), hosts)
    append_to(spec, "volumes", {"name": f"{job}-svc", "configMap": {"name": f"{job}-svc"}})
    for container in all_containers(pod):
        append_to(container, "volumeMounts", {"name": f"{job}-svc", "mountPath": "/etc/volcano"})


KINDS: Mapping[tuple[str, str], Expand] = {("batch.volcano.sh", "Job"): expand}
