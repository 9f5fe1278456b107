"""Say why a job makes no pods, or only gated ones: Kueue, Volcano or its owner holds it back.

Source: kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go, pkg/controller/constants,
pkg/scheduler/flavorassigner (0.19.2); volcano.sh/apis scheduling/v1beta1, pkg/scheduler/actions and
plugins (1.12); ``suspend`` of batch/v1, jobset, trainer, training-operator, mpi-operator, kuberay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.systems import KUEUE
from webhook.diagnose.explain.observation import (
    Observation,
    Stage,
    common_form,
    event_time,
    fail,
    observe,
    seconds_since,
    warn,
)
from webhook.diagnose.explain.snapshot import JobSnapshot, ObservedJob
from webhook.diagnose.finding import Code, Level
from webhook.diagnose.jobs import identity, title
from webhook.diagnose.wording import listed

KUEUE_INADMISSIBLE = Code(
    "kueue-inadmissible",
    "scheduling",
    "Kueue cannot admit the job as it stands, whatever becomes free.",
    "correct what is named: the job's queue-name, the LocalQueue or its ClusterQueue",
)
KUEUE_EVICTED = Code(
    "kueue-evicted",
    "scheduling",
    "Kueue admitted the job, took its quota back and stopped it.",
    "it waits in its queue again: wait for the job that took its place, or raise the priority",
)
KUEUE_WAITING = Code(
    "kueue-waiting",
    "scheduling",
    "Kueue has not admitted the job: what its queue may use is taken.",
    "wait until other jobs of the queue have ended, or ask for more quota of what is named",
)
QUEUE_WAITING = Code(
    "queue-waiting",
    "scheduling",
    "The pod waits for a queue or a quota.",
    "look at the queue and its quota: does it exist, is it active, and what is free in it?",
)
JOB_SUSPENDED = Code(
    "job-suspended",
    "members",
    "The job is suspended, so it makes no pods.",
    "set suspend: false in its spec or its runPolicy, or ask whoever suspended it",
)

_JOB_UID = KUEUE + "job-uid"
_QUEUE = KUEUE + "queue-name"
_NEVER = ("unavailable in ClusterQueue", "> maximum capacity")
"""What Kueue says of a request that no job's end makes room for."""
_HOPELESS = ("Inadmissible", "Misconfigured", "Suspended", "NoMatchingFlavor", "ExceedsMaxQuota")
"""Reasons of QuotaReserved that no job's end changes: Kueue before 0.19 writes the first only."""
_MAY_COME = "insufficient unused quota"
_SOON_SECONDS = 30.0
_MOST_TEXT = 600
_BEYOND_QUOTA = "ask for less, or let an administrator add it to the ClusterQueue"
_NOT_READY = "correct what the other findings say: its pods did not become ready in time"
_ACTIVATE = "end the cause that is named, then set spec.active: true on the Workload"


class Hold(NamedTuple):
    """Say why a Workload does not run: what Kueue *does*, as ``cannot admit {}``, what it *said*.

    *remedy*: what to do; None for what the code says.
    """

    level: Level
    code: Code
    does: str
    said: str
    remedy: str | None = None


def keep_workload(workload: Object) -> Object | None:
    """Keep a Workload that has not finished."""
    is_over = _conditions(workload).get("Finished", {}).get("status") == "True"
    return None if is_over else workload


def may_be_held(pods: Iterable[Object]) -> bool:
    """Tell whether a queue may hold back the job of these pods: a live one is on no node."""
    live = [pod for pod in pods if not podspec.is_ending(pod)]
    return not live or not all((pod.get("spec") or {}).get("nodeName") for pod in live)


def objects_of(objects: Iterable[Object], pods: Iterable[Object], owner: str) -> tuple[Object, ...]:
    """Return those of Kueue's or Volcano's *objects* that are of the job of these *pods*.

    A job that is held back has none: *owner* is its name.
    """
    uids: set[object] = set()
    titles, groups = {owner}, {owner}
    for pod in pods:
        uids |= {podspec.controller(pod).get("uid"), pod["metadata"].get("uid"), identity(pod)}
        titles.add(title(pod))
        groups.add(podspec.labels(pod).get(KUEUE + "pod-group-name", ""))
    known = [each - {None, ""} for each in (uids, titles, groups)]
    return tuple(one for one in objects if _is_of(one, *known))


