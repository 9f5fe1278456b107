"""Find the job that is asked for, and hold it as rules ask for it: its pods and what is of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import TypeVar

from webhook.core import names, podspec
from webhook.core.addresses.claim import Claim, read_claim, tell
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.reconcile import Member, beside_claims, read_member
from webhook.core.reconcile.complaint import sibling_selector
from webhook.core.review import Verdict, decide
from webhook.core.wording import listed
from webhook.core.workloads.systems import STATEFUL_POD
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.explain.pod_logs import read_logs
from webhook.diagnose.jobs import (
    FINISHED,
    NAME_LABELS,
    Job,
    JobKind,
    ObservedPod,
    find_jobs,
    is_gated,
    job_key,
    title,
)
from webhook.diagnose.snapshot import Snapshot, Unread, at_once
from webhook.diagnose.wording import event_time, natural, seconds_since
from webhook.kube.catalogue import RESOURCE_CLAIMS, WORKLOADS
from webhook.world.view import REFUSED

T = TypeVar("T")

_NAMED = 8


@dataclass(frozen=True)
class ObservedJob:
    """Hold one job, and what concerns it; None for what could not be read.

    *now* is the API server's time. *target* as ``job/train``; *owner* is the name that owners of
    its pods carry, ``train``. *focus* is the one pod that was asked for, else empty. *pods* are all
    that may belong to it, also finished ones. *labels*: of its namespace. *workloads*: those of
    Kueue that may hold it back. *logs*: by the name of each pod whose log was read; None where
    nobody asked for logs.
    """

    now: datetime
    target: str
    namespace: str
    owner: str = ""
    focus: str = ""
    pods: tuple[ObservedPod, ...] = ()
    labels: Mapping[str, str] | None = None
    events: tuple[Object, ...] | None = None
    workloads: tuple[Object, ...] | None = ()
    logs: Mapping[str, PodLog] | None = None

    @cached_property
    def live(self) -> tuple[ObservedPod, ...]:
        """Return the pods that are neither finished nor being deleted."""
        return tuple(pod for pod in self.pods if pod.is_live)

    @cached_property
    def members(self) -> Mapping[str, list[ObservedPod]]:
        """Return by the key of their job the pods that meet at an address."""
        found: dict[str, list[ObservedPod]] = {}
        for pod in self.pods:
            if pod.is_member and pod.member is not None:
                found.setdefault(pod.member.job, []).append(pod)
        return found

    @cached_property
    def groups(self) -> Mapping[str, list[ObservedPod]]:
        """Return by key all pods of each injected job: of a selector there may be several."""
        known = {pod.name: pod for pod in self.pods}
        found: dict[str, list[ObservedPod]] = {}
        for job in find_jobs(pod.pod for pod in self.pods):
            if job.key:
                pods = [known[pod["metadata"]["name"]] for pod in job.pods]
                found.setdefault(job.key, []).extend(pods)
        return found

    @property
    def warnings(self) -> tuple[Object, ...]:
        """Return its Events; none where they cannot be read."""
        return self.events or ()

    def last_words(self, *reasons: str) -> Mapping[str, str]:
        """Return by pod name the last message of an Event of each pod with one of the reasons."""
        found = [event for event in self.warnings if event.get("reason") in reasons]
        return {
            str((event.get("involvedObject") or {}).get("name")): str(event.get("message") or "")
            for event in sorted(found, key=event_time)
        }

    def age(self, pod: ObservedPod) -> float:
        """Return for how many seconds a pod has existed."""
        return seconds_since(pod.created, self.now) or 0.0

    def seconds_bound(self, pod: ObservedPod) -> float:
        """Return for how long a pod that is on a node has been there."""
        return seconds_since(pod.since("PodScheduled") or pod.created, self.now) or 0.0

    def seconds_waited(self, pod: ObservedPod) -> float | None:
        """Return for how long the wait step has run; None where it does not run."""
        running = pod.state_of(names.WAIT_CONTAINER).get("running")
        return None if running is None else seconds_since(running.get("startedAt"), self.now) or 0.0


def observe(
    snapshot: Snapshot,
    job: Job,
    target: str = "",
    *,
    focus: str = "",
    logs: bool = False,
    most: int | None = None,
) -> ObservedJob:
    """Return a job with what is read of it, its pods in the order of their names.

    *logs*: read what NCCL prints too. *most*: of how many injected pods of one role and status
    admission is asked; None for all.
    """
    alike: Counter[tuple[str | None, str | None]] = Counter()
    pods = []
    for pod in sorted(job.pods, key=lambda pod: natural(str(pod["metadata"].get("name")))):
        status = podspec.annotations(pod).get(names.STATUS)
        kind = podspec.labels(pod).get(names.RENDEZVOUS), status
        alike[kind] += 1
        is_asked = most is None or status is None or alike[kind] <= most
        verdict = judge_today(snapshot, pod) if is_asked else None
        pods.append(ObservedPod(pod, _member(snapshot, pod), verdict))
    space, concerns = job.namespace, job.concerns()
    events = snapshot.readable(partial(snapshot.events, space))
    return ObservedJob(
        now=snapshot.now,
        target=target or f"job/{job.name}",
        namespace=space,
        owner=job.owner,
        focus=focus,
        pods=tuple(pods),
        labels=(snapshot.readable(snapshot.labels) or {}).get(space),
        events=None if events is None else tuple(filter(concerns, events)),
        workloads=snapshot.readable(partial(_workloads, snapshot, job)),
        logs=read_logs(snapshot, pods) if logs else None,
    )


def judge_today(snapshot: Snapshot, pod: Object) -> Verdict | None:
    """Return what admission would decide today; None where that cannot be known."""
    read = snapshot.readable(snapshot.usable_profiles)
    if read is None or read.profiles is None:
        return None
    namespace = str(pod["metadata"].get("namespace") or "")
    try:
        space = snapshot.world.namespace(namespace)
        labels = {**(space.labels if space else {}), **podspec.labels(pod)}
        if labels.get(names.PROFILE) in read.unusable:
            return None  # the webhook may hold it with other content, or not at all
        return decide(pod, namespace, read.profiles, snapshot.world)
    except Unavailable:
        return None


def _member(snapshot: Snapshot, pod: Object) -> Member | None:
    live = (pod.get("status") or {}).get("phase") not in FINISHED
    member = read_member(pod) if live else None
    if member is not None and member.has_claims:
        users = snapshot.once("users of claims", "", partial(_claims_by_user, snapshot))
        member = beside_claims(member, tell(users.get((member.name, member.uid), ())))
    return member


def _claims_by_user(snapshot: Snapshot) -> Mapping[tuple[str, str], list[Claim]]:
    found: dict[tuple[str, str], list[Claim]] = {}
    claims = snapshot.readable(partial(snapshot.by_key, RESOURCE_CLAIMS)) or {}
    for claim in map(read_claim, claims.values()):
        for user in claim.users:
            found.setdefault(user, []).append(claim)
    return found


def _workloads(snapshot: Snapshot, job: Job) -> tuple[Object, ...]:
    """Return Kueue's Workloads of a job; they are read only where one may hold it back."""
    if not job.may_be_held():
        return ()
    found = snapshot.workloads(job.namespace)
    if found is None and any(map(is_gated, job.pods)):
        lack = "this cluster serves no kueue.x-k8s.io, and a pod has its gate"
        raise Unread(WORKLOADS.name, f"{lack}; is Kueue installed as a whole?")
    return job.held_by(found or ())


