"""Read a job and what it depends on from the cluster: its pods first, then what they lead to, in parallel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, NamedTuple

from webhook.core import names, podspec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import devices, read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.core.reconcile.complaint import sibling_selector
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.device_offers import read_device_offers
from webhook.diagnose.collect.kueue import read_workloads
from webhook.diagnose.collect.logs import read_logs
from webhook.diagnose.collect.suspension import begin_suspended, suspended_jobs
from webhook.diagnose.explain.events import concerns
from webhook.diagnose.explain.holders import nodes_to_read
from webhook.diagnose.explain.judgement import networks_to_read
from webhook.diagnose.explain.kueue import may_be_held, workloads_of
from webhook.diagnose.explain.part import read_part
from webhook.diagnose.explain.reading import Reading, label_time
from webhook.diagnose.explain.selection import choose, find_jobs, known_names
from webhook.diagnose.injected import lacks_injection
from webhook.diagnose.job_kinds import JobKind
from webhook.diagnose.listing import Unread
from webhook.diagnose.owners import identity, title
from webhook.kube.catalogue import (
    EVENTS,
    LEASES,
    NAMESPACES,
    NETWORKS,
    NODES,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    UNFINISHED,
    WEBHOOK_CONFIGURATIONS,
)
from webhook.kube.claims_api import ClaimsApi
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import whole
from webhook.kube.resource import Key, Resource
from webhook.world.installed_profiles import beside_installed_settings, installed_profiles
from webhook.world.profiles_read import ProfilesRead

MOST_PAGES = 40
"""Twenty thousand objects of one kind: pods are held whole."""
_UNKNOWN = "what pods would get today is unknown; name a file by --profiles"
_NAMED = 8
_MOST_ROOTS = 4
"""Owners whose own children's Events are looked for: a JobSet has a Job for each replica, and those make nothing but pods."""


@dataclass(frozen=True, slots=True)
class Target:
    """Say what is to be explained: *kind* ``pod``, ``job`` or ``selector``; *of_kind*: of a job, which kind alone, as *written*."""

    kind: str
    name: str
    of_kind: JobKind | None = None
    written: str = ""

    def __str__(self) -> str:
        """Write it as it was given."""
        return (
            f"-l {self.name}"
            if self.kind == "selector"
            else f"{self.written or self.kind}/{self.name}"
        )


