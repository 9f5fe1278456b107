"""Decide what becomes of members whose rank 0 publishes no address.

Nobody waits for what will not come. The controller's own clock counts: how long it has seen a
member wait so. The times that pods carry, and other clocks, decide nothing.
"""

from collections.abc import Iterable
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.addresses import Source
from webhook.core.model import Object
from webhook.core.reconcile.complaint import UNPUBLISHED, Complaint, why_uncalled
from webhook.core.reconcile.member import Fate, Member
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.endpoint import first_label

MISSING_SECONDS = 30.0
"""How long a member is on its node before a rank 0 without a pod counts as one that may not come.
Some systems create it only once the others are ready."""
UNATTACHED_SECONDS = 15.0
"""How long rank 0 is seen with a network-status without the network before that counts: Multus
writes it once for all."""
AGAIN_SECONDS = 60.0
BEHIND_SECONDS = 5.0


class Suspect(NamedTuple):
    """Hold a member to look at, its job's live rank 0, and rank 0's name as the job knows it."""

    member: Member
    rank_zero: Member | None
    name: str = ""

    @property
    def is_stuck(self) -> bool:
        """Tell a member whose wait step runs, for an address that nobody is about to publish."""
        member, zero = self.member, self.rank_zero
        if not member.reported or member.lacks_own_address:
            return member.reported
        if not member.waits_for_rank_zero:
            return False
        return zero is None or (not zero.secondary.address and (zero.reported or not zero.wanted))


class Ruling(NamedTuple):
    """Hold what becomes of a member, what its owner must know, and when to look again, in s."""

    fate: Fate = Fate()
    complaint: Complaint | None = None
    again: float = AGAIN_SECONDS


class Survey:
    """Gather from whole pods what decides about the suspects: who is where, and who is rank 0."""

    def __init__(self, suspects: Iterable[Suspect]) -> None:
        self._members: set[str] = set()
        self._lacking: set[tuple[str, str]] = set()
        self._nodes: dict[str, str] = {}
        self._accelerated: set[str] = set()
        self._seen: set[str] = set()
        self._apart: dict[str, Object] = {}
        for member, zero, name in suspects:
            self._members.add(member.uid)
            if zero is None and member.waits_for_rank_zero:
                self._lacking.add((member.job, name))

    def add(self, pod: Object) -> None:
        """Take a pod into account; one that is finished or ending counts for nothing."""
        if podspec.is_ending(pod):
            return
        uid, labels = pod["metadata"].get("uid"), podspec.labels(pod)
        node = (pod.get("spec") or {}).get("nodeName")
        if uid in self._members and node:
            self._nodes[uid] = node
            if find_pod_accelerator(pod):
                self._accelerated.add(uid)
        job = labels.get(names.JOB)
        if job and labels.get(names.RENDEZVOUS) == "master":
            self._seen.add(job)
        if not job and self._lacking:
            found = recognise(pod)
            meets = found.rendezvous if isinstance(found, TrainingPod) else None
            key = meets.job if meets is not None and meets.role == "master" else None
            for lacking, name in self._lacking:
                if lacking == key or _bears(pod, name):
                    self._apart[lacking] = pod

    def node(self, member: Member) -> str:
        """Return where a suspect is; empty where it is gone, or queued by a gang scheduler."""
        return self._nodes.get(member.uid, "")

    def rule(self, suspect: Suspect, seconds: float) -> Ruling:
        """Decide about a suspect, once all pods that may be of its job have been added.

        *seconds*: how long it has been seen on its node, waiting for this rank 0.
        """
        member, zero, name = suspect
        if not self.node(member):
            return Ruling()
        waits = member.waits_for_rank_zero
        has_address = zero is not None and bool(zero.secondary.address)
        if member.lacks_own_address and (has_address or not waits):
            return self._about_injected(member, seconds)
        if not waits:
            return Ruling()
        if zero is not None:
            return self._about_injected(zero, seconds)
        if member.job in self._seen:
            return Ruling(again=BEHIND_SECONDS)
        if (apart := self._apart.get(member.job)) is not None:
            return self._about_uninjected(suspect, apart)
        if seconds < MISSING_SECONDS:
            return Ruling(again=MISSING_SECONDS - seconds)
        return _about_missing(member, name)

    def _about_injected(self, zero: Member, seconds: float) -> Ruling:
        """Decide where a member that must publish an address, rank 0 as a rule, has the label."""
        who = f"{'rank 0' if zero.is_master else 'a member'} of job {zero.job}, pod {zero.name}"
        words = zero.source.words
        look = f"{words.look}, then delete that pod or restart the job"
        if zero.secondary.address:
            return Ruling()
        if not zero.wanted:
            lacks = f"carries no annotation {names.RENDEZVOUS_NETWORK}, and {UNPUBLISHED}"
            return Ruling(Fate(f"{who}, {lacks}: restart the job"))
        if zero.secondary.problem:
            problem = f"has no address on {zero.wanted}: {zero.secondary.problem}"
            return Ruling(Fate(f"{who}, {problem}; {look}"))
        if not zero.reported or not self.node(zero):
            return Ruling()
        if seconds < UNATTACHED_SECONDS:
            return Ruling(again=UNATTACHED_SECONDS - seconds)
        told = f"was not attached to {zero.wanted}, as its {words.told_at} tells"
        return Ruling(Fate(f"{who}, {told}: {look}"))

    def _about_uninjected(self, suspect: Suspect, zero: Object) -> Ruling:
        """Decide where rank 0 is a pod without our label."""
        member, _, name = suspect
        who = f"rank 0 of job {member.job}, pod {podspec.display_name(zero)}"
        may_meet = _may_meet(zero, member.source, accelerated=member.uid in self._accelerated)
        if may_meet and name and not member.fails_without_rank_zero:
            told = f"{who}, {UNPUBLISHED}: {_by_name(name)}"
            return Ruling(Fate(by_name=True), Complaint("MeetsByName", told))
        why, then = _why_not_injected(zero, member.created)
        cause = f"{who}, {why}, and {UNPUBLISHED}: {then}"
        return Ruling(Fate(cause), Complaint("RankZeroNotInjected", cause))


