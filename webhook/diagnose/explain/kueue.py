"""Tell why Kueue holds a job back, by the conditions of its Workload: such a job is suspended and has no pod, or its pods are gated.

Source: kubernetes-sigs/kueue apis/kueue/v1beta2/workload_types.go, pkg/controller/constants, pkg/scheduler/flavorassigner (0.19.2).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.systems import KUEUE
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.finding import Level
from webhook.diagnose.owners import identity, title
from webhook.diagnose.wording import listed

_GATE = "kueue.x-k8s.io/"
"""Begins the scheduling gates that Kueue sets."""
_JOB_UID = "kueue.x-k8s.io/job-uid"
_NEVER = ("unavailable in ClusterQueue", "> maximum capacity")
"""What Kueue says of a request that no job's end makes room for."""
_HOPELESS = ("Inadmissible", "Misconfigured", "Suspended", "NoMatchingFlavor", "ExceedsMaxQuota")
"""Reasons of QuotaReserved that no job's end changes: Kueue before 0.19 writes the first, and Pending for the last two."""
_MAY_COME = "insufficient unused quota"
_SOON_SECONDS = 30.0
_MOST_TEXT = 600
_PODS_NOT_READY = "PodsReadyTimeout"


class Hold(NamedTuple):
    """Tell why a Workload does not run: level and code of the finding, what Kueue *said*, and the reason of an eviction."""

    level: Level
    code: Code
    said: str
    evicted: str = ""


def keep_workload(workload: Object) -> Object | None:
    """Keep of a Workload what is read here, without the templates of its pods; None for one that has finished."""
    metadata, spec, status = (
        workload["metadata"],
        workload.get("spec") or {},
        workload.get("status") or {},
    )
    if _conditions(workload).get("Finished", {}).get("status") == "True":
        return None
    kept = ("name", "namespace", "uid", "creationTimestamp", "labels", "ownerReferences")
    return {
        "metadata": {key: metadata[key] for key in kept if metadata.get(key)},
        "spec": {
            **{key: spec[key] for key in ("queueName", "active") if spec.get(key) is not None},
            "podSets": [{"name": each.get("name")} for each in spec.get("podSets") or ()],
        },
        "status": {
            key: status[key] for key in ("conditions", "admissionChecks") if status.get(key)
        },
    }


def may_be_held(pods: Iterable[Object]) -> bool:
    """Tell whether Kueue may hold back the job of these pods: not where each one that lives is on a node."""
    live = [pod for pod in pods if not podspec.is_ending(pod)]
    return not live or not all((pod.get("spec") or {}).get("nodeName") for pod in live)


def workloads_of(
    workloads: Iterable[Object], pods: Iterable[Object], owner: str
) -> tuple[Object, ...]:
    """Return the Workloads of the job of these *pods*, or, as a job that is held back has none, of the *owner* of this name."""
    uids: set[object] = set()
    names = {owner}
    groups = {owner}
    for pod in pods:
        uids |= {podspec.controller(pod).get("uid"), pod["metadata"].get("uid"), identity(pod)}
        names.add(title(pod))
        groups.add(podspec.labels(pod).get(KUEUE + "pod-group-name", ""))
    uids -= {None, ""}
    names.discard("")
    groups.discard("")
    return tuple(each for each in workloads if _is_of(each, uids, names, groups))


def _is_of(
    workload: Object, uids: Collection[object], names: Collection[str], groups: Collection[str]
) -> bool:
    metadata = workload["metadata"]
    references = metadata.get("ownerReferences") or ()
    if (metadata.get("labels") or {}).get(_JOB_UID) in uids or any(
        each.get("uid") in uids for each in references
    ):
        return True
    return metadata["name"] in groups or any(each.get("name") in names for each in references)


def owner_of(workload: Object) -> str:
    """Return the name of the job that made a Workload; empty for one of plain pods, and one that no job uses."""
    owner = _owner(workload)
    return "" if owner.get("kind") == "Pod" else str(owner.get("name") or "")


def _owner(workload: Object) -> Mapping[str, Any]:
    return podspec.controller(workload) or next(
        iter(workload["metadata"].get("ownerReferences") or ()), {}
    )


def observe(reading: Reading, parts: Collection[Part]) -> Iterator[Observation]:
    """Tell why Kueue does not admit the job, unless its pods tell it by their gates."""
    if any(is_gated(part.pod) for part in parts if part.is_live):
        return
    for workload in reading.workloads or ():
        if (hold := hold_of(workload, reading.now)) is not None:
            stage = (
                Stage.MEMBERS if hold.evicted == _PODS_NOT_READY else Stage.ADMISSION
            )  # what kept pods from being ready is first
            subject = f"Workload {workload['metadata']['name']}"
            yield Observation(
                stage,
                hold.level,
                hold.code,
                _message(workload, hold),
                action_of(hold),
                subject=subject,
            )