def read_job(
    connection: Connection,
    target: Target,
    namespace: str,
    *,
    profiles: ProfilesRead | None = None,
    system_namespace: str = "fabric-injector",
    progress: Callable[[str], None] = lambda _: None,
    logs: bool = False,
) -> Reading:
    """Read what `explain` asks for; *logs*: what NCCL prints too.

    Raises InputError where there are no such pods or several jobs of the name, Unavailable where the API server does not answer. What
    the caller may not read, but for pods, is named in the result and left out.
    """
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        try:
            pods, owner, focus = _find_pods(collector, target, namespace)
        except RequestFailed as problem:
            if not problem.is_refusal:
                raise
            hints = {
                401: "; log in to the cluster again",
                403: "; explain reads pods, ask for get and list of them",
            }
            raise InputError(f"{problem}{hints.get(problem.status, '')}") from None
        owners = {
            str(podspec.controller(pod).get("name")) for pod in pods if podspec.controller(pod)
        } | ({owner} - {""})
        roots = [owner] if owner else sorted(owners)[:_MOST_ROOTS] or [""]
        space_title, lease_key = f"namespace {namespace}", (system_namespace, "fabric-injector")
        reader = collector.reader
        space = collector.begin_part(
            space_title,
            lambda: reader.find(NAMESPACES, ("", namespace), whole, managed_fields=True),
        )
        nodes = collector.begin_part("nodes", lambda: collector.read_list(NODES, read_node).items)
        idle = owners | {title(pod) for pod in pods} if all(map(podspec.is_ending, pods)) else set()
        kind = target.of_kind.kind if target.of_kind else ""
        of_suspended = begin_suspended(collector, namespace, sorted(idle)[:_MOST_ROOTS], kind)
        of_workloads = collector.begin(
            lambda: _workloads(collector, target, namespace, pods, owner)
        )
        device_offers = begin_device_offers(collector, pods)
        of_claims = collector.begin(lambda: read_claims(collector, namespace, pods))
        of_configuration = collector.begin(
            lambda: is_configured(collector, any(map(lacks_injection, pods)))
        )
        lease = collector.begin_part(
            f"Lease {'/'.join(lease_key)}", lambda: reader.find(LEASES, lease_key, whole) or {}
        )
        of_owners = collector.begin_part(
            "Events",
            lambda: _list(collector, EVENTS.select(fields="involvedObject.kind!=Pod"), namespace),
        )
        known = collector.begin(lambda: read_profiles(collector, system_namespace, profiles))
        of_pods = (
            collector.part("Events", lambda: _pod_events(collector, namespace, pods))
            if pods
            else ()
        )
        read = space.result()
        labels = None if read is None else dict(podspec.labels(read))
        profiles = known.result()
        networks = read_networks(
            collector,
            networks_to_read(
                pods, namespace, labels or {}, profiles.profiles if profiles else None
            ),
        )
        neighbours = _neighbours(collector, nodes_to_read(pods, nodes.result() or ()))
        others = of_owners.result()
        events = None
        if of_pods is not None and others is not None:
            concerned = (
                event for event in others if any(concerns(event, each, owners) for each in roots)
            )
            events = (
                *of_pods,
                *(
                    event
                    for event in concerned
                    if not _is_of_another_kind(target, event.get("involvedObject") or {})
                ),
            )
        workloads, suspended = of_workloads.result(), suspended_jobs(of_suspended)
        if not pods and not events and not workloads and not suspended:
            if labels is None and not any(part.what == space_title for part in collector.unread):
                raise InputError(
                    f"{target}: namespace {namespace} does not exist; name the job's namespace by -n"
                )
            listed = known_names(_list(collector, PODS.metadata, namespace))
            hint = "; name the job's namespace by -n"
            if listed:
                hint = f"; jobs there: {', '.join(listed[:_NAMED])}{', …' if len(listed) > _NAMED else ''}"
            lack = (
                "no Event of an owner of that name"
                if events is not None
                else "its Events may not be read"
            )
            lack += ", nor may Kueue's Workloads be read" if workloads is None else ""
            raise InputError(f"{target}: namespace {namespace} has no such pod, and {lack}{hint}")
        of_spaces = of_claims.result()
        claims, claim_templates = (
            of_spaces.claims.get(namespace),
            of_spaces.templates.get(namespace),
        )
        found_logs = read_logs(collector, pods) if logs else None
    return Reading(
        str(target),
        namespace,
        reader.answered or datetime.now(UTC),
        pods=pods,
        owner=owner,
        focus=focus,
        labels=labels,
        labelled=label_time(read) if read else "",
        events=events,
        nodes=nodes.result(),
        neighbours=neighbours,
        networks=networks,
        profiles=profiles.profiles if profiles else None,
        unusable=profiles.unusable if profiles else frozenset(),
        generations=profiles.generations if profiles else {},
        not_ready=profiles.not_ready if profiles else {},
        claims=claims,
        claim_templates=claim_templates,
        device_offers=device_offers.result(),
        workloads=workloads,
        suspended=suspended,
        configured=of_configuration.result(),
        lease=lease.result(),
        lease_key=lease_key,
        logs=found_logs,
        unread=collector.notes(),
    )


def is_configured(collector: Collector, is_asked: bool) -> bool | None:
    """Tell whether the MutatingWebhookConfiguration exists; None where that is not *asked*, or it may not be read."""
    if not is_asked:
        return None
    resource = WEBHOOK_CONFIGURATIONS.metadata
    try:
        return collector.reader.find(resource, ("", names.WEBHOOK_CONFIGURATION), whole) is not None
    except Unavailable:
        return None


def _workloads(
    collector: Collector, target: Target, namespace: str, pods: Iterable[Object], owner: str
) -> tuple[Object, ...] | None:
    """Read the Workloads of the job; none are asked for where Kueue cannot hold it back."""
    listed = tuple(pods)
    if not may_be_held(listed):
        return ()
    found = read_workloads(collector, namespace, listed)
    return (
        None
        if found is None
        else tuple(
            each
            for each in workloads_of(found, listed, owner)
            if not _is_of_another_kind(target, podspec.controller(each))
        )
    )


