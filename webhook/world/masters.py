"""Know the published address of each job's rank 0: of several live ones, the newest counts."""

from __future__ import annotations

from webhook.core.model import MasterAddress
from webhook.kube.resource import Key
from webhook.world.read import Master


class Masters:
    """Index live rank-0 pods by job. One thread updates, any may ask."""

    def __init__(self) -> None:
        self._of_pod: dict[Key, Master] = {}
        self._of_job: dict[Key, tuple[Master, ...]] = {}

    def update(self, pod: Key, master: Master | None) -> None:
        """Put the *pod* (namespace, name) in, or take it out where it is no live rank 0 any more."""
        former = self._of_pod.pop(pod, None)
        if master is not None:
            self._of_pod[pod] = master
        for job in {(one.namespace, one.job) for one in (former, master) if one is not None}:
            kept = [other for other in self._of_job.get(job, ()) if other != former]
            if master is not None and (master.namespace, master.job) == job:
                kept.append(master)
            if kept:  # one assignment, so that no reader sees the job without the pod that is being replaced
                self._of_job[job] = tuple(sorted(kept, key=lambda other: (other.created, other.uid)))
            else:
                self._of_job.pop(job, None)

    def address(self, namespace: str, job: str) -> MasterAddress | None:
        """Give the address of the newest live rank 0, by (creationTimestamp, uid); None where it has none published."""
        masters = self._of_job.get((namespace, job))
        return masters[-1].address if masters else None

    def pods(self) -> dict[Key, Master]:
        """Give all live rank-0 pods, those that have no address yet among them."""
        return self._of_pod.copy()