# which job is meant


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


def read_job(snapshot: Snapshot, target: Target, *, logs: bool = False) -> ObservedJob:
    """Read what `explain` asks for in the snapshot's namespace; *logs*: what NCCL prints too.

    Raises InputError where there is no such job or several of the name, Unavailable where the API
    server does not answer. What the caller may not read is noted, except pods.
    """
    job = _with_pods(snapshot, "explain reads", partial(_find, snapshot, target))
    _read_ahead(snapshot)
    focus = target.name if target.kind == "pod" else ""
    found = observe(snapshot, job, str(target), focus=focus, logs=logs)
    if not (found.pods or found.events or found.workloads):
        raise _nothing(snapshot, target, found)
    return found


def read_all(snapshot: Snapshot, selector: str = "") -> list[Job]:
    """Read what `status` judges: the jobs of the pods that *selector* chooses.

    Raises InputError where pods may not be listed, Unavailable where the API server does not
    answer. What else may not be read is noted.
    """
    pods = _with_pods(snapshot, "status lists", partial(snapshot.pods, selector))
    _read_ahead(snapshot)
    if snapshot.namespace and snapshot.readable(snapshot.labels) == {}:
        raise InputError(f"-n {snapshot.namespace}: there is no namespace of this name")
    return find_jobs(pods)