def _is_of(obj: Object, uids: set[Any], titles: set[Any], groups: set[Any]) -> bool:
    references = obj["metadata"].get("ownerReferences") or ()
    if podspec.labels(obj).get(_JOB_UID) in uids or obj["metadata"]["name"] in groups:
        return True
    return any(one.get("uid") in uids or one.get("name") in titles for one in references)


def owner_of(held: Object) -> str:
    """Return the name of the job that made a Workload or PodGroup; empty for one of plain pods."""
    owner = _owner(held)
    return "" if owner.get("kind") == "Pod" else str(owner.get("name") or "")


def _owner(held: Object) -> Mapping[str, Any]:
    references = held["metadata"].get("ownerReferences") or ()
    return podspec.controller(held) or next(iter(references), {})


def why_held(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    """Say why Kueue or Volcano does not admit the job, or that it is suspended."""
    if any(is_gated(pod.pod) for pod in job.live):
        return  # its pods say so
    found = [*_by_kueue(snapshot, job), *_by_volcano(job)]
    yield from found or map(_suspended, job.suspended)


def _by_kueue(snapshot: JobSnapshot, job: ObservedJob) -> Iterator[Observation]:
    for workload in job.workloads or ():
        hold = hold_of(workload, snapshot.now)
        if hold is None:
            continue
        # what kept its pods from being ready comes first
        stage = Stage.MEMBERS if hold.remedy is _NOT_READY else Stage.ADMISSION
        subject = f"Workload {workload['metadata']['name']}"
        message = _message(workload, hold)
        yield observe(hold.level, hold.code, subject, message, hold.remedy, stage=stage)


def is_gated(pod: Object) -> bool:
    """Tell a pod that Kueue holds back by a scheduling gate."""
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(str(gate.get("name")).startswith(KUEUE) for gate in gates)


def hold_of(workload: Object, now: datetime) -> Hold | None:
    """Return why Kueue does not let the Workload run; None where it does, or was just asked."""
    conditions = _conditions(workload)
    quota, evicted = conditions.get("QuotaReserved", {}), conditions.get("Evicted", {})
    is_evicted = evicted.get("status") == "True"
    if conditions.get("Admitted", {}).get("status") == "True" and not is_evicted:
        return None
    why = _said(evicted) if is_evicted else ""
    if (workload.get("spec") or {}).get("active") is False:
        said = why or _said(conditions.get("DeactivationTarget", {}))
        does = "passes over {}, since its Workload has spec.active: false"
        return Hold("fail", KUEUE_INADMISSIBLE, does, said, _ACTIVATE)
    if quota.get("status") == "True" and not is_evicted:
        said = _checks(workload) or _said(conditions.get("Admitted", {}))
        does = "has quota for {}, and waits for admission checks"
        return Hold("fail", KUEUE_WAITING, does, said, "look at the AdmissionCheck that is named")
    said = _said(quota) if quota.get("status") == "False" else ""
    if is_evicted and said in ("", why):
        remedy = _NOT_READY if _is_late(workload) else None
        return Hold("fail", KUEUE_EVICTED, "has evicted {}", why, remedy)
    if not said:
        age = seconds_since(workload["metadata"].get("creationTimestamp"), now) or 0.0
        silent = Hold("warn", KUEUE_WAITING, "has not looked at {}", "", "is Kueue running?")
        return silent if age > _SOON_SECONDS else None
    before = f"; it was evicted before ({evicted.get('reason')}): {why}" if is_evicted else ""
    is_beyond = any(sign in said for sign in _NEVER)
    if (is_beyond or quota.get("reason") in _HOPELESS) and _MAY_COME not in said:
        remedy = _BEYOND_QUOTA if is_beyond else None
        return Hold("fail", KUEUE_INADMISSIBLE, "cannot admit {}", f"{said}{before}", remedy)
    return Hold("fail", KUEUE_WAITING, "does not admit {} yet", f"{said}{before}")


def _is_late(workload: Object) -> bool:
    """Tell one that was evicted since its pods did not become ready in time."""
    return _conditions(workload).get("Evicted", {}).get("reason") == "PodsReadyTimeout"


def action_for_pods(hold: Hold) -> str | None:
    """Say what to do where pods are gated, which are injected: their queue may lack the devices."""
    return None if hold.remedy is _BEYOND_QUOTA else hold.remedy or hold.code.action


def _message(workload: Object, hold: Hold) -> str:
    queue = (workload.get("spec") or {}).get("queueName")
    name = owner_of(workload)
    what = f"{_owner(workload).get('kind') or 'job'} {name}" if name else "these pods"
    message = hold.does.format(common_form(f"{what} (LocalQueue {queue})" if queue else what))
    return f"Kueue {message}: {hold.said}" if hold.said else f"Kueue {message}"


def _checks(workload: Object) -> str:
    """Name the admission checks that are not ready, and what they say."""
    waiting = []
    for each in (workload.get("status") or {}).get("admissionChecks") or ():
        if each.get("state") != "Ready":
            said = str(each.get("message") or "").strip()
            why = f" ({said})" if said else ""
            waiting.append(f"{each.get('name')} is {each.get('state')}{why}")
    return common_form(listed(waiting), limit=_MOST_TEXT)


def _conditions(held: Object) -> Mapping[str, Object]:
    listed_ = (held.get("status") or {}).get("conditions") or ()
    return {str(each.get("type")): each for each in listed_}


def _said(condition: Object) -> str:
    return common_form(str(condition.get("message") or ""), limit=_MOST_TEXT)


# Volcano


def is_pending_group(group: Object) -> bool:
    """Tell a PodGroup whose Job Volcano has not let make its pods."""
    return (group.get("status") or {}).get("phase") in (None, "", "Pending")


def _by_volcano(job: ObservedJob) -> Iterator[Observation]:
    """Give Volcano's own words on a PodGroup that waits, whose job has no pod yet."""
    if job.live:
        return
    for group in job.pod_groups:
        if not is_pending_group(group):
            continue
        said = group_words(group, job.warnings)
        queue = (group.get("spec") or {}).get("queue") or "default"
        message = f"Volcano does not start {job.owner or 'the job'} (queue {queue})"
        subject = f"PodGroup {group['metadata']['name']}"
        told = f"{message}: {said}" if said else f"{message}, and does not say why"
        yield fail(QUEUE_WAITING, subject, told, stage=Stage.ADMISSION)


def group_words(group: Object, events: Collection[Object]) -> str:
    """Return what Volcano said last of a PodGroup: by an Event, else by its condition."""
    name = group["metadata"]["name"]
    told = [event for event in events if _is_about(event, name)]
    if told:
        return common_form(str(max(told, key=event_time).get("message") or ""))
    condition = _conditions(group).get("Unschedulable", {})
    return _said(condition) if condition.get("status") == "True" else ""


def _is_about(event: Object, group: str) -> bool:
    subject = event.get("involvedObject") or {}
    return subject.get("kind") == "PodGroup" and subject.get("name") == group


# suspended by somebody


def keep_suspended(job: Object, kind: str) -> Object | None:
    """Keep a job of this *kind*, which lists do not tell, that is suspended."""
    spec = job.get("spec") or {}
    policy = spec.get("runPolicy") or {}
    if not spec.get("suspend") and not policy.get("suspend"):
        return None
    return {"kind": kind, "metadata": job["metadata"]}


def outermost(suspended: Iterable[Object]) -> tuple[Object, ...]:
    """Return those that no other one of them has made: a JobSet suspends its Jobs."""
    found = tuple(suspended)
    uids = {job["metadata"].get("uid") for job in found} - {None}
    return tuple(job for job in found if podspec.controller(job).get("uid") not in uids)


def _suspended(job: Object) -> Observation:
    message, action = "is suspended, so that it makes no pods", None
    if queue := podspec.labels(job).get(_QUEUE):
        message += f", as Kueue does with jobs of LocalQueue {queue}"
        action = "look at its Workload: the job runs once Kueue admits that"
    subject = f"{job['kind']} {job['metadata']['name']}"
    return warn(JOB_SUSPENDED, subject, message, action, stage=Stage.ADMISSION)