def begin_device_offers(collector: Collector, pods: Iterable[Object]) -> Future[DeviceOffers]:
    """Begin to read what claims give of the devices that these pods ask for; nothing where they ask for none."""
    live = [pod for pod in pods if not podspec.is_ending(pod)]
    asked = {resource for pod in live for resource in devices(pod)}
    named = any((pod.get("spec") or {}).get("resourceClaims") for pod in live)
    if not asked and not named:
        return collector.begin(DeviceOffers)
    return collector.begin(
        lambda: read_device_offers(
            collector, lambda each: named or any(map(each.gives, asked)), is_noted=False
        )
    )


class ClaimsRead(NamedTuple):
    """Hold, by namespace, the ResourceClaims by name and the names of templates; nothing of what is not asked for or cannot be read."""

    claims: Mapping[str, Mapping[str, Object]] = {}
    templates: Mapping[str, frozenset[str]] = {}


def read_claims(collector: Collector, namespace: str, pods: Iterable[Object]) -> ClaimsRead:
    """Read what the pods' claims are, in each of their namespaces; *namespace* empty: the lists are of all."""
    entries = [
        (str(pod["metadata"]["namespace"]), each)
        for pod in pods
        for each in (pod.get("spec") or {}).get("resourceClaims") or ()
    ]
    if not entries:
        return ClaimsRead()
    api = ClaimsApi(collector.reader)
    try:
        claims, templates = api.served(RESOURCE_CLAIMS), api.served(RESOURCE_CLAIM_TEMPLATES)
    except Unavailable as error:
        collector.note("ResourceClaims", error)
        return ClaimsRead()
    if claims is None or templates is None:
        return ClaimsRead()
    found = collector.part("ResourceClaims", lambda: collector.read_list(claims, whole, namespace))
    by_name: dict[str, dict[str, Object]] = (
        {} if found is None else {space: {} for space, _ in entries}
    )
    for claim in found.items if found is not None else ():
        by_name.get(str(claim["metadata"]["namespace"]), {})[claim["metadata"]["name"]] = claim
    if not any(each.get("resourceClaimTemplateName") for _, each in entries):
        return ClaimsRead(by_name)
    listed = collector.part(
        "ResourceClaimTemplates",
        lambda: collector.read_list(templates.metadata, _key, namespace).known,
    )
    of_spaces: dict[str, set[str]] = (
        {} if listed is None else {space: set() for space, _ in entries}
    )
    for space, name in listed or ():
        of_spaces.get(space, set()).add(name)
    return ClaimsRead(by_name, {space: frozenset(known) for space, known in of_spaces.items()})


def _key(obj: Object) -> tuple[str, str]:
    return str(obj["metadata"]["namespace"]), str(obj["metadata"]["name"])


def _find_pods(
    collector: Collector, target: Target, namespace: str
) -> tuple[tuple[Object, ...], str, str]:
    """Return the pods that may be of the job, the name of its owner, and the one pod that was asked for."""
    name = target.name
    if target.kind == "selector":
        return _list(collector, PODS.select(labels=name), namespace), "", ""
    if target.kind == "pod":
        pod = collector.reader.find(PODS, (namespace, name), whole)
        if pod is None:
            return (), name, name
        key = read_part(pod).job
        others = _of_key(collector, namespace, key, pod) if key else ()
        return (
            (pod, *(each for each in others if each["metadata"]["uid"] != pod["metadata"]["uid"])),
            "",
            name,
        )
    if target.of_kind is None and (labelled := _of_key(collector, namespace, name)):
        return labelled, "", ""
    jobs = find_jobs(_list(collector, PODS.metadata, namespace), name, target.of_kind)
    if not jobs:
        return (), name, ""
    first = choose(jobs) if len(jobs) == 1 else None
    if first is None:
        unfinished = _list(collector, PODS.metadata.select(fields=UNFINISHED), namespace)
        live = {str(pod["metadata"]["name"]) for pod in unfinished}
        for job in jobs:
            job.live = len(live & job.pods.keys())
        first = choose(jobs)
    if first is None:
        listed = "\n".join(f"  job/{job}" for job in jobs)
        raise InputError(f"{target}: {len(jobs)} jobs are named so; name one by its key:\n{listed}")
    selector = sibling_selector(next(iter(first.pods.values())))
    if first.key and not (first.has_more_keys and selector):
        return _of_key(collector, namespace, first.key), name, ""
    found = _list(collector, PODS.select(labels=selector), namespace)
    return tuple(pod for pod in found if pod["metadata"]["name"] in first.pods), name, ""


