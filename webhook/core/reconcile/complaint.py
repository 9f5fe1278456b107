"""Say what a person must know about a pod that waits in vain."""

from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.reconcile.member import MOST_ENTRIES, Member
from webhook.core.workloads.systems import SIBLING_LABELS

NO_ADDRESS = "NoSecondaryAddress"
EXCESSIVE = "ExcessiveMetadata"
UNCALLED = (
    "was created before its namespace was labelled, or while the webhook was not called or only "
    "observed"
)
UNPUBLISHED = "publishes no address"
SEE_CHECK = (
    "see fabric-injector check, which tells whether the webhook is called; then restart the job"
)
BOUND_SECONDS = 60.0
"""How long a pod may be on its node without a secondary address before that is a fault."""


class Complaint(NamedTuple):
    """Hold an Event: *reason* in one word, *message* with what to do."""

    reason: str
    message: str


def about_status(member: Member) -> Complaint | None:
    """Complain of what only a person can mend: too much metadata, an unusable network-status."""
    secondary, words = member.secondary, member.source.words
    if member.is_excessive and member.waits:
        return Complaint(
            EXCESSIVE,
            f"the pod has more than {MOST_ENTRIES} annotations, labels, finalizers or owners, and "
            "gets no address: remove what it does not need, then restart the job",
        )
    if secondary.problem:
        return Complaint(
            "NetworkStatusUnusable",
            f"{words.told_at}: {member.wanted}: {secondary.problem}; no address of this pod can be "
            f"published to job {member.job}: {words.look}",
        )
    if secondary.interface:
        return Complaint(
            "UnexpectedInterface",
            f"annotation {names.NETWORK_STATUS} has {member.wanted} on interface "
            f"{secondary.interface}, and NCCL_SOCKET_IFNAME names another: is "
            "multus.defaultNetworks in the Configuration as this cluster's Multus has it?",
        )
    return None


def about_left_alone(message: str) -> Complaint:
    """Tell what to write into a pod that the webhook left alone, in its own words."""
    return Complaint("LeftAlone", message)


def about_address(member: Member, node: str, seconds: float) -> Complaint:
    """Complain of a pod that has been on its *node* for long without a secondary address."""
    words = member.source.words
    told = "holds no address" if words.place else "is missing"
    if member.reported:
        told = f"lists no network {member.wanted}"
    return Complaint(
        NO_ADDRESS,
        f"the pod has been on node {node} for {seconds:.0f} s and {words.told_at} {told}; job "
        f"{member.job} waits for its address: look at the pod's sandbox Events, then {words.look}",
    )


def why_uncalled(created: str, injected_since: str) -> tuple[str, str]:
    """Say why a pod was created without injection, and what to do.

    *injected_since*: when an injected one of its job was created, or empty. The API's times are
    whole seconds: of equal ones it is not known which was first.
    """
    if "" < injected_since < created:
        why = (
            "was created without injection, though older pods of the job were injected (the "
            "webhook was not called, or only observed)"
        )
        return why, SEE_CHECK
    return UNCALLED, "restart the job"


def sibling_selector(pod: Object) -> str:
    """Return a label selector for the pods of the same job; empty where no label tells it."""
    labels = podspec.labels(pod)
    return next((f"{key}={labels[key]}" for key in SIBLING_LABELS if labels.get(key)), "")