def _bears(pod: Object, name: str) -> bool:
    """Tell whether rank 0's *name* is the pod's."""
    host = first_label(name)
    if not host or host not in podspec.own_names(pod):
        return False
    # only metadata.name is the namespace's: a hostname counts below its Service
    service = name.partition(".")[2].partition(".")[0]
    subdomain = (pod.get("spec") or {}).get("subdomain")
    return host == pod["metadata"].get("name") or service in ("", subdomain)


def _by_name(name: str) -> str:
    return f"members that wait get the name {name} and meet on the pod network"


def _may_meet(rank_zero: Object, source: Source, *, accelerated: bool) -> bool:
    """Tell a rank 0 whose traffic needs no interface that it lacks.

    It is no rank of NCCL or gloo, or was given the networks. *source*: that of the member that
    waits for it. *accelerated*: that one has an accelerator; without any, both train by gloo.
    """
    annotations = podspec.annotations(rank_zero)
    if names.STATUS in annotations:
        return source.words.asked in annotations and not podspec.is_host_network(rank_zero)
    opted_out = podspec.labels(rank_zero).get(names.PROFILE) == names.PROFILE_NONE
    if opted_out or find_pod_accelerator(rank_zero):
        return False
    return accelerated or not isinstance(recognise(rank_zero), TrainingPod)


def _about_missing(member: Member, name: str) -> Ruling:
    called = f", {first_label(name)}," if name else ""
    after = f"{MISSING_SECONDS:.0f} s after its member {member.name} was put on a node"
    what = f"rank 0 of job {member.job}{called} has no live pod {after}"
    owner = "look at the Events of the job's owner, and at the quota and policies of its namespace"
    if member.fails_without_rank_zero:
        cause = f"{what}, and the profile says unreachable: fail: {owner}"
        return Ruling(Fate(cause), Complaint("RankZeroMissing", cause))
    if not name:
        told = f"{what}, and its name is not known here: {owner}"
        return Ruling(complaint=Complaint("RankZeroMissing", told))
    told = f"{what}: {_by_name(name)}; they train on {member.wanted} all the same"
    return Ruling(Fate(by_name=True), Complaint("MeetsByName", told))


def _why_not_injected(rank_zero: Object, since: str) -> tuple[str, str]:
    """Say why a live rank 0 carries no job label, as far as the pod tells, and what to do.

    *since*: when an injected pod of its job was created. One that was denied does not exist.
    """
    opted_out = f"label {names.PROFILE}: {names.PROFILE_NONE}"
    if podspec.labels(rank_zero).get(names.PROFILE) == names.PROFILE_NONE:
        return f"carries {opted_out}", "give all pods of the job that label, or none"
    if podspec.is_host_network(rank_zero):
        why, then = "uses the node's network", "take hostNetwork off it"
    elif names.STATUS in podspec.annotations(rank_zero):
        why = f"was injected without a rendezvous, as its annotation {names.STATUS} tells"
        then = "give it the profile and the network of the job's other pods"
    elif not isinstance(recognise(rank_zero), TrainingPod):
        why = "is left alone, since nothing tells that it trains"
        then = f"give it the {names.PROFILE} of the job's other pods"
    else:
        return why_uncalled(str(rank_zero["metadata"].get("creationTimestamp") or ""), since)
    return why, f"{then}, or give all pods of the job the {opted_out}; then restart the job"