def _is_of_another_kind(target: Target, subject: Mapping[str, Any]) -> bool:
    return target.of_kind is not None and target.of_kind.is_other(subject, target.name)


def _of_key(collector: Collector, namespace: str, key: str, *known: Object) -> tuple[Object, ...]:
    """Return the pods of this key, *known* where there are none, and those of the same job that carry no label of ours.

    Above all a rank 0 that was not injected.
    """
    labelled = _list(collector, PODS.select(labels=f"{names.JOB}={key}"), namespace) or known
    if not labelled:
        return ()
    selector = sibling_selector(labelled[0])
    if not selector:
        return labelled
    owners = {identity(pod) for pod in labelled} - {""}
    keys = {read_part(pod).job for pod in labelled[:1]}
    others = _list(collector, PODS.select(labels=f"{selector},!{names.JOB}"), namespace)
    same = [pod for pod in others if identity(pod) in owners or read_part(pod).job in keys]
    return (*labelled, *same)


def _list(collector: Collector, resource: Resource, namespace: str = "") -> tuple[Object, ...]:
    return collector.read_list(resource, whole, namespace).items


def _pod_events(collector: Collector, namespace: str, pods: Iterable[Object]) -> tuple[Object, ...]:
    """Return the Events of these pods that are warnings."""
    listed = {str(pod["metadata"]["name"]) for pod in pods}
    fields = "involvedObject.kind=Pod,type!=Normal"
    if len(listed) == 1:
        fields += f",involvedObject.name={next(iter(listed))}"
    found = _list(collector, EVENTS.select(fields=fields), namespace)
    return tuple(
        event for event in found if (event.get("involvedObject") or {}).get("name") in listed
    )


def _neighbours(
    collector: Collector, nodes: Iterable[str]
) -> Mapping[str, tuple[Object, ...]] | None:
    """Return the pods of all namespaces on these nodes; None where the caller, as most researchers, may not list them."""

    def begin(node: str) -> Future[tuple[Object, ...]]:
        return collector.begin(
            lambda: _list(collector, PODS.select(fields=f"spec.nodeName={node},{UNFINISHED}"))
        )

    begun = {node: begin(node) for node in nodes}
    try:
        return {node: pods.result() for node, pods in begun.items()}
    except Unavailable:
        return None


def read_networks(collector: Collector, wanted: Iterable[Key]) -> Mapping[Key, Object | None]:
    """Return the networks by name, None for one that does not exist; one that cannot be read is noted and not there."""

    def begin(key: Key) -> Future[tuple[Object | None] | None]:
        return collector.begin_part(
            f"network {'/'.join(key)}", lambda: (collector.reader.find(NETWORKS, key, whole),)
        )

    begun = {key: begin(key) for key in wanted}
    return {
        key: found[0] for key, network in begun.items() if (found := network.result()) is not None
    }


def read_profiles(
    collector: Collector, namespace: str, given: ProfilesRead | None
) -> ProfilesRead | None:
    """Read the profiles that the webhook uses, or what the *given* ones lack; what cannot be read or used is noted."""
    try:
        if given is not None:
            read = beside_installed_settings(collector.reader, namespace, given)
        else:
            read = installed_profiles(collector.reader, namespace)
    except Unavailable as error:
        collector.unread.append(Unread("profiles", f"cannot be read, so {_UNKNOWN}: {error}"))
        return given
    if read.unread:
        collector.unread.append(Unread("settings", read.unread))
    for name in sorted(read.unusable):
        faults = "; ".join(
            fault.message for fault in read.faults if fault.where == f"{PROFILE_KIND} {name}"
        )
        told = (
            f"cannot be used as it stands ({faults}), so what its pods would get today is unknown"
        )
        collector.unread.append(Unread(f"{PROFILE_KIND} {name}", told))
    try:
        read.known()
    except InputError as error:
        collector.unread.append(Unread("profiles", f"{error}; {_UNKNOWN}"))
        return None
    return read
