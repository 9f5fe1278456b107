"""Find out how the members of a job meet, from what all of them share: never from the text of a command."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal

from webhook.core import podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.job_key import job_key
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import RendezvousAddress, find_addresses
from webhook.core.workloads.endpoint import first_label, is_local
from webhook.core.workloads.launchers import serves_ssh, shows_torch_launcher
from webhook.core.workloads.marks import find_mark, shows_member
from webhook.core.workloads.training_pod import NotTraining, Rendezvous, TrainingPod


def describe_training_pod(
    pod: Object,
    *,
    system: str,
    name: str,
    job_id: str,
    attempt: str = "",
    container: str | None = None,
    rank_zero: str | None = None,
    is_rank_zero: bool = False,
    is_candidate: bool = False,
    belongs: Callable[[str], bool],
    addresses: list[RendezvousAddress] | None = None,
    by_operator: bool = False,
    kind: str = "",
    is_alone: bool = False,
    names_own_pods: bool = False,
) -> TrainingPod | NotTraining:
    """Describe a member of a job.

    Rank 0 is the pod that the deciding variable names; the pod itself where that is ``localhost`` and the system calls it rank 0;
    else *rank_zero*, the system's rule. *is_candidate*: the pod is the first of its role, and rank 0 if another pod says so.
    *kind*: a general-purpose workload, ``JobSet ddp``, of which only pods that show training count. *name*: the job's, for people.
    *belongs* tells whether a pod name is one of this job's, so that a user's own address of something else is left alone.
    *names_own_pods*: databases, too, tell their pods the name of the first one, so that it is no mark of training.
    """
    found = find_addresses(pod) if addresses is None else addresses
    if kind and (why := _why_not_training(pod, found, belongs, names_own_pods=names_own_pods)):
        return NotTraining(Reason.NOT_TRAINING, f"this pod of {kind} {why}", system)
    if is_alone or is_single_node(pod):
        message = "the job runs on one node: its ranks need no network to meet"
        return TrainingPod(system, container, None, Reason.SINGLE_NODE, message)
    own = podspec.own_names(pod)
    zero, is_master, is_certain = rank_zero, is_rank_zero, True
    if found:
        host = found[0].host
        label = first_label(host)
        if is_local(host):
            if not (is_rank_zero or is_candidate):
                message = f"{found[0].source} is {host}: the pod is a process group of its own"
                return TrainingPod(system, container, None, Reason.SINGLE_NODE, message)
            zero, is_master, is_certain = podspec.own_name(pod) or rank_zero, True, is_rank_zero
            if (
                not is_certain
            ):  # one variable says localhost and another a name: both stay as they are
                found = []
        elif label in own or belongs(label):
            zero, is_master = label, label in own
        elif (
            is_rank_zero or is_candidate
        ):  # others may follow this pod, whatever its own template says
            found, by_operator = [], False
            zero, is_master, is_certain = podspec.own_name(pod), True, False
        else:
            message = f"{found[0].source} names {host}, which is not a pod of this job: the user's own address is kept"
            return TrainingPod(system, container, None, Reason.USER_VALUE, message)
    elif zero is None and (is_rank_zero or is_candidate):
        zero, is_master, is_certain = podspec.own_name(pod), True, is_rank_zero
    if not zero:
        message = "no variable names the job's rank 0: the job meets on the pod network and trains on the secondary one"
        return TrainingPod(system, container, None, Reason.NO_MASTER, message)
    calls_itself_local = is_master and is_certain
    hosts = frozenset(
        one.host
        for one in found
        if first_label(one.host) == zero or (calls_itself_local and is_local(one.host))
    )
    role: Literal["master", "worker"] = "master" if is_master else "worker"
    key = job_key(name, system, job_id, attempt, zero)
    return TrainingPod(
        system, container, Rendezvous(key, role, zero, hosts, by_operator, is_certain)
    )


def _why_not_training(
    pod: Object,
    addresses: list[RendezvousAddress],
    belongs: Callable[[str], bool],
    *,
    names_own_pods: bool,
) -> str:
    """Say why a pod of a general-purpose workload is not a training pod; empty where it is one.

    With an accelerator of its own it trains where any container shows that it is one of several nodes; without one only where a
    variable names a pod of the job and a torch launcher is started.
    """
    containers = podspec.containers(pod)
    if find_pod_accelerator(pod):
        if any(find_mark(one) or serves_ssh(one) for one in containers):
            return ""
        if any(belongs(first_label(one.host)) for one in addresses):
            return ""
        if not names_own_pods and any(shows_member(one, belongs) for one in containers):
            return ""
        return "asks for an accelerator, but shows no launcher and no variable that says where ranks meet"
    if not any(map(shows_torch_launcher, containers)):
        return "asks for no accelerator and starts no torch launcher"
    for host in (one.host for one in addresses[:1]):
        label = first_label(host)
        if is_local(host) or label in podspec.own_names(pod) or belongs(label):
            return ""
    return "asks for no accelerator, and no variable names a pod of the job as rank 0"


def is_single_node(pod: Object) -> bool:
    """Tell a job of one node by what all its members are told: PET_NNODES, then WORLD_SIZE, then PET_STANDALONE."""
    told: dict[str, list[str]] = {"PET_NNODES": [], "WORLD_SIZE": [], "PET_STANDALONE": []}
    for container in podspec.containers(pod):
        # Of entries of one name the last counts.
        values = {entry["name"]: entry for entry in podspec.env(container) if entry["name"] in told}
        for name, entry in values.items():
            if not entry.get("valueFrom") and (value := entry.get("value")):
                told[name].append(value)
    for name, single in (("PET_NNODES", ("1", "1:1")), ("WORLD_SIZE", ("1",))):
        if told[name]:
            return all(value in single for value in told[name])
    return any(
        len(value) > len("false") or value.lower() not in ("0", "false")
        for value in told["PET_STANDALONE"]
    )


def numbered(prefix: str, between: str = "") -> Callable[[str], bool]:
    """Return a test for a job's own pod names, ``<prefix>-<number>``; *between* is a pattern for what stands before the number."""
    pattern = re.compile(re.escape(prefix) + "-" + between + r"[0-9]+\Z")

    def belongs(name: str) -> bool:
        return pattern.match(name) is not None

    return belongs
