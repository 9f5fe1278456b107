"""Read what `status` looks at: each list once."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from types import TracebackType
from typing import Self, TypeVar
from urllib.parse import quote

from webhook.core import names
from webhook.core.cluster.nodes import NodeOffer, read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Namespace, Object
from webhook.diagnose.collect.collector import MOST_BROKEN, Collector, without_pods
from webhook.diagnose.collect.job import begin_device_offers, is_configured, read_claims, read_networks, read_profiles
from webhook.diagnose.collect.kueue import read_workloads
from webhook.diagnose.collect.suspension import begin_all_suspended, suspended_jobs
from webhook.diagnose.explain.judgement import networks_to_read
from webhook.diagnose.explain.reading import label_time
from webhook.diagnose.lease import judge_lease
from webhook.diagnose.listing import Listing, Unread
from webhook.diagnose.status.jobs import KeptPod, PodKeeper, StatusJob, ended_jobs, find_jobs
from webhook.diagnose.status.status import JobStatus, Judge, StatusReading, in_order
from webhook.kube.catalogue import EVENTS, LEASES, NAMESPACES, NODES, PODS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import whole
from webhook.kube.reflector import Reflector
from webhook.kube.resource import Resource
from webhook.world.held import read_namespace
from webhook.world.profiles_read import ProfilesRead

T = TypeVar("T")

MOST_PAGES = 400
REFRESH_SECONDS = 30.0
STALE_SECONDS = 60.0
_QUEUES = ("Workload", "PodGroup", "Job", "LocalQueue", "Queue")
_MOST_SPACES = 50
"""Namespaces of jobs that lack injection of which the time of the label is asked for."""


def read_status(
    connection: Connection,
    namespace: str = "",
    *,
    profiles: ProfilesRead | None = None,
    system_namespace: str = "fabric-injector",
    progress: Callable[[str], None] = lambda _: None,
) -> StatusReading:
    """Read what `status` judges; *namespace* empty: all.

    Raises InputError where pods may not be listed, Unavailable where the API server does not answer. What else may not be read is
    named in the result and left out.
    """
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        labels = collector.begin_part("namespaces", lambda: _labels(collector, namespace))
        nodes = collector.begin_list("nodes", NODES, read_node)
        events = collector.begin_list("Events", EVENTS, keep_event, namespace)
        try:
            pods = collector.read_list(PODS, PodKeeper(PODS.check).keep, namespace, spec_as_text=True)
        except RequestFailed as error:
            raise without_pods(error, namespace, "status") from None
        return complete(
            collector,
            namespace,
            pods.items,
            labels.result(),
            events.result(),
            nodes.result(),
            profiles,
            system_namespace,
        )


def complete(
    collector: Collector,
    namespace: str,
    pods: Iterable[KeptPod],
    labels: Mapping[str, Mapping[str, str]] | None,
    events: Listing[Object],
    nodes: Listing[NodeOffer],
    profiles: ProfilesRead | None,
    system_namespace: str,
) -> StatusReading:
    """Read what the jobs among the pods lead to: profiles, networks, the Lease, when a namespace was labelled."""
    kept = tuple(pods)
    lease_key = (system_namespace, "fabric-injector")
    lease = collector.begin_part(
        f"Lease {'/'.join(lease_key)}", lambda: collector.reader.find(LEASES, lease_key, whole) or {}
    )
    read = read_profiles(collector, system_namespace, profiles)
    jobs = find_jobs(kept, labels)
    wanted: dict[tuple[str, str], None] = {}
    members: list[Object] = []
    for job in jobs:
        examples = {(pod.key, pod.injected): pod for pod in job.pods}  # members of one job ask for the same networks
        asked = tuple(pod.read() for pod in examples.values())
        own = dict((labels or {}).get(job.namespace, {}))
        wanted.update(dict.fromkeys(networks_to_read(asked, job.namespace, own, read.profiles if read else None)))
        members.extend(asked)
    device_offers = begin_device_offers(collector, members)
    of_claims = collector.begin(lambda: read_claims(collector, namespace, members))
    lacking = {job.namespace: None for job in jobs if any(pod.is_live and not pod.injected for pod in job.pods)}
    of_workloads = collector.begin(lambda: read_workloads(collector, namespace, members))
    is_asked = any(names.PROFILE in each for each in (labels or {}).values())
    of_suspended = begin_all_suspended(collector, namespace) if is_asked else []
    networks = read_networks(collector, wanted)
    labelled = {space: _label_time(collector, space) for space in list(lacking)[:_MOST_SPACES]}
    return StatusReading(
        collector.reader.answered or datetime.now(UTC),
        kept,
        labels,
        labelled,
        None if events.problem else events.items,
        None if nodes.problem else nodes.items,
        networks,
        read.profiles if read else None,
        read.unusable if read else frozenset(),
        read.generations if read else {},
        lease.result(),
        lease_key,
        of_workloads.result(),
        of_claims.result().claims,
        of_claims.result().templates,
        device_offers.result(),
        suspended_jobs(of_suspended),
        is_configured(collector, bool(lacking)),
        collector.notes(),
    )


class StatusWatch:
    """Follow what `status` looks at: pods, Events and nodes by watches; the rest is read anew every REFRESH_SECONDS.

    Each job is judged again when something of it changes, and one that is not well each time, for its waits grow.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: str = "",
        *,
        profiles: ProfilesRead | None = None,
        system_namespace: str = "fabric-injector",
    ) -> None:
        self._connection, self._namespace = connection, namespace
        self._profiles, self._system_namespace = profiles, system_namespace
        self._changed = threading.Event()
        space = f"/api/v1/namespaces/{quote(namespace, safe='')}" if namespace else PODS.group
        self._pods = self._follow(PODS.at(space), PodKeeper().keep)
        self._events = self._follow(EVENTS.at(space), keep_event)
        self._nodes = self._follow(NODES, read_node)
        self._reading: StatusReading | None = None
        self._read_at = 0.0
        self._known: dict[tuple[str, str], tuple[StatusJob, Sequence[Object], JobStatus]] = {}
        self._surroundings: object = None

    def __enter__(self) -> Self:
        for reflector in self._reflectors:
            reflector.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        for reflector in self._reflectors:
            reflector.stop()

    @property
    def _reflectors(self) -> tuple[Reflector[KeptPod], Reflector[Object], Reflector[NodeOffer]]:
        return self._pods, self._events, self._nodes

    def wait(self, seconds: float) -> bool:
        """Wait for a change, as long as *seconds*; return whether there was one. Clears it."""
        found = self._changed.wait(seconds)
        self._changed.clear()
        return found

    def doubt(self) -> str:
        """Say why what is shown may be old; empty where it is not."""
        return self._pods.doubt(STALE_SECONDS)

    def ended(self) -> list[tuple[str, str]]:
        """Return namespace and name of the injected jobs that have ended."""
        return ended_jobs(tuple(self._pods.items.copy().values()))

    def first_lists(self) -> None:
        """Wait until all was listed, or may not be. Raises InputError or Unavailable where pods cannot be listed."""
        for reflector in self._reflectors:
            while not (reflector.synced or reflector.problem):
                self.wait(0.1)
        if not self._pods.synced:
            error = RequestFailed(self._pods.problem, self._pods.refused)
            raise without_pods(error, self._namespace, "status", "lists and watches")

    def look(self) -> tuple[list[JobStatus], tuple[Unread, ...]]:
        """Return how each job is now, and what cannot be read. Raises Unavailable where the API server does not answer."""
        pods = tuple(self._pods.items.copy().values())
        events = tuple(self._events.items.copy().values()) if self._events.synced else None
        nodes = tuple(self._nodes.items.copy().values()) if self._nodes.synced else None
        if self._reading is None or time.monotonic() - self._read_at > REFRESH_SECONDS:
            with Collector(self._connection, most_pages=MOST_PAGES) as collector:
                for reflector in (self._events, self._nodes):
                    if not reflector.synced:
                        collector.unread.append(Unread(reflector.resource.name, reflector.problem))
                labels = collector.part("namespaces", lambda: _labels(collector, self._namespace))
                listed: Listing[Object] = Listing(events or (), "" if events is not None else "unknown")
                offers: Listing[NodeOffer] = Listing(nodes or (), "" if nodes is not None else "unknown")
                self._reading = complete(
                    collector, self._namespace, pods, labels, listed, offers, self._profiles, self._system_namespace
                )
            self._read_at = time.monotonic()
        seconds = time.monotonic() - self._read_at
        reading = self._reading._replace(
            pods=pods,
            events=events,
            nodes=nodes,
            may_lack_claims=True,
            now=self._reading.now + timedelta(seconds=seconds),
        )
        return in_order(self._judged(reading)), (*reading.unread, *self._unreadable())

    def _unreadable(self) -> Iterator[Unread]:
        """Yield a few of the objects that are not as their kind prescribes."""
        for reflector in self._reflectors:
            broken = reflector.unreadable.copy()
            for (_, name), problem in list(broken.items())[:MOST_BROKEN]:
                what = f"{reflector.resource.name}/{name}"
                yield Unread(what, f"cannot be read, so that it is left out, or shown as it was: {problem}")
            if len(broken) > MOST_BROKEN:
                rest = f"{len(broken) - MOST_BROKEN:,} more cannot be read"
                yield Unread(reflector.resource.name, rest)

    def _judged(self, reading: StatusReading) -> list[JobStatus]:
        surroundings = (
            reading.nodes,
            reading.labels,
            reading.profiles,
            reading.networks,
            reading.claims,
            reading.claim_templates,
            reading.device_offers,
            None if reading.lease is None else judge_lease(reading.lease, reading.now).code,
        )
        if surroundings != self._surroundings:
            self._known, self._surroundings = {}, surroundings
        judge = Judge(reading)
        jobs = find_jobs(reading.pods, reading.labels)
        known: dict[tuple[str, str], tuple[StatusJob, Sequence[Object], JobStatus]] = {}
        for job in jobs:
            key, events = (job.namespace, job.name), judge.events_of(job.namespace)
            before = self._known.get(key)
            if before is not None and before[0] == job and before[1] == events and before[2].is_well:
                known[key] = before
            else:
                known[key] = (job, events, judge.of(job))
        self._known = known
        return [*(status for _, _, status in known.values()), *judge.without_pods(jobs)]

    def _follow(self, resource: Resource, keep: Callable[[Object], T | None]) -> Reflector[T]:
        def keep_checked(obj: Object) -> T | None:
            resource.check(obj)
            return keep(obj)

        return Reflector(
            self._connection,
            resource,
            keep_checked,
            on_change=lambda _key, _value: self._changed.set(),
            on_listed=self._changed.set,
            on_restart=lambda _resource, _reason: self._changed.set(),
        )


def keep_event(event: Object) -> Object | None:
    """Keep an Event that may say why something went wrong, or what a queue waits for."""
    kind = (event.get("involvedObject") or {}).get("kind")
    if event.get("type") == "Normal" and kind not in _QUEUES:
        return None
    return {**event, "involvedObject": event.get("involvedObject") or {}}


def _labels(collector: Collector, namespace: str) -> Mapping[str, Mapping[str, str]]:
    if not namespace:
        return {each.name: each.labels for each in collector.read_list(NAMESPACES, read_namespace).items}
    found: Namespace | None = collector.reader.find(NAMESPACES, ("", namespace), read_namespace)
    if found is None:
        raise InputError(f"-n {namespace}: there is no namespace of this name")
    return {namespace: found.labels}


def _label_time(collector: Collector, namespace: str) -> str:
    try:
        found = collector.reader.find(NAMESPACES, ("", namespace), label_time, managed_fields=True)
    except Unavailable:
        return ""
    return found or ""
