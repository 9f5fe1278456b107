"""Index the live members of every job, and say which addresses each of them lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.reconcile.member import Fate, Member, Unit, host_form
from webhook.core.reconcile.rank_zero import Suspect

PodKey: TypeAlias = tuple[str, str]
JobKey: TypeAlias = tuple[str, str]


class Publication(NamedTuple):
    """Hold one write: the pod, told from its namesakes by *uid*, and the annotations to set."""

    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str]


def newest_master(members: Iterable[Member]) -> Member | None:
    """Return the rank 0 that counts: of several live ones the newest, by creation and uid."""
    masters = [member for member in members if member.is_master]
    return max(masters, key=lambda member: (member.created, member.uid), default=None)


def publication(
    member: Member, master_address: str, fate: Fate | None = None, name: str = ""
) -> Publication | None:
    """Return the write that a live member lacks; None where all is published.

    Published values are replaced, never emptied: while a new rank 0 has no address yet, its members
    keep the former one's. *fate*: what was decided about a member that waits for an address that is
    not there, None where nothing was: what it was told then stays. *name*: rank 0's, for a member
    that was given none of its own.
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
    return Publication(member.namespace, member.name, member.uid, annotations)


class _Job:
    __slots__ = ("fates", "members", "rank_zero")

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.rank_zero: Member | None = None
        self.fates: dict[str, Fate] = {}

    @property
    def address(self) -> str:
        return self.rank_zero.secondary.address if self.rank_zero is not None else ""

    @property
    def name(self) -> str:
        return next((one.master_name for one in self.members.values() if one.master_name), "")

    def units(self) -> list[Unit]:
        """Return its pods, rank 0 first."""
        first = sorted(self.members.values(), key=lambda member: not member.is_master)
        return [member.unit for member in first]


class Jobs:
    """Index live members by (namespace, job). Not safe to share between threads.

    A write counts as done from its beginning until the watch shows it, so that nothing is written
    twice.
    """

    def __init__(self) -> None:
        self._jobs: dict[JobKey, _Job] = {}
        self._member_of: dict[PodKey, Member] = {}
        self._written: dict[PodKey, Publication] = {}
        self._overdue: dict[PodKey, Publication] = {}

    def update(self, pod: PodKey, member: Member | None) -> list[Unit]:
        """Put the *pod* (namespace, name) in, or take it out; return the pods to look at.

        A change of rank 0's address concerns all members, rank 0 first, any other change the pod
        itself.
        """
        former = self._member_of.pop(pod, None)
        if member is not None:
            self._member_of[pod] = member
            key = member.namespace, member.job
            self._jobs.setdefault(key, _Job()).members[member.name] = member
        if former is not None and (member is None or member.job != former.job):
            self._leave(former)
        if pod in self._written and _is_over(self._written[pod], member):
            del self._written[pod]
        concerned = [] if member is None else [member.unit]
        masters = [one for one in (former, member) if one is not None and one.is_master]
        for key in {(one.namespace, one.job) for one in masters}:
            concerned += self._refresh(key)
        return self._lacking(concerned)

    def publication(self, unit: Unit) -> Publication | None:
        """Return what the pod lacks and has not been written.

        None where that is nothing, or the pod is no longer a member.
        """
        member = self._member_of.get((unit.namespace, unit.name))
        if member is None or member.job != unit.job or member.is_excessive:
            return None
        job = self._jobs[unit.namespace, unit.job]
        fate = job.fates.get(member.uid)
        name = job.name if fate is not None and fate.by_name else ""
        wanted = publication(member, job.address, fate, name)
        written = self._written.get((unit.namespace, unit.name))
        if wanted is None or written is None or written.uid != wanted.uid:
            return wanted
        done, all_wanted = written.annotations, wanted.annotations.items()
        rest = {key: value for key, value in all_wanted if done.get(key) != value}
        return wanted._replace(annotations=rest) if rest else None

    def begin(self, unit: Unit) -> Publication | None:
        """Return what is written to the pod now; from here on it counts as written."""
        wanted = self.publication(unit)
        if wanted is not None:
            pod = unit.namespace, unit.name
            before = self._written.get(pod)
            earlier = before.annotations if before is not None and before.uid == wanted.uid else {}
            self._written[pod] = wanted._replace(annotations={**earlier, **wanted.annotations})
        return wanted

    def lost(self, wanted: Publication) -> None:
        """Forget a write that has failed."""
        pod = wanted.namespace, wanted.name
        if pod in self._written and self._written[pod].uid == wanted.uid:
            del self._written[pod]

    def sweep(self) -> None:
        """Forget what was written before the last sweep and never shown: another hand undid it."""
        for pod, done in self._overdue.items():
            if self._written.get(pod) is done:
                del self._written[pod]
        self._overdue = dict(self._written)

    def units(self) -> list[Unit]:
        """Return all pods that lack an address now: what a new leader begins with."""
        return self._lacking(unit for job in self._jobs.values() for unit in job.units())

    def member(self, pod: PodKey) -> Member | None:
        """Return the live member of this namespace and name."""
        return self._member_of.get(pod)

    def members(self) -> Iterator[Member]:
        """Yield every live member."""
        return iter(self._member_of.values())

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
        concerned = [one for one in job.members.values() if one.uid in job.fates]
        return self._lacking(member.unit for member in concerned)

    def _lacking(self, units: Iterable[Unit]) -> list[Unit]:
        return [unit for unit in dict.fromkeys(units) if self.publication(unit) is not None]

    def _leave(self, former: Member) -> None:
        key = former.namespace, former.job
        del self._jobs[key].members[former.name]
        if not self._jobs[key].members:
            del self._jobs[key]

    def _refresh(self, key: JobKey) -> list[Unit]:
        """Find rank 0 again; return the members to look at where its address is another.

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
        return job.units() if job.address or job.fates else []


def _is_over(written: Publication, member: Member | None) -> bool:
    """Tell whether the watch shows a write, or another pod in place of the one written to."""
    if member is None or member.uid != written.uid:
        return True
    return written.annotations.items() <= member.published.annotations().items()


def _known_of(rank_zero: Member | None) -> object:
    """Return what of rank 0 its members depend on."""
    return rank_zero and (rank_zero.uid, rank_zero.secondary, rank_zero.reported, rank_zero.wanted)
