"""Read jobs and what they depend on: of one job by selector, of all in lists; each thing once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from webhook.core import names, podspec
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import devices
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles.objects import PROFILE_KIND
from webhook.core.reconcile.complaint import sibling_selector
from webhook.core.wording import listed
from webhook.core.workloads.systems import STATEFUL_POD
from webhook.diagnose.explain import queues
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob, networks_to_read
from webhook.diagnose.jobs import (
    NAME_LABELS,
    Job,
    JobKind,
    find_jobs,
    job_key,
    title,
)
from webhook.diagnose.pod_logs import read_logs
from webhook.diagnose.snapshot import Snapshot, Unread, at_once
from webhook.kube.catalogue import (
    EVENTS,
    NAMESPACES,
    NETWORK_POLICIES,
    NETWORKS,
    PODS,
    RESOURCE_CLAIM_TEMPLATES,
    RESOURCE_CLAIMS,
    WORKLOADS,
)
from webhook.kube.reader import whole
from webhook.kube.resource import Key, Resource, object_key
from webhook.world.profiles_read import ProfilesRead
from webhook.world.view import REFUSED, read_namespace

T = TypeVar("T")

_NAMED = 8
_WARNINGS = ("type!=Normal", "type=Normal,involvedObject.kind=PodGroup")
"""The Events that are read: Volcano says by a normal one why it lets no pods be made."""


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


def read_job(
    cluster: Snapshot, target: Target, *, logs: bool = False
) -> tuple[JobSnapshot, ObservedJob]:
    """Read what `explain` asks for in the cluster's namespace; *logs*: what NCCL prints too.

    Raises InputError where there is no such job or several of the name, Unavailable where the API
    server does not answer. What the caller may not read is noted, except pods.
    """
    job = _with_pods(cluster, "explain reads", partial(_find, cluster, target))
    snapshot = _read(cluster, [job], logs=logs)
    focus = target.name if target.kind == "pod" else ""
    found = snapshot.observe(job, str(target), focus=focus)
    if not (found.pods or found.events or found.workloads):
        raise _nothing(cluster, target, snapshot)
    return snapshot, found


def read_all(cluster: Snapshot, selector: str = "") -> tuple[JobSnapshot, list[Job]]:
    """Read what `status` judges: lists, and the jobs of the pods that *selector* chooses.

    Raises InputError where pods may not be listed, Unavailable where the API server does not
    answer. What else may not be read is noted.
    """
    pods = _with_pods(cluster, "status lists", partial(_pods, cluster, selector))
    jobs = find_jobs(pods)
    labels = _part(cluster, partial(_labels, cluster))
    if cluster.namespace and labels == {}:
        raise InputError(f"-n {cluster.namespace}: there is no namespace of this name")
    return _read(cluster, jobs), jobs


# the pods of one job


def _with_pods(cluster: Snapshot, does: str, read: Callable[[], T]) -> T:
    """Return what *read* does, for which the caller must be able to read pods."""
    cluster.ask_time()
    try:
        return read()
    except Unread as unread:
        problem = f"{unread.what}: {unread.problem}"
        if REFUSED not in problem:
            raise Unavailable(problem) from None
        space = cluster.namespace
        where = f"in namespace {space}" if space else "in all namespaces"
        advice = "ask for it" if space else "ask for it, or name a namespace of yours by -n"
        raise InputError(f"{problem}; {does} pods {where}: {advice}") from None


def _pods(cluster: Snapshot, selector: str = "") -> list[Object]:
    return list(_list(cluster, PODS.select(labels=selector) if selector else PODS))


def _find(cluster: Snapshot, target: Target) -> Job:
    """Return the job that is meant, without pods where there are none."""
    name, namespace = target.name, cluster.namespace
    nothing = Job(namespace, name, "" if target.kind == "selector" else name, "", ())
    if target.kind == "selector":
        return nothing._replace(pods=tuple(_pods(cluster, name)))
    if target.kind == "pod":
        pod = cluster.find(PODS, (namespace, name), whole)
        if pod is None:
            return nothing
        jobs = find_jobs([pod, *_siblings(cluster, [pod])])
        of_pod = [job for job in jobs if any(one is pod for one in job.pods)]
        return of_pod[0]._replace(owner=title(pod))
    pods = _pods(cluster, f"{names.JOB}={name}") if target.of_kind is None else []
    by_key = bool(pods)
    pods = [*pods, *_siblings(cluster, pods)] if by_key else _named(cluster, name, target.of_kind)
    jobs = [job for job in find_jobs(pods) if not by_key or name in map(job_key, job.pods)]
    live = [job for job in jobs if job.is_live]
    if len(live) > 1:
        listed = "\n".join(f"  job/{job}" for job in live)
        raise InputError(f"{target}: {len(live)} jobs are named so; name one by its key:\n{listed}")
    newest = sorted(jobs, key=lambda job: job.newest)
    chosen = (live or newest or [nothing])[-1]
    return chosen if by_key else chosen._replace(owner=name)


def _siblings(cluster: Snapshot, known: list[Object]) -> list[Object]:
    """Return further pods of the same job: above all a rank 0 that was not injected."""
    uids = {pod["metadata"].get("uid") for pod in known}
    selector = sibling_selector(known[0])
    found = _pods(cluster, selector) if selector else []
    return [pod for pod in found if pod["metadata"].get("uid") not in uids]


def _named(cluster: Snapshot, name: str, of_kind: JobKind | None) -> list[Object]:
    """Return the pods of what has this name, by the labels in which systems write it.

    Where no label does, as in a StatefulSet, the first pod's own name finds the others. Only where
    nothing is found are all pods listed: an operator that nobody knows may have made some.
    """
    selectors = [*(f"{label}={name}" for label in NAME_LABELS), f"{STATEFUL_POD}={name}-0"]
    lists = at_once([partial(_pods, cluster, each) for each in selectors])
    found = list({pod["metadata"].get("uid"): pod for each in lists for pod in each}.values())
    if len(found) == 1:
        found += _siblings(cluster, found)
    pods = found or _pods(cluster)
    if of_kind is not None:
        return [pod for pod in pods if name in of_kind.owners(pod)]
    owned = [pod for pod in pods if podspec.controller(pod).get("name") == name]
    return owned or found


def _nothing(cluster: Snapshot, target: Target, snapshot: JobSnapshot) -> InputError:
    hint = "name the job's namespace by -n"
    if snapshot.labels == {}:
        return InputError(f"{target}: namespace {cluster.namespace} does not exist; {hint}")
    there = {job.owner for job in find_jobs(_pods(cluster)) if podspec.controller(job.pods[0])}
    if there:
        hint = f"jobs there: {listed(sorted(there), _NAMED)}"
    lack = "no Event of an owner of that name (a suspended job has neither)"
    if snapshot.events is None:
        lack = "its Events may not be read"
    if snapshot.workloads is None:
        lack += ", nor may Kueue's Workloads be read"
    return InputError(
        f"{target}: namespace {cluster.namespace} has no such pod, and {lack}; {hint}"
    )


# what pods depend on


def _read(cluster: Snapshot, jobs: Sequence[Job], *, logs: bool = False) -> JobSnapshot:
    """Read what the pods of these jobs lead to."""
    pods = [pod for job in jobs for pod in job.pods]
    claims = [each for pod in pods for each in (pod.get("spec") or {}).get("resourceClaims") or ()]
    by_template = any(each.get("resourceClaimTemplateName") for each in claims)
    early = _together(
        labels=partial(_part, cluster, partial(_labels, cluster)),
        profiles=partial(read_profiles, cluster),
        nodes=partial(_part, cluster, cluster.nodes),
    )
    labels = early["labels"]
    known: ProfilesRead = early["profiles"] or ProfilesRead("")
    wanted = networks_to_read(pods, labels, known.profiles)
    templates = RESOURCE_CLAIM_TEMPLATES.metadata
    return JobSnapshot(
        now=cluster.now,
        labels=labels,
        profiles=known.profiles,
        unusable=known.unusable,
        not_ready=known.not_ready,
        nodes=early["nodes"],
        lease_key=(cluster.system_namespace, "fabric-injector"),
        **_together(
            events=partial(_part, cluster, partial(_events, cluster)),
            lease=partial(_part, cluster, lambda: cluster.lease() or {}),
            networks=partial(_networks, cluster, wanted),
            claims=partial(_by_name, cluster, RESOURCE_CLAIMS) if claims else dict,
            claim_templates=partial(_by_name, cluster, templates) if by_template else dict,
            device_offers=partial(_offers, cluster, pods, by_claim=bool(claims)),
            workloads=partial(_part, cluster, partial(_workloads, cluster, jobs)),
            policies=partial(_part, cluster, partial(_list, cluster, NETWORK_POLICIES)),
            logs=partial(read_logs, cluster, pods) if logs else lambda: None,
        ),
        unread=tuple(cluster.unread()),
    )


def _together(**parts: Callable[[], Any]) -> dict[str, Any]:
    """Return what these calls return, several made at a time."""
    return dict(zip(parts, at_once(list(parts.values())), strict=True))


def _part(cluster: Snapshot, read: Callable[[], T]) -> T | None:
    """Return what *read* does; None where that cannot be read, which is noted."""
    try:
        return read()
    except Unread as unread:
        cluster.note(unread.what, unread.problem)
        return None


def _list(cluster: Snapshot, resource: Resource) -> tuple[Object, ...]:
    return cluster.list_all(resource, whole, cluster.namespace, partly=True)


def _labels(cluster: Snapshot) -> Mapping[str, Mapping[str, str]]:
    if space := cluster.namespace:
        found = cluster.find(NAMESPACES, ("", space), read_namespace)
        return {space: found.labels} if found else {}
    return {each.name: each.labels for each in cluster.list_all(NAMESPACES, read_namespace)}


def _events(cluster: Snapshot) -> tuple[Object, ...]:
    chosen = (EVENTS.select(fields=fields) for fields in _WARNINGS)
    return tuple(event for each in chosen for event in _list(cluster, each))


def read_profiles(cluster: Snapshot) -> ProfilesRead | None:
    """Read the webhook's profiles; None where they cannot be used. What is wrong is noted."""
    unknown = "what pods would get today is unknown"
    read = _part(cluster, cluster.profiles)
    if read is None:
        return None
    for name in sorted(read.unusable):
        where = f"{PROFILE_KIND} {name}"
        faults = "; ".join(fault.message for fault in read.faults if fault.where == where)
        cluster.note(where, f"cannot be used ({faults}), so {unknown} of its pods")
    try:
        read.known()
    except InputError as error:
        cluster.note("profiles", f"{error}; {unknown}; name a file by --profiles")
        return None
    return read


