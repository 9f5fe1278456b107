"""Index the live members of every job, and say which addresses each of them lacks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple, TypeAlias

from webhook.core import names
from webhook.core.reconcile.member import Member, host_form

PodKey: TypeAlias = tuple[str, str]
JobKey: TypeAlias = tuple[str, str]


class Publication(NamedTuple):
    """Hold one write: the pod, told from its namesakes by *uid*, and the annotations to set."""

    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str]


def newest_master(members: Iterable[Member]) -> Member | None:
    """Return the rank 0 that counts: of several live ones the newest, by (creationTimestamp, uid)."""
    masters = [member for member in members if member.is_master]
    return max(masters, key=lambda member: (member.created, member.uid), default=None)


def publication(member: Member, master_address: str) -> Publication | None:
    """Return the write that a live member lacks; None where all is published.

    Published values are replaced, never emptied: while a new rank 0 has no address yet, its members keep the former one's.
    """
    told, own = member.published, member.secondary.address
    annotations = {}
    if master_address:
        if told.master_addr != master_address:
            annotations[names.MASTER_ADDR] = master_address
        host = host_form(master_address)
        if told.master_host != host:
            annotations[names.MASTER_HOST] = host
    if own and told.local_addr != own and (member.takes_local_address or told.local_addr):
        annotations[names.LOCAL_ADDR] = own
    return Publication(member.namespace, member.name, member.uid, annotations) if annotations else None


class Unit(NamedTuple):
    """Name one pod that may lack an address."""

    namespace: str
    job: str
    name: str


class _Job:
    __slots__ = ("address", "masters", "members")

    def __init__(self) -> None:
        self.members: dict[str, Member] = {}
        self.masters: set[str] = set()
        self.address = ""


class Jobs:
    """Index live members by (namespace, job). Not safe to share between threads.

    What was written stays remembered until the watch shows it, so that nothing is written twice.
    """

    def __init__(self) -> None:
        self._jobs: dict[JobKey, _Job] = {}
        self._member_of: dict[PodKey, Member] = {}
        self._written: dict[PodKey, Publication] = {}
        self._overdue: dict[PodKey, Publication] = {}

    def update(self, pod: PodKey, member: Member | None) -> list[Unit]:
        """Put the *pod* (namespace, name) in, or take it out; return the pods to look at, rank 0 first.

        A change of rank 0's address concerns all members, any other change the pod itself.
        """
        former = self._member_of.pop(pod, None)
        if former is not None:
            self._remove(pod, former, member)
        concerned: list[Unit] = []
        if member is not None:
            self._member_of[pod] = member
            job = self._jobs.setdefault((member.namespace, member.job), _Job())
            job.members[member.name] = member
            if member.is_master:
                job.masters.add(member.name)
            self._forget_written(pod, member)
            concerned.append(Unit(member.namespace, member.job, member.name))
        for key in {(one.namespace, one.job) for one in (former, member) if one is not None and one.is_master}:
            concerned += self._refresh(key)
        return [unit for unit in dict.fromkeys(concerned) if self.publication(unit) is not None]

    def publication(self, unit: Unit) -> Publication | None:
        """Return what the pod lacks and has not been written; None where that is nothing, or the pod is no longer a member."""
        member = self._member_of.get((unit.namespace, unit.name))
        if member is None or member.job != unit.job:
            return None
        wanted = publication(member, self._jobs[unit.namespace, unit.job].address)
        written = self._written.get((unit.namespace, unit.name))
        if wanted is None or written is None or written.uid != wanted.uid:
            return wanted
        rest = {key: value for key, value in wanted.annotations.items() if written.annotations.get(key) != value}
        return wanted._replace(annotations=rest) if rest else None

    def wrote(self, done: Publication) -> None:
        """Remember a write that the watch has not shown yet."""
        key = (done.namespace, done.name)
        member = self._member_of.get(key)
        if member is None or member.uid != done.uid:
            return
        before = self._written.get(key)
        earlier = before.annotations if before is not None and before.uid == done.uid else {}
        self._written[key] = done._replace(annotations={**earlier, **done.annotations})
        self._forget_written(key, member)

    def sweep(self) -> list[Unit]:
        """Forget what was written before the last sweep and never shown: another hand has undone it. Return those pods."""
        overdue = [key for key, done in self._overdue.items() if self._written.get(key) is done]
        for key in overdue:
            del self._written[key]
        self._overdue = dict(self._written)
        found = [Unit(key[0], self._member_of[key].job, key[1]) for key in overdue if key in self._member_of]
        return [unit for unit in found if self.publication(unit) is not None]

    def units(self) -> list[Unit]:
        """Return all pods that lack an address now: what a new leader begins with."""
        found = [Unit(*key, name) for key, job in self._jobs.items() for name in (*job.masters, *job.members)]
        return [unit for unit in dict.fromkeys(found) if self.publication(unit) is not None]

    def members(self) -> Iterator[Member]:
        """Yield every live member."""
        return iter(self._member_of.values())

    def has_master(self, member: Member) -> bool:
        """Tell whether the job of a live member has a live rank 0."""
        return bool(self._jobs[member.namespace, member.job].masters)

    def _remove(self, pod: PodKey, former: Member, member: Member | None) -> None:
        key = (former.namespace, former.job)
        job = self._jobs[key]
        del job.members[former.name]
        job.masters.discard(former.name)
        if not job.members and (member is None or (member.namespace, member.job) != key):
            del self._jobs[key]
        if member is None or member.uid != former.uid:
            self._written.pop(pod, None)

    def _refresh(self, key: JobKey) -> list[Unit]:
        """Find rank 0 anew; return the members to look at where its address is another. One that is unknown changes nothing."""
        job = self._jobs.get(key)
        if job is None:
            return []
        master = newest_master(job.members[name] for name in job.masters)
        address = master.secondary.address if master is not None else ""
        if address == job.address:
            return []
        job.address = address
        return [Unit(*key, name) for name in (*job.masters, *job.members)] if address else []

    def _forget_written(self, pod: PodKey, member: Member) -> None:
        """Forget what the watch shows by now."""
        written = self._written.get(pod)
        if written is None:
            return
        shown = member.published.annotations()
        if written.uid != member.uid or all(shown.get(key) == value for key, value in written.annotations.items()):
            del self._written[pod]
