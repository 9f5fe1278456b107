"""Read jobs and what they depend on: of one job by selector, of all in lists; each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any, NamedTuple, TypeVar

from webhook.core import names, podspec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import devices, read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.core.reconcile.complaint import sibling_selector
from webhook.core.workloads.systems import STATEFUL_POD
from webhook.diagnose.collect.collector import Collector, without_pods
from webhook.diagnose.collect.device_offers import read_device_offers
from webhook.diagnose.collect.logs import read_logs
from webhook.diagnose.explain.judge import observe_job
from webhook.diagnose.explain.judgement import networks_to_read
from webhook.diagnose.explain.queues import (
    is_gated,
    keep_suspended,
    keep_workload,
    may_be_held,
    outermost,
)
from webhook.diagnose.explain.scheduling import nodes_to_read
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob, label_time, owners_of
from webhook.diagnose.jobs import NAME_LABELS, Job, JobKind, find_jobs, lacks_injection, title
from webhook.diagnose.listing import Unread
from webhook.kube.catalogue import (
    EVENTS,
    JOBS,
    LEASES,
    NAMESPACES,
    NETWORK_POLICIES,
    NETWORKS,
    NODES,
    POD_GROUPS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    UNFINISHED,
    WEBHOOK_CONFIGURATIONS,
    WORKLOADS,
)
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import whole
from webhook.kube.resource import Key, Resource
from webhook.world.held import read_namespace
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead

T = TypeVar("T")

MOST_PAGES = 400
_NAMED = 8
_MOST_ROOTS = 4
"""Names of suspended jobs that are asked for one by one."""
_MOST_SPACES = 50
"""Namespaces of jobs that lack injection of which the time of the label is asked for."""
_WORKLOADS = "Kueue's Workloads"


@dataclass(frozen=True, slots=True)
class Target:
    """Say what is to be explained: *kind* ``pod``, ``job`` or ``selector``.

    *of_kind*: of a job, only this kind, as *written*.
    """

    kind: str
    name: str
    of_kind: JobKind | None = None
    written: str = ""

    def __str__(self) -> str:
        """Write it as it was given."""
        if self.kind == "selector":
            return f"-l {self.name}"
        return f"{self.written or self.kind}/{self.name}"


class Asked(NamedTuple):
    """Say how to read: *namespace* empty for all; *profiles*: of a file."""

    namespace: str = ""
    system_namespace: str = "fabric-injector"
    profiles: ProfilesRead | None = None
    progress: Callable[[str], None] = lambda _: None


def read_job(
    connection: Connection, target: Target, asked: Asked, *, logs: bool = False
) -> tuple[JobSnapshot, ObservedJob]:
    """Read what `explain` asks for; *logs*: what NCCL prints too.

    Raises InputError where there is no such job or several of the name, Unavailable where the API
    server does not answer. What the caller may not read is noted, except pods.
    """
    with Collector(connection, asked.progress, most_pages=MOST_PAGES) as collector:
        reading = _Reading(collector, asked)
        try:
            job = _find(collector, target, asked.namespace)
        except RequestFailed as problem:
            raise without_pods(problem, asked.namespace, "explain", "reads") from None
        owners = owners_of(job.pods, job.owner) | set(map(title, job.pods))
        idle = () if job.is_live else sorted(owners - {""})[:_MOST_ROOTS]
        kind = target.of_kind.kind if target.of_kind else ""
        suspended = _begin_suspended(collector, asked.namespace, idle, kind)
        nodes = reading.nodes.result() or ()
        neighbours = _neighbours(collector, nodes_to_read(job.pods, nodes))
        found_logs = read_logs(collector, job.pods) if logs else None
        snapshot = reading.finish([job], suspended, neighbours=neighbours, logs=found_logs)
    focus = target.name if target.kind == "pod" else ""
    found = observe_job(snapshot, job, str(target), focus=focus, of_kind=target.of_kind)
    if not (found.pods or found.events or found.workloads or found.pod_groups or found.suspended):
        raise _nothing(connection, target, snapshot, asked.namespace)
    return snapshot, found


def read_all(
    connection: Connection, asked: Asked, selector: str = ""
) -> tuple[JobSnapshot, list[Job]]:
    """Read what `status` judges: lists, and the jobs of the pods that *selector* chooses.

    Raises InputError where pods may not be listed, Unavailable where the API server does not
    answer. What else may not be read is noted.
    """
    with Collector(connection, asked.progress, most_pages=MOST_PAGES) as collector:
        reading = _Reading(collector, asked)
        try:
            pods = _list(collector, PODS.select(labels=selector), asked.namespace)
        except RequestFailed as error:
            raise without_pods(error, asked.namespace, "status") from None
        jobs = find_jobs(pods)
        spaces = reading.labels.result() or {}
        if asked.namespace and reading.labels.result() == {}:
            raise InputError(f"-n {asked.namespace}: there is no namespace of this name")
        is_wanted = any(names.PROFILE in labels for labels in spaces.values())
        suspended = _begin_suspended(collector, asked.namespace) if is_wanted else []
        return reading.finish(jobs, suspended), jobs


# the pods of one job


def _find(collector: Collector, target: Target, namespace: str) -> Job:
    """Return the job that is meant, without pods where there are none."""
    name = target.name
    nothing = Job(namespace, name, "" if target.kind == "selector" else name, "", ())
    if target.kind == "selector":
        return nothing._replace(pods=_list(collector, PODS.select(labels=name), namespace))
    if target.kind == "pod":
        pod = collector.reader.find(PODS, (namespace, name), whole)
        if pod is None:
            return nothing
        jobs = find_jobs([pod, *_siblings(collector, namespace, [pod])])
        of_pod = [job for job in jobs if any(one is pod for one in job.pods)]
        return of_pod[0]._replace(owner=title(pod))
    pods = list(_list(collector, PODS.select(labels=f"{names.JOB}={name}"), namespace))
    by_key = bool(pods) and target.of_kind is None
    if by_key:
        pods += _siblings(collector, namespace, pods)
    else:
        pods = _named(collector, namespace, name, target.of_kind)
    jobs = [job for job in find_jobs(pods) if not by_key or name in _keys(job)]
    live = [job for job in jobs if job.is_live]
    if len(live) > 1:
        listed = "\n".join(f"  job/{job}" for job in live)
        raise InputError(f"{target}: {len(live)} jobs are named so; name one by its key:\n{listed}")
    newest = sorted(jobs, key=lambda job: max(_created(pod) for pod in job.pods))
    chosen = (live or newest or [nothing])[-1]
    return chosen if by_key else chosen._replace(owner=name)


def _keys(job: Job) -> set[str]:
    return {podspec.labels(pod).get(names.JOB, "") for pod in job.pods}


def _created(pod: Object) -> str:
    return str(pod["metadata"].get("creationTimestamp") or "")


def _siblings(collector: Collector, namespace: str, known: list[Object]) -> Iterator[Object]:
    """Yield further pods of the same job: above all a rank 0 that was not injected."""
    uids = {pod["metadata"].get("uid") for pod in known}
    if selector := sibling_selector(known[0]):
        for pod in _list(collector, PODS.select(labels=selector), namespace):
            if pod["metadata"].get("uid") not in uids:
                yield pod


def _named(
    collector: Collector, namespace: str, name: str, of_kind: JobKind | None
) -> list[Object]:
    """Return the pods of what has this name, by the labels in which systems write it.

    Where no label does, as in a StatefulSet, the first pod's own name finds the others. Only where
    nothing is found are all pods listed: an operator that nobody knows may have made some.
    """
    selectors = [f"{label}={name}" for label in NAME_LABELS]
    selectors.append(f"{STATEFUL_POD}={name}-0")
    begun = [
        collector.begin(partial(_list, collector, PODS.select(labels=each), namespace))
        for each in selectors
    ]
    found = {pod["metadata"].get("uid"): pod for each in begun for pod in each.result()}
    if len(found) == 1:
        [first] = found.values()
        others = _siblings(collector, namespace, [first])
        found |= {pod["metadata"].get("uid"): pod for pod in others}
    pods = list(found.values()) or list(_list(collector, PODS, namespace))
    if of_kind is not None:
        return [pod for pod in pods if of_kind.owns(pod, name)]
    owned = [pod for pod in pods if podspec.controller(pod).get("name") == name]
    return owned or list(found.values())


def _nothing(
    connection: Connection, target: Target, snapshot: JobSnapshot, namespace: str
) -> InputError:
    if snapshot.labels == {}:
        lack = f"namespace {namespace} does not exist; name the job's namespace by -n"
        return InputError(f"{target}: {lack}")
    with Collector(connection, most_pages=MOST_PAGES) as collector:
        pods = _list(collector, PODS.metadata, namespace)
    there = sorted({job.owner for job in find_jobs(pods) if podspec.controller(job.pods[0])})
    hint = "; name the job's namespace by -n"
    if there:
        more = ", …" if len(there) > _NAMED else ""
        hint = f"; jobs there: {', '.join(there[:_NAMED])}{more}"
    lack = "no Event of an owner of that name"
    if snapshot.events is None:
        lack = "its Events may not be read"
    if snapshot.workloads is None:
        lack += ", nor may Kueue's Workloads be read"
    return InputError(f"{target}: namespace {namespace} has no such pod, and {lack}{hint}")


# what pods depend on


class _Reading:
    """Begin to read what no pod needs to be known for; `finish` reads the rest."""

    def __init__(self, collector: Collector, asked: Asked) -> None:
        self._collector, self._namespace = collector, asked.namespace
        self._lease_key = (asked.system_namespace, "fabric-injector")
        what = f"namespace {asked.namespace}" if asked.namespace else "namespaces"
        self.labels = collector.begin_part(what, self._read_labels)
        self.nodes = collector.begin_part("nodes", partial(_list_read, collector, NODES, read_node))
        self._events = [
            self._begin_list("Events", EVENTS.select(fields=fields))
            for fields in ("type!=Normal", "type=Normal,involvedObject.kind=PodGroup")
        ]
        self._lease = collector.begin_part(
            f"Lease {'/'.join(self._lease_key)}",
            lambda: collector.reader.find(LEASES, self._lease_key, whole) or {},
        )
        self._profiles = collector.begin(
            partial(read_profiles, collector, asked.system_namespace, asked.profiles)
        )

    def finish(
        self,
        jobs: Iterable[Job],
        suspended: Iterable[Future[tuple[Object, ...]]],
        *,
        neighbours: Mapping[str, tuple[Object, ...]] | None = None,
        **more: Any,
    ) -> JobSnapshot:
        """Read what the pods lead to, and put all together."""
        collector = self._collector
        jobs = list(jobs)
        pods = [pod for job in jobs for pod in job.pods]
        labels, profiles = self.labels.result(), self._profiles.result()
        lacking = {job.namespace for job in jobs if any(map(lacks_injection, job.pods))}
        offers = self._begin_offers(pods)
        claims = collector.begin(partial(self._read_claims, pods))
        workloads = self._begin_workloads(pods)
        groups = self._begin_allowed(POD_GROUPS)
        policies = self._begin_allowed(NETWORK_POLICIES)
        configured = collector.begin(partial(_is_configured, collector)) if lacking else None
        examples = [pod for job in jobs for pod in _examples(job)]
        wanted = networks_to_read(examples, labels, profiles.profiles if profiles else None)
        networks = _read_networks(collector, wanted)
        labelled = {
            space: _label_time(collector, space) for space in sorted(lacking)[:_MOST_SPACES]
        }
        events = [each.result() for each in self._events]
        by_space, templates = claims.result()
        known = profiles or ProfilesRead("")
        return JobSnapshot(
            collector.reader.answered or datetime.now(UTC),
            labels,
            labelled,
            None if None in events else tuple(each for part in events for each in part or ()),
            self.nodes.result(),
            neighbours,
            networks,
            known.profiles,
            known.unusable,
            known.not_ready,
            by_space,
            templates,
            offers.result(),
            workloads.result(),
            groups.result(),
            outermost(job for each in suspended for job in each.result()),
            policies.result(),
            configured.result() if configured else None,
            self._lease.result(),
            self._lease_key,
            unread=collector.notes(),
            **more,
        )

    def _read_labels(self) -> Mapping[str, Mapping[str, str]]:
        reader, space = self._collector.reader, self._namespace
        if space:
            found = reader.find(NAMESPACES, ("", space), read_namespace)
            return {space: found.labels} if found else {}
        listed = _list_read(self._collector, NAMESPACES, read_namespace)
        return {each.name: each.labels for each in listed}

    def _begin_list(self, what: str, resource: Resource) -> Future[tuple[Object, ...] | None]:
        read = partial(_list, self._collector, resource, self._namespace)
        return self._collector.begin_part(what, read)

    def _begin_allowed(self, resource: Resource) -> Future[tuple[Object, ...]]:
        """Begin to list what many may not read, and most clusters do not have."""
        read = partial(_list, self._collector, resource, self._namespace)
        return self._collector.begin(partial(_allowed, self._collector, resource.name, read))

    def _begin_offers(self, pods: Iterable[Object]) -> Future[DeviceOffers]:
        """Begin to read what claims give of the devices that these pods ask for."""
        live = [pod for pod in pods if not podspec.is_ending(pod)]
        asked = {resource for pod in live for resource in devices(pod)}
        named = any((pod.get("spec") or {}).get("resourceClaims") for pod in live)
        if not asked and not named:
            return self._collector.begin(DeviceOffers)
        return self._collector.begin(
            lambda: read_device_offers(
                self._collector,
                lambda offer: named or any(map(offer.gives, asked)),
                is_noted=False,
            )
        )

    def _begin_workloads(self, pods: list[Object]) -> Future[tuple[Object, ...] | None]:
        if not may_be_held(pods):
            return self._collector.begin(tuple[Object, ...])
        return self._collector.begin_part(_WORKLOADS, partial(self._read_workloads, pods))

    def _read_workloads(self, pods: Iterable[Object]) -> tuple[Object, ...]:
        """List unfinished Workloads, in the version that their group prefers."""
        collector = self._collector
        group = collector.reader.preferred_version(WORKLOADS.group)
        if group:
            found = collector.read_list(WORKLOADS.at(group), keep_workload, self._namespace)
            if found.installed:
                return tuple(each for each in found.items if each is not None)
            raise Unavailable(f"{group} serves no workloads; is Kueue installed as a whole?")
        if any(map(is_gated, pods)):
            lack = "this cluster serves no kueue.x-k8s.io, and a pod has its gate"
            raise Unavailable(f"{lack}; is Kueue installed as a whole?")
        return ()

    def _read_claims(
        self, pods: Iterable[Object]
    ) -> tuple[Mapping[str, Mapping[str, Object]], Mapping[str, frozenset[str]]]:
        """Return by namespace the ResourceClaims by name, and the names of templates."""
        entries = [
            (str(pod["metadata"]["namespace"]), each)
            for pod in pods
            for each in (pod.get("spec") or {}).get("resourceClaims") or ()
        ]
        collector, what = self._collector, RESOURCE_CLAIMS.name
        api = ClaimsApi(collector.reader)
        served = collector.part(what, lambda: api.served(RESOURCE_CLAIMS)) if entries else None
        if served is None:
            return {}, {}
        spaces = {space for space, _ in entries}
        listed = collector.part(what, partial(_list, collector, served, self._namespace))
        claims: dict[str, dict[str, Object]] = {}
        if listed is not None:
            claims = {space: {} for space in spaces}
        for claim in listed or ():
            claims.get(claim["metadata"]["namespace"], {})[claim["metadata"]["name"]] = claim
        templates: dict[str, frozenset[str]] = {}
        resource = api.served(RESOURCE_CLAIM_TEMPLATES)
        if resource and any(each.get("resourceClaimTemplateName") for _, each in entries):
            read = partial(_list, collector, resource.metadata, self._namespace)
            if (found := collector.part(RESOURCE_CLAIM_TEMPLATES.name, read)) is not None:
                keys = [(each["metadata"]["namespace"], each["metadata"]["name"]) for each in found]
                templates = {
                    space: frozenset(name for of, name in keys if of == space) for space in spaces
                }
        return claims, templates


def _examples(job: Job) -> Iterable[Object]:
    """Return pods of a job of which others ask for the same networks."""
    kinds: dict[object, Object] = {}
    for pod in job.pods:
        told = podspec.annotations(pod)
        key = told.get(names.NETWORKS), told.get(names.DEFAULT_NETWORK), names.STATUS in told
        kinds.setdefault((*key, podspec.labels(pod).get(names.PROFILE)), pod)
    return kinds.values()


def _list(collector: Collector, resource: Resource, namespace: str = "") -> tuple[Object, ...]:
    return _list_read(collector, resource, whole, namespace)


def _list_read(
    collector: Collector, resource: Resource, read: Callable[[Object], T], namespace: str = ""
) -> tuple[T, ...]:
    return collector.read_list(resource, read, namespace).items


def _begin_suspended(
    collector: Collector, namespace: str, named: Iterable[str] | None = None, kind: str = ""
) -> list[Future[tuple[Object, ...]]]:
    """Begin to look at suspended jobs, all or those of these names; *kind*: only at this one."""

    def find(made: str, resource: Resource, name: str) -> tuple[Object, ...]:
        read = partial(keep_suspended, kind=made)
        found = collector.reader.find(resource, (namespace, name), read)
        return () if found is None else (found,)

    def find_all(made: str, resource: Resource) -> tuple[Object, ...]:
        read = partial(keep_suspended, kind=made)
        return tuple(filter(None, _list_read(collector, resource, read, namespace)))

    begun: list[Future[tuple[Object, ...]]] = []
    for made, resource in JOBS:
        reads = [partial(find_all, made, resource)]
        if named is not None:
            reads = [partial(find, made, resource, name) for name in named]
        if kind in ("", made):
            begun += [
                collector.begin(partial(_allowed, collector, resource.name, read)) for read in reads
            ]
    return begun


def _allowed(
    collector: Collector, what: str, read: Callable[[], tuple[Object, ...]]
) -> tuple[Object, ...]:
    """Return what *read* does; nothing is said of what the caller may not read."""
    try:
        return read()
    except Unavailable as error:
        if not (isinstance(error, RequestFailed) and error.is_refusal):
            collector.note(what, error)
        return ()


def _is_configured(collector: Collector) -> bool | None:
    """Tell whether the MutatingWebhookConfiguration exists; None where it may not be read."""
    resource = WEBHOOK_CONFIGURATIONS.metadata
    try:
        return collector.reader.find(resource, ("", names.WEBHOOK_CONFIGURATION), whole) is not None
    except Unavailable:
        return None


def _label_time(collector: Collector, namespace: str) -> str:
    try:
        found = collector.reader.find(NAMESPACES, ("", namespace), label_time, managed_fields=True)
    except Unavailable:
        return ""
    return found or ""


def _neighbours(
    collector: Collector, nodes: Iterable[str]
) -> Mapping[str, tuple[Object, ...]] | None:
    """Return the pods of all namespaces on these nodes; None where the caller may not list them."""
    begun = {
        node: collector.begin(
            partial(_list, collector, PODS.select(fields=f"spec.nodeName={node},{UNFINISHED}"))
        )
        for node in nodes
    }
    try:
        return {node: pods.result() for node, pods in begun.items()}
    except Unavailable:
        return None


def _read_networks(collector: Collector, wanted: Iterable[Key]) -> Mapping[Key, Object | None]:
    """Return networks by name, None for one that does not exist; without those that are unread."""

    def read(key: Key) -> tuple[Object | None]:
        return (collector.reader.find(NETWORKS, key, whole),)

    begun = {
        key: collector.begin_part(f"network {'/'.join(key)}", partial(read, key)) for key in wanted
    }
    found = {key: each.result() for key, each in begun.items()}
    return {key: one[0] for key, one in found.items() if one is not None}


def read_profiles(
    collector: Collector, namespace: str, given: ProfilesRead | None
) -> ProfilesRead | None:
    """Read the webhook's profiles, or what the *given* ones lack; what cannot be used is noted."""
    unknown = "what pods would get today is unknown; name a file by --profiles"
    try:
        if given is not None:
            read = beside_installed_settings(collector.reader, namespace, given)
        else:
            read = installed_profiles(collector.reader, namespace)
    except Unavailable as error:
        collector.unread.append(Unread("profiles", f"cannot be read, so {unknown}: {error}"))
        return given
    if read.unread:
        collector.unread.append(Unread("settings", read.unread))
    for name in sorted(read.unusable):
        where = f"{PROFILE_KIND} {name}"
        faults = "; ".join(fault.message for fault in read.faults if fault.where == where)
        told = f"cannot be used ({faults}), so what its pods would get today is unknown"
        collector.unread.append(Unread(where, told))
    try:
        read.known()
    except InputError as error:
        collector.unread.append(Unread("profiles", f"{error}; {unknown}"))
        return None
    return read
