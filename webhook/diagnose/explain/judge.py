"""Put all rules together: from what was read to findings in order, and a row for each member."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

from webhook.core import names
from webhook.diagnose.explain import addresses, members, queues
from webhook.diagnose.explain.addresses import what_members_know
from webhook.diagnose.explain.admission import what_was_injected, why_refused
from webhook.diagnose.explain.containers import GAVE_UP, WAIT_GAVE_UP, what_failed
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.explain.networks import (
    attached,
    what_is_attached,
    what_is_broken,
    what_policies_cut,
    who_shares_an_address,
)
from webhook.diagnose.explain.scheduling import what_nodes_lost, why_unscheduled
from webhook.diagnose.explain.timeline import Start, Timeline, draw_timeline
from webhook.diagnose.explain.transport import what_it_trains_over
from webhook.diagnose.finding import WEIGHT, Code, Finding, Stage, ok
from webhook.diagnose.jobs import ObservedPod
from webhook.diagnose.snapshot import Rule, Snapshot, ask
from webhook.diagnose.wording import duration, named, natural

JOB_WITHOUT_PODS = Code(
    "members/job-without-pods",
    "The job has no pod.",
    "look at the job itself: is it suspended, queued, or finished?",
)

RULES: tuple[Rule, ...] = (
    queues.why_held,
    why_refused,
    what_was_injected,
    members.who_is_there,
    why_unscheduled,
    what_nodes_lost,
    what_is_broken,
    what_is_attached,
    who_shares_an_address,
    what_policies_cut,
    what_failed,
    what_members_know,
    addresses.what_they_wait_for,
    what_it_trains_over,
    members.who_differs,
    members.what_changed,
)
"""What `explain` and `status` ask of each job."""
NOTHING = "-"
_ENDS: Mapping[object, str] = {0: "over", GAVE_UP: "gave up"}
_ROLES = ("rank 0", "rank 0?", "worker", NOTHING)
"""In the order of the table."""


def judge(snapshot: Snapshot, job: ObservedJob) -> tuple[list[Finding], set[str]]:
    """Ask all rules; return what they find, and the names of the pods that are rank 0.

    What waits for an earlier failure to end is a warning.
    """
    found = [one for rule in RULES for one in ask(rule, snapshot, job)]
    if any(one.level == "fail" and one.stage < Stage.WAIT for one in found):
        found = [_followed(one) for one in found]
    found += [unread.finding() for unread in snapshot.unread()]
    if not job.pods and not any(one.level != "ok" and one.stage < Stage.UNREAD for one in found):
        message = f"namespace {job.namespace} has no pod of it"
        found.append(JOB_WITHOUT_PODS.fail(job.target, message))
    elif job.pods and not job.live and not any(one.level == "fail" for one in found):
        phases = Counter(pod.phase for pod in job.pods)
        told = ", ".join(f"{number:,} {phase}" for phase, number in phases.items())
        found.append(ok("members", job.target, f"has no live pod: {told}"))
    followed = {pod.job for pod in job.pods if not pod.is_master}
    masters = {
        pod.name
        for pod in job.pods
        if pod.is_master and (not pod.meets or pod.meets.is_certain or pod.job in followed)
    }
    return fold(found, masters, job.focus), masters


def _followed(one: Finding) -> Finding:
    """Make of a wait what it is beside its cause."""
    if one.level != "fail" or one.stage is not Stage.WAIT:
        return one
    remedy = one.remedy if one.code is WAIT_GAVE_UP else "correct the cause: see above"
    return replace(one, level="warn", remedy=remedy)


def fold(findings: Iterable[Finding], masters: Collection[str], focus: str = "") -> list[Finding]:
    """Return what was found of a job's pods in the order in which a person should read it.

    By level; within one by stage, what concerns rank 0 before what does not, and what concerns many
    before what concerns few. *masters*: names of the pods that are rank 0. With *focus*, what
    concerns neither that pod nor a rank 0 is left out.
    """
    groups: dict[Finding, tuple[dict[str, None], dict[str, None]]] = {}
    for each in findings:
        pods, details = groups.setdefault(replace(each, pods=(), detail=""), ({}, {}))
        pods.update(dict.fromkeys(each.pods))
        details[each.detail] = None

    def place(one: Finding) -> tuple[int, int, bool, int]:
        pods, _ = groups[one]
        return WEIGHT[one.level], one.stage, pods.keys().isdisjoint(masters), -len(pods)

    return [
        _told(one, groups[one][0], [*filter(None, groups[one][1])], masters)
        for one in sorted(groups, key=place)
        if not focus or not (pods := groups[one][0]) or pods.keys() & {focus, *masters}
    ]


def _told(
    one: Finding, pods: Iterable[str], details: list[str], masters: Collection[str]
) -> Finding:
    ordered = sorted(pods, key=lambda name: (name not in masters, natural(name)))
    shown = [f"{name} (rank 0)" if name in masters else name for name in ordered]
    subject, remedy, message = one.subject, one.remedy, one.message
    if shown:
        several = f"each of {len(shown):,} pods ({named(shown)})"
        subject = f"pod {shown[0]}" if len(shown) == 1 else several
    if ordered and remedy:
        remedy = re.sub(r"\bPOD\b", ordered[0], remedy)
    if details:
        message += f"{': ' if len(details) == 1 else ', for example: '}{details[0]}"
    return replace(one, subject=subject, message=message, remedy=remedy)


class Row(NamedTuple):
    """Hold what the table says of one pod; ``-`` where there is nothing to say.

    *job*: the key, empty for a pod of no job. *role*: ``rank 0``, ``rank 0?`` for the first pod of
    a role that nobody waits for, ``worker`` for one that carries a key. *details* are for programs.
    """

    pod: str
    job: str
    role: str
    phase: str
    node: str
    address: str
    rank_zero: str
    wait: str
    details: Mapping[str, Any]

    def as_json(self) -> dict[str, Any]:
        """Return it for programs: null for what the table shows as ``-``."""
        shown = self._asdict()
        details = shown.pop("details")
        known = {key: None if each in (NOTHING, "") else each for key, each in shown.items()}
        return {**known, **details}


@dataclass(frozen=True, slots=True)
class Explanation:
    """Hold the answer: *findings* in the order of reading, *rows* with rank 0 first."""

    target: str
    namespace: str
    jobs: tuple[str, ...]
    findings: tuple[Finding, ...]
    rows: tuple[Row, ...]
    timeline: Timeline

    def as_json(self) -> dict[str, Any]:
        """Return what ``-o json`` prints beside the findings."""
        return {
            "target": self.target,
            "namespace": self.namespace,
            "jobs": list(self.jobs),
            "timeline": {"since": self.timeline.since, "seconds": self.timeline.seconds},
            "members": [row.as_json() for row in self.rows],
        }


def explain(snapshot: Snapshot, job: ObservedJob) -> Explanation:
    """Say why the job trains slowly or does not start."""
    findings, masters = judge(snapshot, job)
    jobs = job.groups
    shown = [pod for pod in job.pods if job.focus in ("", pod.name) or pod.is_master]
    timeline = draw_timeline(job)
    rows = [
        _row(job, pod, timeline.pods[pod.name], is_rank_zero=pod.name in masters) for pod in shown
    ]
    several = len(jobs) > 1
    rows.sort(
        key=lambda row: (row.job if several else "", _ROLES.index(row.role), natural(row.pod))
    )
    found = tuple(findings)
    return Explanation(job.target, job.namespace, tuple(jobs), found, tuple(rows), timeline)


def _row(job: ObservedJob, pod: ObservedPod, start: Start, *, is_rank_zero: bool) -> Row:
    certain, perhaps, worker, none = _ROLES
    role = certain if is_rank_zero else perhaps if pod.is_master else worker if pod.job else none
    told = ("profile", "version", "injected", "kept", "skipped")
    details = {key: pod.status.get(key) for key in told}
    details["networks"] = attached(pod)
    details["lacks"] = list(addresses.lacks(pod)) if pod.is_live else []
    return Row(
        pod=pod.name,
        job=pod.job,
        role=role,
        phase=shown_phase(pod),
        node=pod.node or NOTHING,
        address=shown_address(pod) or NOTHING,
        rank_zero=(pod.member.published.master_addr if pod.member else "") or NOTHING,
        wait=_wait(job, pod),
        details={**details, "start": start.as_json()},
    )


def shown_phase(pod: ObservedPod) -> str:
    """Return the phase; of a pod that does not train why its first waiting container waits."""
    if pod.is_live and pod.node:
        for status in pod.container_statuses:
            reason = ((status.get("state") or {}).get("waiting") or {}).get("reason")
            if reason and reason not in ("PodInitializing", "ContainerCreating"):
                return str(reason)
    if pod.phase == "Pending" and pod.node:
        return "Init" if pod.state_of(names.WAIT_CONTAINER).get("running") else "Starting"
    return pod.phase


def shown_address(pod: ObservedPod) -> str:
    """Return the address on the network where the ranks meet, else on the first further one."""
    if pod.member is not None and pod.member.wanted:
        return pod.member.secondary.address
    for entry in attached(pod):
        if isinstance(entry["addresses"], list) and entry["addresses"]:
            return str(entry["addresses"][0])
    return ""


def _wait(job: ObservedJob, pod: ObservedPod) -> str:
    seconds = job.seconds_waited(pod)
    status = (pod.state_of(names.WAIT_CONTAINER).get("terminated") or {}).get("exitCode")
    if not addresses.needs(pod) or (seconds is None and status is None):
        return NOTHING
    if seconds is not None:
        return duration(seconds)
    return _ENDS.get(status, f"status {status}")
