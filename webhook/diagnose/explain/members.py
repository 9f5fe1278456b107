"""Say who is missing from a job, rank 0 above all, is in it twice, or has another profile."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.core.model import Reason
from webhook.core.reconcile.member import is_name
from webhook.core.wording import counted
from webhook.core.workloads import TrainingPod
from webhook.diagnose.explain.admission import said
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.finding import Code, Finding, Level, ok
from webhook.diagnose.jobs import ObservedPod, expected_members
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import named

MEMBERS_MISSING = Code(
    "members/members-missing",
    "The job has fewer members than it is to have.",
    "look at the Events of the job's owner: they name pods that were refused",
)
RANK_ZERO_TWICE = Code(
    "members/rank-zero-twice",
    "The job has several live rank-0 pods.",
    "delete all but the newest",
)
RANK_ZERO_MISSING = Code(
    "members/rank-zero-missing",
    "The job has no rank-0 pod.",
    "look at the Events of the job's owner, and at the quota and policies of its namespace",
)
RANK_ZERO_ENDED = Code(
    "members/rank-zero-ended",
    "Rank 0 has ended or is being deleted, and other members still run.",
    "look at its log, then restart the job",
)
_SOON_SECONDS = 30.0


def who_is_there(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at every job among the pods by itself."""
    keys: dict[str, list[ObservedPod]] = {}
    for pod in job.pods:
        if pod.job:
            keys.setdefault(pod.job, []).append(pod)
    for key, members in keys.items():
        yield from _rank_zero(job, key, members)
    for key, members in job.groups.items():
        wanted = max(map(expected_members, members), default=0)
        there = sum(pod.phase != "Terminating" and _may_meet(pod) for pod in members)
        if wanted > there > 0:
            message = f"has {there:,} of {counted(wanted, 'member')}"
            yield MEMBERS_MISSING.warn(f"job {key}", message)


def _may_meet(pod: ObservedPod) -> bool:
    """Tell a pod that meets others, or whose rank 0 no variable names."""
    found = pod.found
    return bool(pod.job) or (isinstance(found, TrainingPod) and found.reason is Reason.NO_MASTER)


def _rank_zero(job: ObservedJob, key: str, members: Sequence[ObservedPod]) -> Iterator[Finding]:
    meeting = [pod for pod in members if pod.is_member]
    masters = [pod for pod in meeting if pod.is_master]
    subject = f"job {key}"
    if len(masters) > 1:
        masters.sort(key=lambda pod: (pod.created, str(pod.pod["metadata"].get("uid"))))
        has = f"has {len(masters)} live rank-0 pods ({named(pod.name for pod in masters)})"
        message = f"{has}; {masters[-1].name}, the newest, counts"
        others = " ".join(pod.name for pod in masters[:-1])
        action = f"delete the others: kubectl delete pod -n {job.namespace} {others}"
        yield RANK_ZERO_TWICE.fail(subject, message, action)
    if masters or not meeting or any(pod.is_master and pod.is_live for pod in members):
        return  # why a rank 0 is apart is said of the pod itself
    if ended := [pod for pod in members if pod.is_master]:
        yield _ended(job, max(ended, key=lambda pod: pod.created), meeting)
        return
    goes_by_name = all(pod.member and is_name(pod.member.published.master_addr) for pod in meeting)
    is_late = max(map(job.age, meeting)) > _SOON_SECONDS
    level: Level = "fail" if is_late and not goes_by_name else "warn"
    yield RANK_ZERO_MISSING.found(level, subject, "has no rank-0 pod")


def _ended(job: ObservedJob, pod: ObservedPod, members: Sequence[ObservedPod]) -> Finding:
    """Look at the last rank 0, which is not live any more."""
    is_awaited = any(job.seconds_waited(one) is not None for one in members)
    if pod.phase == "Succeeded" and not is_awaited:
        return ok("members", pod, "rank 0 has ended well, and its members should follow")
    message = f"rank 0 is {pod.phase}, and its members still run"
    command = pod.log_command(str(pod.training.get("name")))
    action = f"look at its log, then restart the job: {command}"
    if pod.phase == "Terminating":
        action = "wait for the next one; if this one stays, look at its finalizers and its kubelet"
    return RANK_ZERO_ENDED.fail(pod, message, action)


# members that another profile was for, today's or rank 0's

DRIFT = Code(
    "drift/drift",
    "The pod would get another result today: its profile has changed, or is not for it.",
    "restart the job to take it up, or undo the change",
)
REVISIONS_DIFFER = Code(
    "drift/revisions-differ",
    "Members of one job have different profiles, or different revisions of one.",
    "restart the job; give a changed fabric a profile of a new name, so that jobs keep theirs",
)
_LONGEST = 64
"""Characters of a value of the status annotation, which the pod's owner may have written."""


def what_changed(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at every injected pod that is live."""
    for pod in job.live:
        if pod.is_injected and (today := _today(pod)):
            yield DRIFT.warn(pod, f"would get another result today: {today}")


def _today(pod: ObservedPod) -> str:
    """Say what a pod would get by another profile, or another revision of its own."""
    verdict = pod.verdict
    if verdict is None or verdict.observed:
        return ""
    if not verdict.allowed:
        is_found = verdict.reason == Reason.NETWORK_ABSENT and bool(pod.node)
        return "" if is_found else f"denied: {said(verdict.decisions[0], pod)}"
    if not verdict.profile:
        return "nothing would be injected"
    name, revision = _profile_of(pod)
    if name in ("", verdict.profile) and revision in ("", verdict.revision):
        return ""
    now = f"profile {verdict.profile} in revision {verdict.revision}"
    return f"{now} in place of {name} in revision {revision or '?'}"


def who_differs(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Name members that have another profile than their rank 0, or another revision of it."""
    injected = sorted((pod for pod in job.live if pod.is_injected), key=lambda pod: pod.created)
    rank_zero = {pod.job: pod for pod in injected if pod.job and pod.is_master}
    for pod in injected:
        zero = rank_zero.get(pod.job, pod)
        (name, revision), (name_of_zero, revision_of_zero) = _profile_of(pod), _profile_of(zero)
        if name != name_of_zero or (revision and revision_of_zero and revision != revision_of_zero):
            own = f"has profile {name} in revision {revision}"
            other = f"has profile {name_of_zero} in revision {revision_of_zero}"
            yield REVISIONS_DIFFER.warn(pod, f"{own}, and rank 0, pod {zero.name}, {other}")


def _profile_of(pod: ObservedPod) -> tuple[str, str]:
    """Return the profile of the status annotation and its revision; empty where it does not say."""
    status = pod.status
    return str(status.get("profile") or "")[:_LONGEST], str(status.get("revision") or "")[:_LONGEST]
