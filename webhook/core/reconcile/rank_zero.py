"""Decide what becomes of members whose rank 0 publishes no address: nobody waits for what will not come.

The controller's own monotonic clock counts: how long it has seen a member wait so. The times that pods carry are of the API server's
clock; they decide nothing here, and Events tell them. No node's clock is asked.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import NamedTuple

from webhook.core import names, podspec
from webhook.core.accelerators import find_pod_accelerator
from webhook.core.addresses import Source
from webhook.core.model import Object
from webhook.core.reconcile.complaint import (
    UNPUBLISHED,
    Complaint,
    Placement,
    placement,
    why_uncalled,
)
from webhook.core.reconcile.member import Fate, Member
from webhook.core.workloads import TrainingPod, recognise
from webhook.core.workloads.endpoint import first_label

MISSING_SECONDS = 30.0
"""How long a member has been seen on its node before a rank 0 without a pod counts as one that may not come: some systems create it
only once the others are ready."""
UNATTACHED_SECONDS = 15.0
"""How long rank 0 has been seen with a network-status without the network before that counts: Multus writes it once for all."""
AGAIN_SECONDS = 60.0


class Suspect(NamedTuple):
    """A member to look at. *rank_zero*: its job's, None where the job has no live one. *name*: rank 0's, where a member was told it."""

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
    """Hold what becomes of a member, what its owner must know, and the seconds after which to look again."""

    fate: Fate = Fate()
    complaint: Complaint | None = None
    again: float = AGAIN_SECONDS


class Survey:
    """Gather from the live pods of one namespace what decides about the suspects: where each is, and who is rank 0.

    *now* gives the API server's time.
    """

    def __init__(self, suspects: Iterable[Suspect], now: Callable[[], datetime]) -> None:
        self._now = now
        self._members: set[str] = set()
        self._jobs: set[str] = set()
        self._seen: set[str] = set()
        self._jobs_of_name: dict[str, set[tuple[str, str]]] = {}
        self._placements: dict[str, Placement] = {}
        self._accelerated: set[str] = set()
        self._apart: dict[str, Object] = {}
        for member, zero, name in suspects:
            self._members.add(member.uid)
            if zero is None and member.waits_for_rank_zero:
                self._jobs.add(member.job)
                if name:
                    service = name.partition(".")[2].partition(".")[0]
                    jobs = self._jobs_of_name.setdefault(first_label(name), set())
                    jobs.add((service, member.job))

    def add(self, pod: Object) -> None:
        """Take a whole pod into account."""
        uid = (pod.get("metadata") or {}).get("uid")
        labels, is_ending = podspec.labels(pod), podspec.is_ending(pod)
        if uid in self._members and (placed := placement(pod, self._now())) is not None:
            self._placements[uid] = placed
            if find_pod_accelerator(pod):
                self._accelerated.add(uid)
        if labels.get(names.RENDEZVOUS) == "master" and not is_ending:
            self._seen.add(labels.get(names.JOB) or "")
        if not self._jobs or labels.get(names.JOB) or is_ending:
            return
        for name in podspec.own_names(pod):
            for service, job in self._jobs_of_name.get(name, ()):
                # only metadata.name is the namespace's: a hostname counts below its Service
                subdomain = (pod.get("spec") or {}).get("subdomain")
                if name == pod["metadata"].get("name") or service in ("", subdomain):
                    self._apart[job] = pod
        found = recognise(pod)
        meets = found.rendezvous if isinstance(found, TrainingPod) else None
        if meets is not None and meets.role == "master" and meets.job in self._jobs:
            self._apart[meets.job] = pod

    def placement(self, member: Member) -> Placement | None:
        """Return where a suspect is; None where it is gone, finished, or not bound to a node, as gang-queued ones are."""
        return self._placements.get(member.uid)

    def rule(self, suspect: Suspect, seconds: float) -> Ruling:
        """Decide about a suspect that waits; all pods of the namespace have been added, or all that may be of its job.

        *seconds*: how long it has been seen on its node, waiting for this rank 0.
        """
        member, zero, _ = suspect
        if self.placement(member) is None:
            return Ruling()
        if not member.waits_for_rank_zero or (
            member.lacks_own_address and zero is not None and zero.secondary.address
        ):
            return self._about_injected(member, seconds) if member.lacks_own_address else Ruling()
        if zero is not None:
            return self._about_injected(zero, seconds)
        if member.job in self._seen:  # the watch is behind
            return Ruling(again=5.0)
        if (apart := self._apart.get(member.job)) is not None:
            who = f"rank 0 of job {member.job}, pod {podspec.display_name(apart)}"
            may_meet = _may_meet(apart, member.source, accelerated=member.uid in self._accelerated)
            if may_meet and suspect.name and not member.fails_without_rank_zero:
                told = f"{who}, {UNPUBLISHED}: members that wait get the name {suspect.name} and meet on the pod network"
                return Ruling(Fate(by_name=True), Complaint("MeetsByName", told))
            why, then = _why_not_injected(apart, member.created, member.source)
            cause = f"{who}, {why}, and {UNPUBLISHED}: {then}"
            return Ruling(Fate(cause), Complaint("RankZeroNotInjected", cause))
        if seconds < MISSING_SECONDS:
            return Ruling(again=MISSING_SECONDS - seconds)
        return _about_missing(suspect)

    def _about_injected(self, zero: Member, seconds: float) -> Ruling:
        """Decide where rank 0 carries the job label: its wait is over where its network-status can give no address.

        So it is with another member that waits for an address of its own.
        """
        who = f"{'rank 0' if zero.is_master else 'a member'} of job {zero.job}, pod {zero.name}"
        words = zero.source.WORDS
        look = f"{words.look}, then delete that pod or restart the job"
        if zero.secondary.address:
            return Ruling()
        if not zero.wanted:
            cause = f"{who}, carries no annotation {names.RENDEZVOUS_NETWORK}, and {UNPUBLISHED}: restart the job"
            return Ruling(Fate(cause))
        if zero.secondary.problem:
            cause = f"{who}, has no address on {zero.wanted}: {zero.secondary.problem}; {look}"
            return Ruling(Fate(cause))
        if not zero.reported or self.placement(zero) is None:
            return Ruling()
        if seconds < UNATTACHED_SECONDS:
            return Ruling(again=UNATTACHED_SECONDS - seconds)
        cause = f"{who}, was not attached to {zero.wanted}, as its {words.told_at} tells: {look}"
        return Ruling(Fate(cause))


def _may_meet(rank_zero: Object, source: Source, *, accelerated: bool) -> bool:
    """Tell a rank 0 whose traffic needs no interface that it lacks: it is no rank of NCCL or gloo, or was given the networks.

    *source*: that of the member that waits for it. *accelerated*: that one has an accelerator; where neither has, both train by gloo.
    """
    annotations = podspec.annotations(rank_zero)
    if names.STATUS in annotations:
        return source.WORDS.asked in annotations and not podspec.is_host_network(rank_zero)
    opted_out = podspec.labels(rank_zero).get(names.PROFILE) == names.PROFILE_NONE
    if opted_out or find_pod_accelerator(rank_zero):
        return False
    return accelerated or not isinstance(recognise(rank_zero), TrainingPod)


def _about_missing(suspect: Suspect) -> Ruling:
    member, _, name = suspect
    called = f", {first_label(name)}," if name else ""
    after = f"{MISSING_SECONDS:.0f} s after its member {member.name} was put on a node"
    what = f"rank 0 of job {member.job}{called} has no live pod {after}"
    owner = "look at the Events of the job's owner, and at the quota and policies of its namespace"
    if member.fails_without_rank_zero:
        cause = f"{what}, and the profile says unreachable: fail: {owner}"
        return Ruling(Fate(cause), Complaint("RankZeroMissing", cause))
    if not name:
        cause = f"{what}, and its name is not known here: {owner}"
        return Ruling(complaint=Complaint("RankZeroMissing", cause))
    message = f"{what}: members that wait get the name {name} and meet on the pod network; they train on {member.wanted} all the same"
    return Ruling(Fate(by_name=True), Complaint("MeetsByName", message))


def _why_not_injected(rank_zero: Object, since: str, source: Source) -> tuple[str, str]:
    """Say why a live rank 0 carries no job label, as far as the pod tells, and what to do.

    *since*: when a pod of its job was created that is injected. A rank 0 that was denied does not exist, and is not looked at here.
    """
    if podspec.labels(rank_zero).get(names.PROFILE) == names.PROFILE_NONE:
        why = f"carries label {names.PROFILE}: {names.PROFILE_NONE}"
        return why, "give all pods of the job that label, or none"
    if podspec.is_host_network(rank_zero):
        why = f"uses the node's network, {source.WORDS.attaches_nothing}"
        return why, "take hostNetwork off it, or give all pods of the job the label " + (
            f"{names.PROFILE}: {names.PROFILE_NONE}, then restart the job"
        )
    if names.STATUS in podspec.annotations(rank_zero):
        why = f"was injected without a rendezvous, as its annotation {names.STATUS} tells"
        then = "give it the profile and the network of the job's other pods, then restart the job"
        return why, then
    if not isinstance(recognise(rank_zero), TrainingPod):
        why = "is left alone, since nothing tells that it trains"
        label = f"label it {names.PROFILE} as the job's other pods"
        return why, f"{label}, or give all of them {names.PROFILE_NONE}, then restart the job"
    created = str((rank_zero.get("metadata") or {}).get("creationTimestamp") or "")
    return why_uncalled(created, since)
