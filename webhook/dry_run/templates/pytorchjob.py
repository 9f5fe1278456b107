"""Complete the pods of Kubeflow's training operator v1: PyTorchJob, and the labels of its other jobs.

Source: kubeflow/trainer release-1.9 pkg/controller.v1/common/pod.go, pytorch/{envvar,master,elastic,initcontainer}.go.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import KUBEFLOW
from webhook.dry_run.templates.pod_parts import append_env, append_to, variable
from webhook.dry_run.templates.replica_types import (
    Replicas,
    port_of,
    replica_types,
    set_restart_policy,
    shown,
)
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Expand, Found, Ignored, Workload

_WAIT = "err=1;for i in $(seq 100); do if nslookup {master}; then err=0 && break; fi;echo waiting for master; sleep 2; done; exit $err"


def expand_pytorch_job(workload: Workload) -> Found:
    """Complete the pods of a PyTorchJob: master and first worker, or the first two workers of an elastic one."""
    types = replica_types(workload)
    has_master = any(replicas.kind == "master" for replicas in types)
    master = f"{workload.name}-master-0"
    for found in shown(workload, types):
        if isinstance(found, Ignored):
            yield found
            continue
        replicas, index, like = found
        pod = _pod(workload, replicas, index, types)
        if has_master and replicas.kind == "worker":
            append_to(pod["spec"], "initContainers", _init_container(master))
        entries = [variable("PYTHONUNBUFFERED", "1")]
        if has_master:
            entries += _master_variables(
                workload.spec, types, master, index + (replicas.kind == "worker")
            )
        if workload.spec.has("elasticPolicy"):
            entries += _elastic_variables(workload, types)
        append_env(pod["spec"]["containers"], entries)
        yield workload.template(replicas.template, pod, like)


def expand_job(workload: Workload) -> Found:
    """Complete the pods of a TFJob, JAXJob, XGBoostJob, PaddleJob or MXJob, which form no torch process group."""
    types = replica_types(workload)
    for found in shown(workload, types):
        if isinstance(found, Ignored):
            yield found
        else:
            replicas, index, like = found
            yield workload.template(replicas.template, _pod(workload, replicas, index, types), like)


def _pod(workload: Workload, replicas: Replicas, index: int, types: list[Replicas]) -> Object:
    labels = {
        KUBEFLOW + "job-name": workload.name,
        KUBEFLOW + "operator-name": f"{workload.kind.lower()}-controller",
        KUBEFLOW + "replica-index": str(index),
        KUBEFLOW + "replica-type": replicas.kind,
    }
    leaders = [other.kind for other in types if other.kind in ("master", "chief")] or ["worker"]
    if replicas.kind in leaders and (replicas.kind != "worker" or index == 0):
        labels[KUBEFLOW + "job-role"] = "master"
    pod = workload.pod(
        replicas.template,
        name=f"{workload.name}-{replicas.kind}-{index}",
        owner=workload.owner(),
        labels=labels,
    )
    set_restart_policy(pod, replicas, "OnFailure" if workload.kind == "PyTorchJob" else "Never")
    return pod


def _processes(spec: Section) -> str:
    elastic = spec.node("elasticPolicy")
    for holder, key in ((spec, "nprocPerNode"), (elastic, "nProcPerNode")):
        if holder.has(key):
            return str(holder.value[key])
    return "auto"


def _master_variables(spec: Section, types: list[Replicas], master: str, rank: int) -> list[Object]:
    port = port_of(types, "master", "pytorch", "pytorchjob-port")
    nodes, processes = sum(replicas.count for replicas in types), _processes(spec)
    entries = [
        variable("MASTER_PORT", port),
        variable("PET_MASTER_PORT", port),
        variable("MASTER_ADDR", master),
        variable("PET_MASTER_ADDR", master),
        variable(
            "WORLD_SIZE",
            str(nodes * int(processes) if processes.isascii() and processes.isdigit() else nodes),
        ),
        variable("RANK", str(rank)),
        variable("PET_NODE_RANK", str(rank)),
    ]
    if not spec.has("elasticPolicy"):
        entries += [variable("PET_NPROC_PER_NODE", processes), variable("PET_NNODES", str(nodes))]
    return entries


def _elastic_variables(workload: Workload, types: list[Replicas]) -> list[Object]:
    policy = workload.spec.node("elasticPolicy")
    host = policy.text("rdzvHost", f"{workload.name}-worker-0")
    port = policy.number("rdzvPort", int(port_of(types, "worker", "pytorch", "pytorchjob-port")))
    workers = sum(replicas.count for replicas in types if replicas.kind == "worker")
    if policy.has("minReplicas") or policy.has("maxReplicas"):
        nodes = f"{policy.number('minReplicas', workers)}:{policy.number('maxReplicas', workers)}"
    else:
        nodes = str(workers)
    entries = [
        variable("PET_RDZV_ENDPOINT", f"{host}:{port}"),
        variable("PET_RDZV_BACKEND", policy.text("rdzvBackend", "c10d")),
        variable("PET_NNODES", nodes),
        variable("PET_NPROC_PER_NODE", _processes(workload.spec)),
    ]
    if policy.has("maxRestarts"):
        entries.append(variable("PET_MAX_RESTARTS", str(policy.number("maxRestarts", 0))))
    if policy.has("rdzvId"):
        entries.append(variable("PET_RDZV_ID", policy.text("rdzvId")))
    if pairs := policy.nodes("rdzvConf"):
        settings = ",".join(f"{pair.text('key')}={pair.text('value')}" for pair in pairs)
        entries.append(variable("PET_RDZV_CONF", settings))
    if policy.flag("standalone"):
        entries.append(variable("PET_STANDALONE", ""))
    return entries


def _init_container(master: str) -> Object:
    return {
        "name": "init-pytorch",
        "image": "alpine:3.10",
        "command": ["sh", "-c", _WAIT.replace("{master}", master)],
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
    }


KINDS: Mapping[tuple[str, str], Expand] = {
    ("kubeflow.org", "PyTorchJob"): expand_pytorch_job,
    **{
        ("kubeflow.org", kind): expand_job
        for kind in ("TFJob", "JAXJob", "XGBoostJob", "PaddleJob", "MXJob")
    },
}
