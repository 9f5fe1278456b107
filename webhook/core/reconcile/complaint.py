"""Say what a person must know about a pod that waits in vain."""

from __future__ import annotations

from datetime import datetime
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.reconcile.member import Member
from webhook.core.workloads import SIBLING_LABELS, TrainingPod, recognise

NO_ADDRESS = "NoSecondaryAddress"
SEE_CHECK = "see fabric-injector check, which tells whether the webhook is called; then restart the job"
BOUND_SECONDS = 60.0
"""How long a pod may be on its node without a secondary address before that is a fault."""


class Complaint(NamedTuple):
    """Hold an Event: *reason* in one word, *message* with what to do."""

    reason: str
    message: str


def about_status(member: Member) -> Complaint | None:
    """Complain of what a pod's network-status says, where only a person can mend it."""
    secondary = member.secondary
    if secondary.problem:
        return Complaint(
            "NetworkStatusUnusable",
            f"annotation {names.NETWORK_STATUS}: {member.wanted}: {secondary.problem}; no address of this pod can be published to "
            f"job {member.job}: look at the network's IPAM and at Multus' log",
        )
    if secondary.interface:
        return Complaint(
            "UnexpectedInterface",
            f"annotation {names.NETWORK_STATUS} has {member.wanted} on interface {secondary.interface}: its address is published, but "
            "NCCL_SOCKET_IFNAME and GLOO_SOCKET_IFNAME name the other interface: is multus.defaultNetworks in the profiles file "
            "as this cluster's Multus has it?",
        )
    return None


def about_address(member: Member, pod: Object, now: datetime) -> Complaint | float | None:
    """Complain of a pod that has been on its node for a minute without a secondary address.

    *pod*: the whole pod, as it is now. Returns the seconds after which to look again where it is too early; None for a pod that
    is not at fault: gone, finished, or not bound to a node, as gang-queued ones are.
    """
    seconds = _seconds_bound(pod, now)
    if seconds is None or (pod.get("metadata") or {}).get("uid") != member.uid:
        return None
    if seconds < BOUND_SECONDS:
        return BOUND_SECONDS - seconds
    node = pod["spec"]["nodeName"]
    told = f"lists no network {member.wanted}" if member.reported else "is missing"
    return Complaint(
        NO_ADDRESS,
        f"the pod has been on node {node} for {seconds:.0f} s and annotation {names.NETWORK_STATUS} {told}; job {member.job} waits for "
        f"its address: look at the pod's sandbox Events, at Multus and the CNI plugin on {node}, and at the network's IPAM",
    )


def about_rank_zero(member: Member, pod: Object, siblings: list[Object], now: datetime) -> Complaint | float | None:
    """Complain of a rank 0 that was not injected, so that nobody will publish its address.

    *siblings*: whole pods of the namespace that may be of the same job. Returns as `about_address` does.
    """
    seconds = _seconds_bound(pod, now)
    if seconds is None:
        return None
    if seconds < BOUND_SECONDS:
        return BOUND_SECONDS - seconds
    for sibling in siblings:
        if podspec.labels(sibling).get(names.JOB) or podspec.is_ending(sibling):
            continue
        training_pod = recognise(sibling)
        rendezvous = training_pod.rendezvous if isinstance(training_pod, TrainingPod) else None
        if rendezvous is not None and rendezvous.role == "master" and rendezvous.job == member.job:
            why, then = _why_not_injected(sibling, member.created)
            return Complaint(
                "RankZeroNotInjected",
                f"rank 0 of job {member.job}, pod {podspec.display_name(sibling)}, {why}, so that its address cannot be published: "
                f"{then}",
            )
    return None


def _why_not_injected(rank_zero: Object, since: str) -> tuple[str, str]:
    """Say why a live rank 0 carries no job label, as far as the pod tells, and what to do.

    *since*: when a pod of its job was created that is injected. A rank 0 that was denied does not exist, and is not looked at here.
    """
    if podspec.labels(rank_zero).get(names.PROFILE) == names.PROFILE_NONE:
        return f"carries label {names.PROFILE}: {names.PROFILE_NONE}", "give all pods of the job that label, or none"
    if names.STATUS in podspec.annotations(rank_zero):
        why = f"was injected without a rendezvous, as its annotation {names.STATUS} tells"
        return why, "give it the profile and the network of the job's other pods, then restart the job"
    created = str((rank_zero.get("metadata") or {}).get("creationTimestamp") or "")
    return why_uncalled(created, since)


def why_uncalled(created: str, injected_since: str) -> tuple[str, str]:
    """Say why a pod was created without injection, and what to do; *injected_since*: when an injected one of its job was, or empty."""
    if "" < injected_since < created:
        why = "was created without injection while older pods of the job were injected: the webhook was not called, or only observed"
        return why, SEE_CHECK
    why = "was created without injection, before its namespace was labelled or while the webhook was not called"
    return why, "restart the job"


def sibling_selector(pod: Object) -> str:
    """Return a label selector for the pods of the same job; empty where the pod carries no label that tells."""
    labels = podspec.labels(pod)
    for key in SIBLING_LABELS:
        if value := labels.get(key):
            return f"{key}={value}"
    return ""


def _seconds_bound(pod: Object, now: datetime) -> float | None:
    """Return for how long a live pod has been bound to a node; None where it is not."""
    if podspec.is_ending(pod) or not (pod.get("spec") or {}).get("nodeName"):
        return None
    for condition in (pod.get("status") or {}).get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            since = condition.get("lastTransitionTime")
            break
    else:
        since = (pod.get("metadata") or {}).get("creationTimestamp")
    try:
        return (now - datetime.fromisoformat(str(since))).total_seconds()
    except (ValueError, TypeError):
        return None
