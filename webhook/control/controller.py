"""Watch the pods of jobs in labelled namespaces, and publish on them the addresses that Multus, or another source, writes on them."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from webhook.control.claims import ClaimWatch
from webhook.control.events import PodRef
from webhook.control.inspector import Inspector
from webhook.control.leader_loop import LeaderLoop
from webhook.control.publisher import Publisher, Result
from webhook.control.queue import FairQueue
from webhook.control.scope import Scope
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import (
    Fate,
    Jobs,
    Member,
    Publication,
    Suspect,
    Unit,
    beside_claims,
    read_member,
)
from webhook.kube.catalogue import NAMESPACES, PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.resource import Key

log = logging.getLogger(__name__)

LABELLED = NAMESPACES.select(labels=names.PROFILE)
MEMBERS = PODS.metadata.select(labels=names.JOB, fields=UNFINISHED)
STALE_SECONDS = 420.0
"""How long the API server may stay silent: a watch asks for six minutes at most."""
SWEEP_SECONDS = 30.0


class ProfileLabel(NamedTuple):
    """Hold which *profile* a namespace names; *is_ending*: the namespace is being deleted."""

    profile: str
    is_ending: bool


class Controller:
    """Watch, publish, inspect. Every replica watches; only the one that *may_write* does.

    *tell* gets what the owner of a pod should know: the pod, a reason and a message.
    *on_label* is called, in the thread of the watch, where a namespace names another profile.
    *pod_opt_in*: pods that carry the profile's label themselves count wherever they are. What is known of a pod stays known when its
    namespace loses the label: the webhook was called for it. Who starts later cannot know, and leaves it alone.
    """

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[PodRef, str, str], None],
        may_write: Callable[[], bool],
        *,
        on_result: Callable[[Result, float], None] = lambda _result, _seconds: None,
        on_restart: Callable[[str, str], None] = lambda _resource, _reason: None,
        on_label: Callable[[], None] = lambda: None,
        pod_opt_in: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._scope = Scope(pod_opt_in=pod_opt_in)
        self._lock = threading.Lock()
        self._jobs = Jobs()
        self._served: dict[Key, str] = {}
        self._may_write = may_write
        self._stopped = threading.Event()
        self._queue = FairQueue(monotonic)
        self._begun = False
        self._on_label = on_label
        self._namespaces = Informer(
            connection,
            LABELLED,
            _read_namespace,
            on_change=self._namespace_changed,
            on_listed=self._begin,
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._pods = Informer(
            connection,
            MEMBERS,
            _read_pod,
            on_change=self._changed,
            on_listed=self._publish_all,
            on_restart=on_restart,
            monotonic=monotonic,
        )
        self._claims = ClaimWatch(
            connection, self._claims_changed, on_restart=on_restart, monotonic=monotonic
        )
        self._publisher = Publisher(
            connection,
            self._queue,
            lacks=self._lacks,
            lost=self._lost,
            may_write=may_write,
            on_result=on_result,
            monotonic=monotonic,
        )
        self._inspector = Inspector(
            connection,
            tell,
            suspects=self._suspects,
            settle=self._settle,
        )
        self._loops = (
            LeaderLoop(
                "inspect",
                self._inspector.turn,
                may_write,
                fault="pods that wait are not looked at",
                on_lost=self._inspector.forget,
            ),
            LeaderLoop(
                "sweep",
                self._sweep,
                may_write,
                fault="addresses are not looked for again",
            ),
        )

    def start(self) -> None:
        """Start the threads; pods are listed once it is known which namespaces are labelled."""
        self._namespaces.start()
        self._publisher.start()
        for loop in self._loops:
            loop.start()

    def stop(self) -> bool:
        """End the threads; tell whether no write is under way any more."""
        self._stopped.set()
        has_ended = self._publisher.stop()
        for loop in self._loops:
            loop.stop()
        self._namespaces.stop()
        self._pods.stop()
        self._claims.stop()
        return has_ended

    def lead(self, leads: bool) -> None:
        """Queue all that is to be written once this replica leads, and drop it when it no longer does: the next leader finds it too."""
        if not leads:
            self._queue.clear()
            return
        log.info("leading: %d pods lack an address", self._publish_all())

    def checks(self) -> Mapping[str, str]:
        """Return for each watch why it cannot be trusted; an empty text if it can."""
        return {
            "namespaces": self._namespaces.doubt(STALE_SECONDS),
            "pods": self._pods.doubt(STALE_SECONDS),
        }

    def pods_waiting(self) -> int:
        """Count the live members that still wait for an address."""
        with self._lock:
            return sum(member.waits for member in self._jobs.members())

    def pods_excessive(self) -> int:
        """Count the live members that are not written to, having thousands of annotations, labels, finalizers or owners."""
        with self._lock:
            return sum(member.is_excessive for member in self._jobs.members())

    def namespaces_passed_over(self) -> int:
        """Count the namespaces without the label in which pods carry the job label."""
        return self._scope.namespaces_passed_over()

    def profiles_named(self) -> Mapping[str, str] | None:
        """Return the profile that each labelled namespace names, but for those that are being deleted; None before all are known."""
        if not self._namespaces.synced:
            return None
        labelled = self._namespaces.items.copy()
        return {name: each.profile for (_, name), each in labelled.items() if not each.is_ending}

    def oldest_wait_seconds(self) -> float:
        """Return the age of the oldest live member that still waits; 0 where none does."""
        with self._lock:
            oldest = min(
                (one.created for one in self._jobs.members() if one.waits and one.created),
                default="",
            )
        return (
            max(0.0, (datetime.now(UTC) - datetime.fromisoformat(oldest)).total_seconds())
            if oldest
            else 0.0
        )

    def _begin(self) -> None:
        self._on_label()
        if not self._begun and not self._stopped.is_set():
            self._begun = True
            self._pods.start()

    def _namespace_changed(self, namespace: Key, labelled: ProfileLabel | None) -> None:
        if self._namespaces.synced:
            self._on_label()
        if self._scope.set_labelled(namespace[1], labelled is not None):
            # The watch of pods was ahead of that of namespaces, or the label came later.
            for pod in [key for key in list(self._pods.items) if key[0] == namespace[1]]:
                self._changed(pod, None)

    def _changed(self, pod: Key, _: SeenPod | None) -> None:
        """Take what the watch holds of a pod now; called by both watches."""
        with self._lock:
            member = self._counting(pod)
            if member is None:
                self._served.pop(pod, None)
            else:
                self._served[pod] = member.uid
            if member is not None and member.has_claims:
                self._claims.need()
                member = self._beside_claims(member)
            units = self._jobs.update(pod, member)
        self._publish(units)

    def _counting(self, pod: Key) -> Member | None:
        """Return the member that the watch holds, if it counts or was served before."""
        seen = self._pods.items.get(pod)
        if seen is None:
            return None
        was_served = self._served.get(pod) == seen.member.uid
        return seen.member if was_served or self._scope.counts(pod[0], seen.profile) else None

    def _claims_changed(self, pods: Iterable[Key]) -> None:
        """Take what is told now of each pod's claims; of a pod that is gone meanwhile, the watch of pods tells behind this lock."""
        units: list[Unit] = []
        with self._lock:
            for pod in pods:
                member = self._counting(pod)
                if member is not None and member.has_claims:
                    units += self._jobs.update(pod, self._beside_claims(member))
        self._publish(units)

    def _beside_claims(self, member: Member) -> Member:
        return beside_claims(member, self._claims.told(member.namespace, member.name, member.uid))

    def _publish_all(self) -> int:
        with self._lock:
            units = self._jobs.units()
        self._publish(units)
        return len(units)

    def _publish(self, units: list[Unit]) -> None:
        """Queue the pods, but not before all are listed once: until then an older rank 0 may pass for the newest."""
        if units and self._pods.synced and self._may_write():
            self._queue.add(units)

    def _lacks(self, unit: Unit) -> Publication | None:
        with self._lock:
            return self._jobs.begin(unit)

    def _lost(self, wanted: Publication) -> None:
        with self._lock:
            self._jobs.lost(wanted)

    def _suspects(self) -> list[Suspect]:
        with self._lock:
            return self._jobs.suspects()

    def _settle(
        self, job: tuple[str, str], rank_zero: Member | None, fates: Mapping[str, Fate]
    ) -> None:
        with self._lock:
            units = self._jobs.settle(job, rank_zero, fates)
        self._publish(units)

    def _sweep(self) -> float:
        """Publish now and then whatever lacks: what somebody else removed, and what was dropped while no replica led."""
        with self._lock:
            self._jobs.sweep()
        self._publish_all()
        return SWEEP_SECONDS


class SeenPod(NamedTuple):
    """Hold a member, and the *profile* that its own label names."""

    member: Member
    profile: str | None


def _read_pod(pod: Object) -> SeenPod | None:
    member = read_member(pod)
    labels = pod["metadata"].get("labels") or {}
    return member and SeenPod(member, labels.get(names.PROFILE))


def _read_namespace(namespace: Object) -> ProfileLabel | None:
    metadata = namespace["metadata"]
    profile = (metadata.get("labels") or {}).get(names.PROFILE)
    return (
        None if profile is None else ProfileLabel(profile, bool(metadata.get("deletionTimestamp")))
    )
