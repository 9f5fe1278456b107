"""Complete the pods of MPIJobs: of the mpi-operator (v2beta1) and of the training operator v1.

Source: kubeflow/mpi-operator pkg/controller/mpi_job_controller.go; kubeflow/trainer release-1.9 pkg/controller.v1/mpi.
"""

from __future__ import annotations

from collections.abc import Mapping

from webhook.core.model import Object
from webhook.core.workloads.systems import KUBEFLOW
from webhook.dry_run.templates.builtin import job_pod
from webhook.dry_run.templates.pod_parts import append_env, append_to, variable
from webhook.dry_run.templates.replica_types import Replicas, replica_types, set_restart_policy
from webhook.dry_run.templates.workload import Expand, Found, Workload, shown_indices


def expand(workload: Workload) -> Found:
    """Complete the launcher and the first two workers of an MPIJob."""
    is_v1 = workload.root.text("apiVersion").endswith("/v1")
    for replicas in replica_types(workload):
        if replicas.count == 0:
            yield workload.ignore(replicas.node.path, "asks for 0 replicas: no pod is created")
        elif replicas.kind == "launcher":
            pod = _launcher_v1(workload, replicas) if is_v1 else _launcher(workload, replicas)
            yield workload.template(replicas.template, pod)
        else:
            for index, like in shown_indices(replicas.count):
                yield workload.template(
                    replicas.template, _worker(workload, replicas, index, is_v1=is_v1), like
                )


def _worker(workload: Workload, replicas: Replicas, index: int, *, is_v1: bool) -> Object:
    name = f"{workload.name}-worker-{index}"
    if is_v1:
        labels = {
            **_labels(workload, "mpijob-controller"),
            KUBEFLOW + "replica-type": replicas.kind,
        }
    else:
        labels = {**_labels(workload, "mpi-operator"), KUBEFLOW + "job-role": "worker"}
    shift = int(not is_v1 and workload.spec.flag("runLauncherAsWorker"))
    labels[KUBEFLOW + "replica-index"] = str(index + shift)
    pod = workload.pod(replicas.template, name=name, owner=workload.owner(), labels=labels)
    set_restart_policy(pod, replicas, "Never")
    if is_v1:
        return pod
    pod["spec"] |= {"hostname": name, "subdomain": workload.name}
    append_env(pod["spec"]["containers"][:1], [variable("K_MPI_JOB_ROLE", "worker")])
    first = pod["spec"]["containers"][0]
    if not first.get("command") and not first.get("args"):
        first["command"] = ["/usr/sbin/sshd", "-De"]
    return pod


def _launcher(workload: Workload, replicas: Replicas) -> Object:
    labels = {**_labels(workload, "mpi-operator"), KUBEFLOW + "job-role": "launcher"}
    if workload.spec.flag("runLauncherAsWorker"):
        labels[KUBEFLOW + "replica-index"] = "0"
    pod = job_pod(workload, replicas.template, f"{workload.name}-launcher", None, labels)
    pod["spec"] |= {"hostname": f"{workload.name}-launcher", "subdomain": workload.name}
    append_env(
        pod["spec"]["containers"][:1],
        [
            variable("K_MPI_JOB_ROLE", "launcher"),
            variable("OMPI_MCA_orte_default_hostfile", "/etc/mpi/hostfile"),
        ],
    )
    set_restart_policy(pod, replicas, "Never")
    return pod


def _launcher_v1(workload: Workload, replicas: Replicas) -> Object:
    labels = {
        **_labels(workload, "mpijob-controller"),
        KUBEFLOW + "replica-type": replicas.kind,
        KUBEFLOW + "job-role": "master",
    }
    pod = workload.pod(
        replicas.template, name=f"{workload.name}-launcher", owner=workload.owner(), labels=labels
    )
    append_to(
        pod["spec"],
        "initContainers",
        {"name": "kubectl-delivery", "image": "mpioperator/kubectl-delivery:latest"},
    )
    set_restart_policy(pod, replicas, "Never")
    return pod


def _labels(workload: Workload, operator: str) -> dict[str, str]:
    return {KUBEFLOW + "job-name": workload.name, KUBEFLOW + "operator-name": operator}


KINDS: Mapping[tuple[str, str], Expand] = {("kubeflow.org", "MPIJob"): expand}
