"""Watch the pods of jobs, and publish on them the addresses that Multus or another source tells."""

import logging
import threading
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple, ParamSpec, TypeVar

from webhook.control.claims import ClaimWatch
from webhook.control.events import PodRef
from webhook.control.inspector import Inspector
from webhook.control.leader_loop import LeaderLoop
from webhook.control.publisher import Publisher, Result
from webhook.control.queue import FairQueue
from webhook.core import names
from webhook.core.model import Object
from webhook.core.reconcile import Fate, Jobs, Member, Unit, beside_claims, read_member
from webhook.kube.catalogue import NAMESPACES, PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.informer import Informer
from webhook.kube.resource import Key

log = logging.getLogger(__name__)

P = ParamSpec("P")
T = TypeVar("T")

LABELLED = NAMESPACES.select(labels=names.PROFILE)
MEMBERS = PODS.metadata.select(labels=names.JOB, fields=UNFINISHED)
STALE_SECONDS = 420.0
"""How long the API server may stay silent: a watch asks for six minutes at most."""
SWEEP_SECONDS = 30.0


class SeenPod(NamedTuple):
    """Hold a member, and the *profile* that its own label names."""

    member: Member
    profile: str | None


class Controller(LeaderLoop):
    """Watch, publish, inspect. Every replica watches; only the one that *may_write* writes.

    ``has_ended``: once stopped, no write of an address is under way any more.
    *tell* gets what the owner of a pod should know: the pod, a reason and a message. *on_label* is
    called, in the thread of the watch, where a namespace names another profile.

    All that a pod carries can be written by whoever may create pods; a namespace's labels are an
    admin's. So pods count in labelled namespaces only, and with *pod_opt_in*, by which the webhook
    is called for them, those that carry the profile's label themselves. A pod that counted counts
    when its namespace loses the label: the webhook was called for it.
    """

    fault = "addresses are not looked for again"

    def __init__(
        self,
        connection: Connection,
        tell: Callable[[PodRef, str, str], None],
        may_write: Callable[[], bool],
        *,
        on_result: Callable[[Result, float], None] = lambda _result, _seconds: None,
        on_label: Callable[[], None] = lambda: None,
        pod_opt_in: bool = False,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(may_write, monotonic)
        self._on_label, self._pod_opt_in = on_label, pod_opt_in
        self.has_ended = False
        self._lock, self._jobs, self._queue = threading.Lock(), Jobs(), FairQueue(monotonic)
        self._namespaces = Informer(
            connection,
            LABELLED,
            _read_namespace,
            on_change=self._namespace_changed,
            on_listed=self._begin,
            monotonic=monotonic,
        )
        self._pods = Informer(
            connection,
            MEMBERS,
            _read_pod,
            on_change=lambda pod, _: self._changed(pod),
            on_listed=self.turn,
            monotonic=monotonic,
        )
        self._claims = ClaimWatch(connection, self._changed, monotonic)
        self._publisher = Publisher(
            connection,
            self._queue,
            lacks=self._locked(self._jobs.publication),
            written=self._locked(self._jobs.written),
            may_write=may_write,
            on_result=on_result,
            monotonic=monotonic,
        )
        self._inspector = Inspector(
            connection,
            tell,
            may_write,
            suspects=self._locked(self._jobs.suspects),
            settle=self._settle,
        )
        self.watches = (self._namespaces,)

    def start(self) -> None:
        """Start the threads; pods are listed once it is known which namespaces are labelled."""
        super().start()
        self._publisher.start()
        self._inspector.start()

    def stop(self) -> None:
        """End the threads."""
        self.has_ended = self._publisher.stop()
        self._inspector.stop()
        super().stop()

    def lost(self) -> None:
        """Drop what waits to be written: the next leader finds it."""
        self._queue.clear()

    def turn(self) -> float:
        """Publish missing addresses: refused ones too, and those dropped while no replica led."""
        self._publish(self._locked(self._jobs.units)())
        return SWEEP_SECONDS

    def checks(self) -> Mapping[str, str]:
        """Return for each watch why it cannot be trusted; an empty text if it can."""
        watches = (self._namespaces, self._pods)
        return {each.resource.name: each.doubt(STALE_SECONDS) for each in watches}

    def profiles_named(self) -> Mapping[str, str] | None:
        """Return the profile that each labelled namespace names; None before all are known.

        Namespaces that are being deleted are left out.
        """
        if not self._namespaces.synced:
            return None
        return {name: profile for (_, name), profile in self._namespaces.items.copy().items()}

    def pods_waiting(self) -> int:
        """Count the live members that still wait for an address."""
        return sum(member.waits for member in self._locked(self._jobs.members)())

    def oldest_wait_seconds(self) -> float:
        """Return the age of the oldest live member that still waits; 0 where none does."""
        members = self._locked(self._jobs.members)()
        created = [one.created for one in members if one.waits and one.created]
        if not created:
            return 0.0
        age = datetime.now(UTC) - datetime.fromisoformat(min(created))
        return max(0.0, age.total_seconds())

    def _locked(self, call: Callable[P, T]) -> Callable[P, T]:
        """Return the *call* for any thread."""

        def locked(*arguments: P.args, **named: P.kwargs) -> T:
            with self._lock:
                return call(*arguments, **named)

        return locked

    def _begin(self) -> None:
        self._on_label()
        if self._pods not in self.watches:
            self.watch(self._pods)

    def _namespace_changed(self, namespace: Key, _: str | None) -> None:
        if self._namespaces.synced:
            self._on_label()
        # the watch of pods may have been ahead of that of namespaces, or the label came later
        for pod in [key for key in self._pods.items.copy() if key[0] == namespace[1]]:
            self._changed(pod)

    def _changed(self, pod: Key) -> None:
        """Take what the watches hold of a pod now; each of them calls it."""
        with self._lock:
            seen = self._pods.items.get(pod)
            member = seen.member if seen is not None and self._counts(pod, seen) else None
            if member is not None and member.has_claims:
                if self._claims not in self.watches:
                    self.watch(self._claims)
                told = self._claims.told(member.namespace, member.name, member.uid)
                member = beside_claims(member, told)
            units = self._jobs.update(pod, member)
        self._publish(units)

    def _counts(self, pod: Key, seen: SeenPod) -> bool:
        former = self._jobs.member(pod)
        if former is not None and former.uid == seen.member.uid:
            return True
        if seen.profile == names.PROFILE_NONE:
            return False
        is_labelled = ("", pod[0]) in self._namespaces.items
        return is_labelled or (self._pod_opt_in and seen.profile is not None)

    def _publish(self, units: list[Unit]) -> None:
        """Queue the pods, but not before all are listed once: rank 0 is the newest of them."""
        if units and self._pods.synced and self.may_write():
            self._queue.add(units)

    def _settle(
        self, job: tuple[str, str], rank_zero: Member | None, fates: Mapping[str, Fate]
    ) -> None:
        self._publish(self._locked(self._jobs.settle)(job, rank_zero, fates))


def _read_pod(pod: Object) -> SeenPod | None:
    member = read_member(pod)
    labels = pod["metadata"].get("labels") or {}
    return member and SeenPod(member, labels.get(names.PROFILE))


def _read_namespace(namespace: Object) -> str | None:
    """Return the profile that a namespace names, None for one that is being deleted."""
    metadata = namespace["metadata"]
    label: str | None = (metadata.get("labels") or {}).get(names.PROFILE)
    return None if metadata.get("deletionTimestamp") else label