def _read_ahead(snapshot: Snapshot) -> None:
    """Read at a time what rules would else wait for one after the other."""
    events = partial(snapshot.events, snapshot.namespace)
    reads = (snapshot.labels, snapshot.usable_profiles, snapshot.nodes, snapshot.lease, events)
    at_once([partial(snapshot.readable, read) for read in reads])


def _with_pods(snapshot: Snapshot, does: str, read: Callable[[], T]) -> T:
    """Return what *read* does, for which the caller must be able to read pods."""
    snapshot.ask_time()
    try:
        return read()
    except Unread as unread:
        problem = str(unread)
        if REFUSED not in problem:
            raise Unavailable(problem) from None
        space = snapshot.namespace
        where = f"in namespace {space}" if space else "in all namespaces"
        advice = "ask for it" if space else "ask for it, or name a namespace of yours by -n"
        raise InputError(f"{problem}; {does} pods {where}: {advice}") from None


def _find(snapshot: Snapshot, target: Target) -> Job:
    """Return the job that is meant, without pods where there are none."""
    name, namespace = target.name, snapshot.namespace
    nothing = Job(namespace, name, "" if target.kind == "selector" else name, "", ())
    if target.kind == "selector":
        return nothing._replace(pods=snapshot.pods(name))
    if target.kind == "pod":
        pod = snapshot.pod(name)
        if pod is None:
            return nothing
        jobs = find_jobs([pod, *_siblings(snapshot, pod)])
        of_pod = [job for job in jobs if any(one is pod for one in job.pods)]
        return of_pod[0]._replace(owner=title(pod))
    keyed = snapshot.pods(f"{names.JOB}={name}") if target.of_kind is None else ()
    if keyed:
        jobs = find_jobs([*keyed, *_siblings(snapshot, *keyed)])
        jobs = [job for job in jobs if name in map(job_key, job.pods)]
    else:
        jobs = find_jobs(_named(snapshot, name, target.of_kind))
    live = [job for job in jobs if job.is_live]
    if len(live) > 1:
        found = "\n".join(f"  job/{job}" for job in live)
        raise InputError(f"{target}: {len(live)} jobs are named so; name one by its key:\n{found}")
    newest = sorted(jobs, key=lambda job: job.newest)
    chosen = (live or newest or [nothing])[-1]
    return chosen if keyed else chosen._replace(owner=name)


def _siblings(snapshot: Snapshot, *known: Object) -> list[Object]:
    """Return further pods of the same job: above all a rank 0 that was not injected."""
    uids = {pod["metadata"].get("uid") for pod in known}
    selector = sibling_selector(known[0])
    found = snapshot.pods(selector) if selector else ()
    return [pod for pod in found if pod["metadata"].get("uid") not in uids]


def _named(snapshot: Snapshot, name: str, of_kind: JobKind | None) -> list[Object]:
    """Return the pods of what has this name, by the labels in which systems write it.

    Where no label does, as in a StatefulSet, the first pod's own name finds the others. Only where
    nothing is found are all pods listed: an operator that nobody knows may have made some.
    """
    selectors = [*(f"{label}={name}" for label in NAME_LABELS), f"{STATEFUL_POD}={name}-0"]
    lists = at_once([partial(snapshot.pods, each) for each in selectors])
    found = list({pod["metadata"].get("uid"): pod for each in lists for pod in each}.values())
    if len(found) == 1:
        found += _siblings(snapshot, *found)
    pods = found or snapshot.pods()
    if of_kind is not None:
        return [pod for pod in pods if name in of_kind.owners(pod)]
    owned = [pod for pod in pods if podspec.controller(pod).get("name") == name]
    return owned or found


def _nothing(snapshot: Snapshot, target: Target, job: ObservedJob) -> InputError:
    hint = "name the job's namespace by -n"
    if snapshot.readable(snapshot.labels) == {}:
        return InputError(f"{target}: namespace {snapshot.namespace} does not exist; {hint}")
    jobs = find_jobs(snapshot.pods())
    there = {each.owner for each in jobs if podspec.controller(each.pods[0])}
    if there:
        hint = f"jobs there: {listed(sorted(there), _NAMED)}"
    lack = "no Event of an owner of that name (a suspended job has neither)"
    if job.events is None:
        lack = "its Events may not be read"
    if job.workloads is None:
        lack += ", nor may Kueue's Workloads be read"
    return InputError(
        f"{target}: namespace {snapshot.namespace} has no such pod, and {lack}; {hint}"
    )
