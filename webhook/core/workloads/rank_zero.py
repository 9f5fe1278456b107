"""Decide who rank 0 is, from the address that the pod itself uses or, where that is hidden, from the system's rule."""

from __future__ import annotations

import re
from collections.abc import Callable

from webhook.core import podspec
from webhook.core.job_key import job_key
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import RendezvousAddress, find_addresses
from webhook.core.workloads.arguments import command_text, is_single_node, uses_etcd
from webhook.core.workloads.endpoint import first_label, is_local
from webhook.core.workloads.training_pod import Rendezvous, TrainingPod

_LEADERS = frozenset(("master", "leader", "launcher", "head", "chief", "coordinator"))


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
    belongs: Callable[[str], bool],
    addresses: list[RendezvousAddress] | None = None,
    kept_on_master: frozenset[str] = frozenset(),
) -> TrainingPod:
    """Describe a pod of a job whose pods carry the address of rank 0.

    Precedence of rank 0's name: the first DNS label of the address that decides; the pod's own name where that is ``localhost`` and
    the system calls the pod rank 0; *rank_zero*, the system's rule, where the address is hidden. *name*: the job's, for people.
    *belongs* tells whether a pod name is one of this job's, so that a user's own address of something else is left alone.
    """
    text = command_text(pod)
    if is_single_node(pod, text):
        message = "the job runs on one node: its ranks need no network to meet"
        return TrainingPod(system, container, None, Reason.SINGLE_NODE, message)
    if uses_etcd(pod, text):
        return TrainingPod(system, container, None, Reason.NO_MASTER, "the job meets at an etcd server, not at rank 0")
    own = podspec.own_names(pod)
    found = find_addresses(pod) if addresses is None else addresses
    zero, role_known = rank_zero, is_rank_zero
    if found:
        host = found[0].host
        label = first_label(host)
        if is_local(host):
            if not is_rank_zero:
                message = f"{found[0].source} is {host}: the pod is a process group of its own"
                return TrainingPod(system, container, None, Reason.SINGLE_NODE, message)
            zero = podspec.own_name(pod) or rank_zero
        elif label in own or belongs(label):
            zero, role_known = label, label in own
        else:
            message = f"{found[0].source} names {host}, which is not a pod of this job: the user's own address is kept"
            return TrainingPod(system, container, None, Reason.USER_VALUE, message)
    if zero is None:
        return TrainingPod(system, container, None, Reason.NO_MASTER, "no variable or argument names the job's rank 0")
    hosts = frozenset(
        address.host
        for address in found
        if first_label(address.host) == zero or (role_known and is_local(address.host))
    )
    rendezvous = Rendezvous(
        job=job_key(name, system, job_id, attempt, zero),
        role="master" if role_known else "worker",
        rank_zero=zero,
        hosts=hosts,
        kept_on_master=kept_on_master,
    )
    return TrainingPod(system, container, rendezvous)


def names_rank_zero(
    pod: Object, addresses: list[RendezvousAddress], belongs: Callable[[str], bool], *, is_rank_zero: bool = False
) -> bool:
    """Tell whether the address that decides names a pod of this job: what makes a general-purpose workload a training job.

    *is_rank_zero*: the system's own rule; such a pod may call itself ``localhost`` while its peers name it.
    """
    if not addresses:
        return False
    host = addresses[0].host
    label = first_label(host)
    return label in podspec.own_names(pod) or belongs(label) or (is_rank_zero and is_local(host))


def leads(role: str, *indexes: str | None) -> bool:
    """Tell whether a pod is rank 0 by its template: the first pod of one that is named as leaders are, such as ``master``."""
    return role.lower() in _LEADERS and all(index == "0" for index in indexes)


def numbered(prefix: str, between: str = "") -> Callable[[str], bool]:
    """Return a test for a job's own pod names, ``<prefix>-<number>``; *between* is a pattern for what stands before the number."""
    pattern = re.compile(re.escape(prefix) + "-" + between + r"[0-9]+\Z")

    def belongs(name: str) -> bool:
        return pattern.match(name) is not None

    return belongs