def is_gated(pod: Object) -> bool:
    """Tell a pod that Kueue holds back by a scheduling gate."""
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(str(gate.get("name")).startswith(_GATE) for gate in gates)


def hold_of(workload: Object, now: datetime) -> Hold | None:
    """Return why Kueue lets the Workload not run; None where it is admitted, or was made a moment ago."""
    conditions = _conditions(workload)
    quota, evicted = conditions.get("QuotaReserved", {}), conditions.get("Evicted", {})
    is_evicted = evicted.get("status") == "True"
    if conditions.get("Admitted", {}).get("status") == "True" and not is_evicted:
        return None
    reason, why = str(evicted.get("reason") or ""), _said(evicted) if is_evicted else ""
    if (workload.get("spec") or {}).get("active") is False:
        return Hold(
            "fail",
            Code.KUEUE_DEACTIVATED,
            why or _said(conditions.get("DeactivationTarget", {})),
            reason,
        )
    if quota.get("status") == "True" and not is_evicted:
        return Hold(
            "fail",
            Code.KUEUE_CHECK_WAITING,
            _checks(workload) or _said(conditions.get("Admitted", {})),
        )
    said = _said(quota) if quota.get("status") == "False" else ""
    if is_evicted and said in ("", why):
        return Hold("fail", Code.KUEUE_EVICTED, why, reason)
    if not said:
        age = seconds_since(workload["metadata"].get("creationTimestamp"), now) or 0.0
        return Hold("warn", Code.KUEUE_SILENT, "") if age > _SOON_SECONDS else None
    is_hopeless = quota.get("reason") in _HOPELESS or any(sign in said for sign in _NEVER)
    code = Code.KUEUE_INADMISSIBLE if is_hopeless and _MAY_COME not in said else Code.KUEUE_WAITING
    return Hold(
        "fail", code, f"{said}; it was evicted before ({reason}): {why}" if is_evicted else said
    )


def action_of(hold: Hold) -> str | None:
    """Say what to do; None for what the code says."""
    if hold.code is Code.KUEUE_INADMISSIBLE and any(sign in hold.said for sign in _NEVER):
        return "ask for less of what is named, or let an administrator add it to the ClusterQueue"
    if hold.code is Code.KUEUE_EVICTED and hold.evicted == _PODS_NOT_READY:
        return "see what else is said of the job: its pods did not become ready in the time that Kueue gives them"
    return None


def action_for_pods(hold: Hold) -> str:
    """Say what to do where pods are gated, which are injected; empty where a resource is named that their queue may lack."""
    if hold.code is Code.KUEUE_INADMISSIBLE and any(sign in hold.said for sign in _NEVER):
        return ""
    found = action_of(hold)
    return hold.code.action if found is None else found


def _message(workload: Object, hold: Hold) -> str:
    queue = (workload.get("spec") or {}).get("queueName")
    name = owner_of(workload)
    what = f"{_owner(workload).get('kind') or 'job'} {name}" if name else "these pods"
    told = common_form(
        f"{what} (LocalQueue {queue})" if queue else what, ""
    )  # an owner's name has no limit
    message = f"Kueue {_DOES[hold.code].format(told)}"
    return f"{message}: {hold.said}" if hold.said else message


_DOES: Mapping[Code, str] = {
    Code.KUEUE_WAITING: "does not admit {} yet",
    Code.KUEUE_INADMISSIBLE: "cannot admit {}",
    Code.KUEUE_EVICTED: "has evicted {}",
    Code.KUEUE_DEACTIVATED: "passes over {}, since its Workload has spec.active: false",
    Code.KUEUE_CHECK_WAITING: "has quota for {}, and waits for admission checks",
    Code.KUEUE_SILENT: "has not looked at {}",
}


def _checks(workload: Object) -> str:
    """Name the admission checks that are not ready, and what they say."""
    told = []
    for each in (workload.get("status") or {}).get("admissionChecks") or ():
        if each.get("state") != "Ready":
            said = str(each.get("message") or "").strip()
            told.append(f"{each.get('name')} is {each.get('state')}{f' ({said})' if said else ''}")
    return common_form(listed(told), "", limit=_MOST_TEXT)


def _conditions(workload: Object) -> Mapping[str, Object]:
    return {
        str(each.get("type")): each
        for each in (workload.get("status") or {}).get("conditions") or ()
    }


def _said(condition: Object) -> str:
    return common_form(str(condition.get("message") or ""), "", limit=_MOST_TEXT)
