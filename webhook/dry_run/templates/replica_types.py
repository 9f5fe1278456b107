"""Complete the pods of operators with replica types: named ``<job>-<type>-<index>``, from a map of type to template.

Kubeflow's training operator v1, KubeDL and torch-on-k8s descend from the same code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.profiles.slips import did_you_mean
from webhook.core.workloads.systems import GROUP_NAME
from webhook.dry_run.templates.section import Section
from webhook.dry_run.templates.workload import Found, Ignored, Workload, shown_indices

_TYPES = {
    **dict.fromkeys(("PyTorchJob", "PaddleJob", "XGBoostJob", "TorchJob"), ("Master", "Worker")),
    "TFJob": ("Chief", "Evaluator", "Master", "PS", "Worker"),
    "JAXJob": ("Worker",),
    "MXJob": ("Scheduler", "Server", "Tuner", "TunerServer", "TunerTracker", "Worker"),
    "MPIJob": ("Launcher", "Worker"),
    "XDLJob": ("ExtendRole", "PS", "Scheduler", "Worker"),
    "MarsJob": ("Scheduler", "WebService", "Worker"),
    "ElasticDLJob": ("Master",),
}
"""The replica types of each kind. Others are refused by the training operator, and passed over by the other operators.

Source: kubeflow/trainer release-1.9 pkg/webhooks; kubedl-io/kubedl controllers/*/*_controller.go GetReconcileOrders.
"""
_ANY_KIND = "aimaster"
"""Of KubeDL and torch-on-k8s."""
_FIRST = ("aimaster", "launcher", "chief", "master", "scheduler", "ps", "server", "worker")


@dataclass(frozen=True, slots=True)
class Replicas:
    """Hold one replica type: *kind* in lower case, ``worker``."""

    kind: str
    count: int
    node: Section

    @property
    def template(self) -> Section:
        """Return the pod template."""
        return self.node.node("template")


def replica_types(
    workload: Workload, suffix: str = "replicaspecs", count_key: str = "replicas"
) -> list[Replicas]:
    """Return the replica types of the map whose key ends in *suffix*, ``pytorchReplicaSpecs``, the one that holds rank 0 first.

    Raises InputError for one that its operator does not know.
    """
    known = _TYPES[workload.kind]
    found = []
    for key in workload.spec.value:
        if key.lower().endswith(suffix):
            for name, node in workload.spec.named_nodes(key):
                if name.lower() not in (*map(str.lower, known), _ANY_KIND):
                    meant = did_you_mean(name, known)
                    remedy = (
                        f"did you mean {meant}?" if meant else f"write one of {', '.join(known)}"
                    )
                    raise InputError(
                        f"{node.path}: is not a replica type of {workload.kind}; {remedy}"
                    )
                found.append(Replicas(name.lower(), node.number(count_key, 1), node))
    return sorted(
        found,
        key=lambda replicas: (
            _FIRST.index(replicas.kind) if replicas.kind in _FIRST else len(_FIRST)
        ),
    )


def shown(
    workload: Workload, types: list[Replicas]
) -> Iterator[tuple[Replicas, int, int] | Ignored]:
    """Yield each type and index to show, and for how many pods it stands.

    That is the first pod of each type, and the second where there is one type only.
    """
    alone = sum(replicas.count > 0 for replicas in types) == 1
    for replicas in types:
        if replicas.count == 0:
            yield workload.ignore(replicas.node.path, "asks for 0 replicas: no pod is created")
        for index, like in shown_indices(replicas.count, alone=alone):
            yield replicas, index, like


def port_of(
    types: list[Replicas], kind: str, container: str, port: str, default: int = 23456
) -> str:
    """Return the number of the port named *port* of *container*, which operators read the rendezvous port from."""
    for replicas in types:
        if replicas.kind == kind:
            for node in replicas.template.node("spec").nodes("containers"):
                if node.text("name") == container:
                    for candidate in node.nodes("ports"):
                        if candidate.text("name") == port:
                            return str(candidate.number("containerPort", default))
    return str(default)


def set_restart_policy(pod: Object, replicas: Replicas, default: str) -> None:
    """Set the pod's restartPolicy from the replica type's; ``ExitCode``, which pods do not have, becomes ``Never``."""
    policy = replicas.node.text("restartPolicy", default)
    pod["spec"]["restartPolicy"] = "Never" if policy == "ExitCode" else policy


def expand_roles(
    workload: Workload,
    types: list[Replicas],
    group: str,
    word: str,
    role_label: str,
    finish: Callable[[Object, Replicas, int], None],
) -> Found:
    """Complete the first pod of each role as KubeDL and torch-on-k8s do; *finish* adds what only one of the two writes.

    *word* tells their labels apart, ``replica-type``; the master carries *role_label* too.
    """
    for found in shown(workload, types):
        if isinstance(found, Ignored):
            yield found
            continue
        replicas, index, like = found
        labels = {
            GROUP_NAME: group,
            "job-name": workload.name,
            f"{word}-type": replicas.kind,
            f"{word}-index": str(index),
        }
        is_master = replicas.kind == "master"
        if is_master:
            labels[role_label] = "master"
        name = f"{workload.name}-{replicas.kind}-{index}"
        pod = workload.pod(replicas.template, name=name, owner=workload.owner(), labels=labels)
        set_restart_policy(pod, replicas, "Never" if is_master else "OnFailure")
        finish(pod, replicas, index)
        yield workload.template(replicas.template, pod, like)
