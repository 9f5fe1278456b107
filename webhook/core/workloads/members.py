"""Find out how the members of a job meet, from what all of them share: never from a command."""

from dataclasses import replace
from typing import Literal

from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator, may_have_accelerator
from webhook.core.job_key import job_key
from webhook.core.model import Object, Reason
from webhook.core.workloads.addresses import RendezvousAddress, Variables, find_addresses
from webhook.core.workloads.endpoint import first_label, host_of, is_local
from webhook.core.workloads.launchers import serves_ssh, shows_torch_launcher
from webhook.core.workloads.nodes import (
    Nodes,
    find_mark,
    is_single_node,
    shows_member,
    stays_on_one_node,
)
from webhook.core.workloads.training_pod import Job, NotTraining, Rendezvous, TrainingPod

_ONE_NODE = "the job runs on one node: its ranks need no network to meet"


def describe(pod: Object, job: Job) -> TrainingPod | NotTraining:
    """Describe a member of a job.

    Rank 0 is the pod that the deciding variable names. Where that is ``localhost``, it is the pod
    itself if the system calls it rank 0; else the system's rule decides.
    """
    if job.nodes is Nodes.ONE:
        return NotTraining(Reason.SINGLE_NODE, _ONE_NODE, job.system)
    addresses = find_addresses(pod)
    found = _leave(pod, job, addresses) or _meets_at(pod, job, addresses)
    if job.unsized and find_pod_accelerator(pod):
        found.warning = (
            f"no pod of {job.kind} shows the size of its job ({job.unsized}): its own text "
            "decides, and pods of another template may be decided otherwise; if they train "
            f"together, label all of them {names.PROFILE}, or all {names.PROFILE}="
            f"{names.PROFILE_NONE}"
        )
    return found


def _leave(pod: Object, job: Job, addresses: list[RendezvousAddress]) -> NotTraining | None:
    """Skip a pod that does not train on several nodes; a shared fact outweighs its text."""
    is_counted = job.nodes is Nodes.SEVERAL and may_have_accelerator(pod)
    if job.kind and not is_counted and (why := _why_not_training(pod, job, addresses)):
        return NotTraining(Reason.NOT_TRAINING, f"this pod of {job.kind} {why}", job.system)
    if job.nodes is Nodes.TEXT and stays_on_one_node(pod):
        return NotTraining(Reason.SINGLE_NODE, _ONE_NODE, job.system)
    return None


def _meets_at(pod: Object, job: Job, addresses: list[RendezvousAddress]) -> TrainingPod:
    """Describe a member: the first variable that names a host decides, else the system's rule."""
    if job.nodes is Nodes.MARKS and is_single_node(pod):
        return _meets_nobody(job, Reason.SINGLE_NODE, _ONE_NODE)
    leads = job.is_rank_zero or job.is_candidate
    if not addresses:
        if job.rank_zero:
            return _member(job, job.rank_zero, [], is_master=job.is_rank_zero)
        own = podspec.own_name(pod) if leads else ""
        return _member(job, own, [], is_master=True, is_certain=job.is_rank_zero)
    source, host = addresses[0]
    own_names = podspec.own_names(pod)
    label = first_label(host)
    if is_local(host) and leads:  # of a candidate, one variable says localhost and another a name
        own, own_hosts = podspec.own_name(pod) or job.rank_zero, addresses * job.is_rank_zero
        return _member(job, own, own_hosts, is_master=True, is_certain=job.is_rank_zero)
    if is_local(host):
        reason = Reason.USER_VALUE if job.nodes is Nodes.SEVERAL else Reason.SINGLE_NODE
        message = f"{source} is the pod's own address: the pod is a process group of its own"
        return _meets_nobody(job, reason, message)
    if label in own_names or _names_member(job, host):
        return _member(job, label, addresses, is_master=label in own_names)
    if leads:  # others may follow this pod, whatever its own template says
        own_job = replace(job, by_operator=False)
        return _member(own_job, podspec.own_name(pod), [], is_master=True, is_certain=False)
    message = (
        f"{source} names {host}, which is not a pod of this job: the user's own address is kept"
    )
    return _meets_nobody(job, Reason.USER_VALUE, message)


def _meets_nobody(job: Job, reason: Reason, message: str) -> TrainingPod:
    return TrainingPod(job.system, job.container, None, reason, message)


def _member(
    job: Job,
    rank_zero: str,
    addresses: list[RendezvousAddress],
    *,
    is_master: bool,
    is_certain: bool = True,
) -> TrainingPod:
    if not rank_zero:
        message = (
            "no variable names the job's rank 0: the job meets on the pod network and trains on "
            "the secondary one"
        )
        return _meets_nobody(job, Reason.NO_MASTER, message)
    hosts = frozenset(
        host
        for _, host in addresses
        if first_label(host) == rank_zero or (is_master and is_certain and is_local(host))
    )
    role: Literal["master", "worker"] = "master" if is_master else "worker"
    key = job_key(job.name, job.system, job.id, job.attempt, rank_zero)
    meets = Rendezvous(key, role, rank_zero, hosts, job.by_operator, is_certain)
    return TrainingPod(job.system, job.container, meets)


def _names_member(job: Job, host: str) -> bool:
    """Tell whether a host name is that of a pod of the job, or stands below the job's Service."""
    label, _, domain = host.partition(".")
    return job.belongs(label) or (bool(job.service) and domain.partition(".")[0] == job.service)


def _takes_rank_zero(pod: Object, container: Object, job: Job) -> bool:
    """Tell whether a variable of any name holds the pod that leads, as a JobSet's coordinator."""
    variables = Variables(pod, container)
    held = (host_of(variables.text(entry)) for entry in podspec.env(container))
    return job.rank_zero in map(first_label, held)


def _why_not_training(pod: Object, job: Job, addresses: list[RendezvousAddress]) -> str:
    """Say why a pod of a general-purpose workload is not a training pod; empty where it is one.

    With an accelerator of its own it trains where any container shows that it is one of several
    nodes. Without one a variable must name a pod of the job, and a torch launcher start.
    """
    containers = podspec.containers(pod)
    if find_pod_accelerator(pod):
        if (
            any(find_mark(one) or serves_ssh(one) for one in containers)
            or any(_names_member(job, host) for _, host in addresses)
            or (job.rank_zero and any(_takes_rank_zero(pod, one, job) for one in containers))
            or (
                not job.names_own_pods and any(shows_member(one, job.belongs) for one in containers)
            )
        ):
            return ""
        return (
            "asks for an accelerator, but shows no launcher and no variable that says where ranks "
            "meet"
        )
    if not any(map(shows_torch_launcher, containers)):
        return "asks for no accelerator and starts no torch launcher"
    host = addresses[0].host if addresses else ""
    own_names = podspec.own_names(pod)
    if host and (is_local(host) or first_label(host) in own_names or _names_member(job, host)):
        return ""
    return "asks for no accelerator, and no variable names a pod of the job as rank 0"