def _networks(cluster: Snapshot, wanted: Sequence[Key]) -> Mapping[Key, Object | None]:
    """Return networks by name, None for one that does not exist; without those that are unread."""

    def read(key: Key) -> tuple[Object | None]:
        find = partial(cluster.reader.find, NETWORKS, key, whole)
        return (cluster.once((NETWORKS, key), f"network {'/'.join(key)}", find),)

    found = at_once([partial(_part, cluster, partial(read, key)) for key in wanted])
    return {key: one[0] for key, one in zip(wanted, found, strict=True) if one is not None}


def _by_name(cluster: Snapshot, resource: Resource) -> Mapping[Key, Object] | None:
    """Return objects by namespace and name; None where they cannot be read, or have no such API."""
    read = partial(cluster.list_optional, resource, whole, cluster.namespace, partly=True)
    found = _part(cluster, read)
    return None if found is None else {object_key(each): each for each in found}


def _offers(cluster: Snapshot, pods: Iterable[Object], *, by_claim: bool) -> DeviceOffers:
    """Read what claims give of the devices that these pods ask for."""
    asked = {each for pod in pods if not podspec.is_ending(pod) for each in devices(pod)}
    if not asked and not by_claim:
        return DeviceOffers()
    return cluster.device_offers(lambda offer: by_claim or any(map(offer.gives, asked)))


def _workloads(cluster: Snapshot, jobs: Sequence[Job]) -> tuple[Object, ...]:
    """List unfinished Workloads, in the version that their group prefers."""
    if jobs and not any(job.may_be_held() for job in jobs):
        return ()
    what, found = WORKLOADS.name, None
    group = cluster.once(what, what, partial(cluster.reader.preferred_version, WORKLOADS.group))
    if group:
        found = cluster.list_optional(WORKLOADS.at(group), queues.keep_workload, cluster.namespace)
    if found is None and (group or any(queues.is_gated(pod) for job in jobs for pod in job.pods)):
        lack = "this cluster serves no kueue.x-k8s.io, and a pod has its gate"
        lack = f"{group} serves no {what}" if group else lack
        raise Unread(what, f"{lack}; is Kueue installed as a whole?")
    return tuple(filter(None, found or ()))
