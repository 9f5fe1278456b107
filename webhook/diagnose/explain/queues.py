"""Say why a job makes no pods, or only gated ones: Kueue or Volcano holds it back.

Source: kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go, pkg/controller/constants,
pkg/scheduler/flavorassigner (0.19.2); volcano.sh/apis scheduling/v1beta1, pkg/scheduler/actions and
plugins (1.12).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import podspec
from webhook.core.model import Object
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.finding import Code, Finding, Level, Stage
from webhook.diagnose.jobs import is_gated
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import common_form, event_time, seconds_since

KUEUE_WAITING = Code(
    "scheduling/kueue-waiting",
    "Kueue has not admitted the job, or has evicted it.",
    "wait for quota; if it can never be granted as it stands, correct what Kueue names",
)
QUEUE_WAITING = Code(
    "scheduling/queue-waiting",
    "The pod waits for a queue or a quota.",
    "look at the queue and its quota: does it exist, is it active, and what is free in it?",
)
_UID_LENGTH = len("-00000000-0000-0000-0000-000000000000")
_SOON_SECONDS = 30.0
_MOST_TEXT = 600
_NOT_READY = "correct what the other findings say: its pods did not become ready in time"
_ACTIVATE = "end the cause that is named, then set spec.active: true on the Workload"


class Hold(NamedTuple):
    """Say why a Workload does not run: what Kueue *does*, as ``does not admit {}``, and *said*.

    *remedy*: what to do; None for what the code says.
    """

    does: str
    said: str
    remedy: str | None = None


_SILENT = Hold("has not looked at {}", "", "is Kueue running?")


def owner_of(held: Object) -> str:
    """Return the name of the job that made a Workload; empty for one of plain pods."""
    owner = _owner(held)
    return "" if owner.get("kind") == "Pod" else str(owner.get("name") or "")


def _owner(held: Object) -> Mapping[str, Any]:
    references = held["metadata"].get("ownerReferences") or ()
    return podspec.controller(held) or next(iter(references), {})


def why_held(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Say why Kueue or Volcano does not admit the job."""
    if any(is_gated(pod.pod) for pod in job.live):
        return  # its pods say so
    for workload in job.workloads or ():
        hold = hold_of(workload, job.now)
        if hold is None:
            continue
        # what kept its pods from being ready comes first
        stage = Stage.MEMBERS if hold.remedy is _NOT_READY else Stage.ADMISSION
        subject = f"Workload {workload['metadata']['name']}"
        name, queue = owner_of(workload), (workload.get("spec") or {}).get("queueName")
        what = f"{_owner(workload).get('kind') or 'job'} {name}" if name else "these pods"
        what = common_form(f"{what} (LocalQueue {queue})" if queue else what)
        message = ": ".join(filter(None, (f"Kueue {hold.does.format(what)}", hold.said)))
        level: Level = "warn" if hold is _SILENT else "fail"
        yield KUEUE_WAITING.found(level, subject, message, hold.remedy, stage=stage)
    yield from _by_volcano(job)


def hold_of(workload: Object, now: datetime) -> Hold | None:
    """Return why Kueue does not let the Workload run; None where it does, or was just asked."""
    listed = (workload.get("status") or {}).get("conditions") or ()
    conditions: dict[str, Object] = {str(each.get("type")): each for each in listed}
    quota, evicted = conditions.get("QuotaReserved", {}), conditions.get("Evicted", {})
    is_evicted, has_quota = (each.get("status") == "True" for each in (evicted, quota))
    if conditions.get("Admitted", {}).get("status") == "True" and not is_evicted:
        return None
    why = _said(evicted) if is_evicted else ""
    if (workload.get("spec") or {}).get("active") is False:
        return Hold("passes over {}, since its Workload has spec.active: false", why, _ACTIVATE)
    if has_quota and not is_evicted:
        said = _said(conditions.get("Admitted", {}))
        remedy = "look at status.admissionChecks of the Workload"
        return Hold("has quota for {}, and waits for admission checks", said, remedy)
    said = "" if has_quota else _said(quota)
    if is_evicted and said in ("", why):
        is_late = evicted.get("reason") == "PodsReadyTimeout"
        return Hold("has evicted {}", why, _NOT_READY if is_late else None)
    if said:
        before = f"; it was evicted before ({evicted.get('reason')}): {why}" if is_evicted else ""
        return Hold("does not admit {}", f"{said}{before}")
    age = seconds_since(workload["metadata"].get("creationTimestamp"), now) or 0.0
    return _SILENT if age > _SOON_SECONDS else None


def _said(condition: Object) -> str:
    return common_form(str(condition.get("message") or ""), limit=_MOST_TEXT)


# Volcano


def waiting_groups(events: Iterable[Object]) -> dict[str, Object]:
    """Return by the name of each PodGroup that Volcano has not let start its last Event."""
    found: dict[str, Object] = {}
    for event in sorted(events, key=event_time):
        subject = event.get("involvedObject") or {}
        if subject.get("kind") == "PodGroup":
            found[str(subject.get("name"))] = event
    return {name: last for name, last in found.items() if last.get("reason") != "Scheduled"}


def owner_of_group(group: str) -> str:
    """Return the name of the Job that Volcano made a PodGroup of: it ends in the Job's uid."""
    return group[:-_UID_LENGTH]


def _by_volcano(job: ObservedJob) -> Iterator[Finding]:
    """Give Volcano's own words on a PodGroup that waits, whose job has no pod."""
    newest = max((pod.created for pod in job.pods), default="")
    for group, last in waiting_groups(job.warnings).items() if not job.live else ():
        if event_time(last) >= newest:
            said = common_form(str(last.get("message") or ""))
            message = f"Volcano does not start {job.owner or 'the job'}: {said}"
            # a refusal of its pods comes before that its gang is not complete
            yield QUEUE_WAITING.fail(f"PodGroup {group}", message, stage=Stage.MEMBERS)
