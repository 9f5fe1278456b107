"""Index the live members of every job, and say which addresses each of them lacks."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.reconcile.member import Fate, Member, Unit, host_form
from webhook.core.reconcile.rank_zero import Suspect

PodKey: TypeAlias = tuple[str, str]
JobKey: TypeAlias = tuple[str, str]


class Publication(NamedTuple):
    """Hold one write: the pod, told from its namesakes by *uid*, and the annotations to set.

    *seen*: the pod as it was when that was decided.
    """

    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str]
    seen: Member | None = None


def newest_master(members: Iterable[Member]) -> Member | None:
    """Return the rank 0 that counts: of several live ones the newest, by creation and uid."""
    masters = [member for member in members if member.is_master]
    return max(masters, key=lambda member: (member.created, member.uid), default=None)


def publication(
    member: Member, master_address: str, fate: Fate | None = None, name: str = ""
) -> Publication | None:
    """Return the write that a live member lacks; None where all is published.

    Published values are replaced, never emptied: while a new rank 0 has no address yet, its members
    keep the former one's. *fate*: what was decided about a member that waits for a missing address.
    None where nothing was: what was published then stays. *name*: rank 0's, for a member that was
    given none of its own.
    """
    told, own = member.published, member.secondary.address
    annotations = {}
    if not master_address and fate is not None and fate.by_name and not told.master_addr:
        master_address = member.master_name or name
    if master_address:
        if told.master_addr != master_address:
            annotations[names.MASTER_ADDR] = master_address
        host = host_form(master_address)
        if told.master_host != host:
            annotations[names.MASTER_HOST] = host
    if own and told.local_addr != own and (member.takes_local_address or told.local_addr):
        annotations[names.LOCAL_ADDR] = own
    shown = told.annotations() if member.devices else {}
    annotations |= {key: value for key, value in member.devices if value and shown[key] != value}
    is_lacking = not master_address or member.lacks_own_address
    if fate is not None or not is_lacking:
        cause = fate.cause if fate is not None and is_lacking else ""
        if told.wait_ends != cause:
            annotations[names.WAIT_ENDS] = cause
    if not annotations:
        return None
    return Publication(member.namespace, member.name, member.uid, annotations, member)


@dataclass(slots=True)
class _Job:
    """Hold live members by name, their rank 0, and what was decided about them, by uid."""

    members: dict[str, Member] = field(default_factory=dict)
    rank_zero: Member | None = None
    fates: Mapping[str, Fate] = field(default_factory=dict)

    @property
    def address(self) -> str:
        return self.rank_zero.secondary.address if self.rank_zero is not None else ""

    @property
    def name(self) -> str:
        return next((one.master_name for one in self.members.values() if one.master_name), "")

    def lacks(self, member: Member) -> Publication | None:
        """Return what a member lacks."""
        if member.is_excessive:
            return None
        fate = self.fates.get(member.uid)
        name = self.name if fate is not None and fate.by_name else ""
        return publication(member, self.address, fate, name)

    def lacking(self, members: Iterable[Member] | None = None) -> list[Unit]:
        """Return those of the *members*, or of all, that lack something, rank 0 first."""
        among = self.members.values() if members is None else members
        first = sorted(among, key=lambda member: not member.is_master)
        return [member.unit for member in first if self.lacks(member) is not None]


class Jobs:
    """Index live members by (namespace, job). Not safe to share between threads."""

    def __init__(self) -> None:
        self._jobs: dict[JobKey, _Job] = {}
        self._members: dict[PodKey, Member] = {}

    def update(self, pod: PodKey, member: Member | None) -> list[Unit]:
        """Put the *pod* (namespace, name) in, or take it out; return the pods that lack something.

        A change of rank 0's address concerns all members, rank 0 first, any other change the pod
        itself.
        """
        former = self._members.pop(pod, None)
        if member is not None:
            self._members[pod] = member
            key = member.namespace, member.job
            self._jobs.setdefault(key, _Job()).members[member.name] = member
        if former is not None and (member is None or member.job != former.job):
            key = former.namespace, former.job
            del self._jobs[key].members[former.name]
            if not self._jobs[key].members:
                del self._jobs[key]
        lacking: list[Unit] = []
        masters = [one for one in (former, member) if one is not None and one.is_master]
        for key in {(one.namespace, one.job) for one in masters}:
            lacking += self._refresh(key)
        if member is not None and member.unit not in lacking:
            lacking += self._jobs[member.namespace, member.job].lacking([member])
        return lacking

    def publication(self, unit: Unit) -> Publication | None:
        """Return what a pod lacks now; None where that is nothing, or it is no longer a member."""
        member = self._members.get((unit.namespace, unit.name))
        if member is None or member.job != unit.job:
            return None
        return self._jobs[unit.namespace, unit.job].lacks(member)

    def written(self, done: Publication) -> None:
        """Count what was written, until the watch shows the pod again, if it has not meanwhile."""
        pod = done.namespace, done.name
        if done.seen is not None and self._members.get(pod) is done.seen:
            published = done.seen.published.after(done.annotations)
            self.update(pod, done.seen._replace(published=published))

    def units(self) -> list[Unit]:
        """Return all pods that lack something now: what a new leader begins with."""
        return [unit for job in self._jobs.values() for unit in job.lacking()]

    def member(self, pod: PodKey) -> Member | None:
        """Return the live member of this namespace and name."""
        return self._members.get(pod)

    def members(self) -> list[Member]:
        """Return every live member."""
        return list(self._members.values())

    def suspects(self) -> list[Suspect]:
        """Return the members that lack an address, or whose network-status is faulty."""
        found = []
        for job in self._jobs.values():
            lacking = [one for one in job.members.values() if one.waits or one.is_suspicious]
            if lacking:
                name = job.name
                found += [Suspect(one, job.rank_zero, one.master_name or name) for one in lacking]
        return found

    def settle(
        self, key: JobKey, rank_zero: Member | None, fates: Mapping[str, Fate]
    ) -> list[Unit]:
        """Take what was decided about the members of a job, by uid; return the pods to write to.

        *rank_zero*: the one that the decision is about. Where the job has another by now, or none,
        nothing is taken.
        """
        job = self._jobs.get(key)
        if job is None or (job.rank_zero and job.rank_zero.uid) != (rank_zero and rank_zero.uid):
            return []
        job.fates = dict(fates)
        return job.lacking(one for one in job.members.values() if one.uid in fates)

    def _refresh(self, key: JobKey) -> list[Unit]:
        """Find rank 0 again; return the members that lack something where it is another.

        One whose address is unknown changes nothing.
        """
        job = self._jobs.get(key)
        if job is None:
            return []
        before, job.rank_zero = job.rank_zero, newest_master(job.members.values())
        if _known_of(before) == _known_of(job.rank_zero):
            return []
        # what was decided held for the former one; of a new one nothing is known to be wrong
        ended = [one.uid for one in job.members.values() if one.published.wait_ends]
        job.fates = dict.fromkeys(ended, Fate()) if job.rank_zero is not None else {}
        return job.lacking()


def _known_of(rank_zero: Member | None) -> object:
    """Return what of rank 0 its members depend on."""
    return rank_zero and (rank_zero.uid, rank_zero.secondary, rank_zero.reported, rank_zero.wanted)
