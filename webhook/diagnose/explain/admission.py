"""Say what kept the job's owner from creating pods, and which of its pods were not injected."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import replace

from webhook.core import names, podspec
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.reconcile.complaint import why_uncalled
from webhook.diagnose.common import (
    NAMESPACE_OBSERVES,
    WEBHOOK_MISSED,
    WEBHOOK_OUT_OF_REACH,
    WEBHOOK_UNREACHABLE,
    api_messages,
    read_refusal,
)
from webhook.diagnose.explain.job import ObservedJob
from webhook.diagnose.finding import Code, Finding, Level, Stage, ok
from webhook.diagnose.jobs import FINISHED, ObservedPod
from webhook.diagnose.snapshot import Snapshot
from webhook.diagnose.wording import common_form, event_time

POD_SECURITY_REFUSED = Code(
    "admission/pod-security-refused",
    "PodSecurity refused a pod of the job.",
    "label the namespace privileged, or correct what is named; see podSecurity of the profile",
)
QUOTA_REFUSED = Code(
    "admission/quota-refused",
    "A ResourceQuota refused a pod of the job.",
    "raise the ResourceQuota by what is requested, injected devices included, or end other pods",
)
POD_REFUSED = Code(
    "admission/pod-refused",
    "The API server refused a pod of the job.",
    "correct that; the owner then tries again, or restart the job",
)
POD_DENIED = Code(
    "admission/pod-denied",
    "The webhook denied a pod of the job, or would deny it today.",
    "correct that; the owner then tries again, or restart the job",
)
OTHER_WEBHOOK_UNREACHABLE = Code(
    "admission/other-webhook-unreachable",
    "A pod of the job cannot be created, for another program's webhook does not answer.",
    "look at that program, whose webhook configuration names its Service",
)
STEP_DOUBTFUL = Code(
    "injection/step-doubtful",
    "One step of the injection found something that may slow the job down.",
    "change what the message names, then restart the job",
)
VARIABLE_DISAGREES = Code(
    "interfaces/variable-disagrees",
    "A variable keeps NCCL, Gloo or UCX from the fabric, or names what the pod does not have.",
    "change the variable as the message says, then restart the job",
)
IPC_LOCK_INERT = Code(
    "memlock/ipc-lock-inert",
    "The training container has capability IPC_LOCK, and runs where it has no effect.",
    "run as root in the node's user namespace, or raise the nodes' memlock limit",
)
SHARED_MEMORY_BEYOND_LIMIT = Code(
    "shared-memory/shared-memory-beyond-limit",
    "The training container's /dev/shm is larger than its memory limit, so it may be killed.",
    "raise the memory limit, or lower sharedMemory.sizeLimit",
)
STEP_SKIPPED = Code(
    "injection/step-skipped",
    "One step of the injection was left out.",
    "change what the message names if the step is wanted, then restart the job",
)
LEFT_OUT = Code(
    "injection/left-out",
    "The pod opted out of injection, and others of its job did not: they meet elsewhere.",
    "give all pods of the job the same labels and networks, then restart it",
)
NOT_INJECTED = Code(
    "injection/not-injected",
    "The pod was not injected, for what it is, or for what it or its namespace says.",
    "change what the message names if the pod is to be injected, then restart the job",
)

OURS = "fabric-injector"
_LIMITS = r"forbidden: (\[?(?:m(?:ax|in)imum \S+ usage|\S+ max limit to request ratio) per .*)"
_REFUSALS: tuple[tuple[str, Code, str | None], ...] = (
    (r"(violates PodSecurity .*)", POD_SECURITY_REFUSED, None),
    (
        r"(failed quota: .*)",
        QUOTA_REFUSED,
        "give the job's containers what is named, or the namespace a LimitRange with defaults",
    ),
    (r"(exceeded quota: .*)", QUOTA_REFUSED, None),
    (
        _LIMITS,
        POD_REFUSED,
        "change the namespace's LimitRange, or what containers ask for, injected devices included",
    ),
    (r'admission (webhook "[^"]*" denied the request: .*)', POD_REFUSED, None),
    (r"(?i:forbidden|denied|invalid): (.*)", POD_REFUSED, None),
)
"""What an API server says, what it means, and what to do where that is not what the code says."""
_MOST_TEXT = 600


def why_refused(_snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Tell what kept an owner from creating pods since its newest pod: the last of each kind."""
    newest = max((pod.created for pod in job.pods), default="")
    found: dict[tuple[str, Code], tuple[str, str, str | None]] = {}
    times: Counter[tuple[str, Code]] = Counter()
    for event in sorted(job.warnings, key=event_time):
        subject, at = event.get("involvedObject") or {}, event_time(event)
        if subject.get("kind") == "Pod" or event.get("type") == "Normal" or at < newest:
            continue
        is_creation = str(event.get("reason") or "").startswith("FailedCreate")
        told = dict[Code, tuple[str, str, str | None]]()
        for text in api_messages(str(event.get("message") or "")):
            if refusal := _refusal(text, is_creation=is_creation):
                code, message, action = refusal
                told.setdefault(code, (at, message, action))
        for code, refused in told.items():
            key = f"{subject.get('kind')} {subject.get('name')}", code
            times[key] += int(event.get("count") or 1)
            if key not in found or found[key][0] < at:
                found[key] = refused
    newest_first = sorted(found.items(), key=lambda item: item[1][0], reverse=True)
    for (owner, code), (at, message, action) in newest_first:
        number = times[owner, code]
        often = f" ({number} times, last at {at[:19]})" if number > 1 else ""
        yield code.fail(owner, f"a pod of it {message}{often}", action, stage=Stage.ADMISSION)


def _refusal(text: str, *, is_creation: bool) -> tuple[Code, str, str | None] | None:
    """Say what an API server's message means; of an unknown one, what it is, if of a *creation*."""
    told = read_refusal(text)
    if told is not None and OURS in told.webhook and told.called:
        return POD_DENIED, f"was refused: {_said(told.message)}", None
    if told is not None and OURS in told.webhook:
        message = f"cannot be created, because the webhook does not answer: {_said(told.message)}"
        action = "see fabric-injector check, and the webhook's pods"
        return WEBHOOK_UNREACHABLE, message, action
    if told is not None and not told.called:
        said = _said(f'"{told.webhook}": {told.message}')
        message = f"cannot be created, because another program's webhook does not answer: {said}"
        return OTHER_WEBHOOK_UNREACHABLE, message, None
    for pattern, code, remedy in _REFUSALS:
        if match := re.search(pattern, text, re.DOTALL):
            return code, f"was refused: {_said(match[1])}", remedy
    if not is_creation:
        return None
    return POD_REFUSED, f"could not be created: {_said(text)}", None


def _said(text: str) -> str:
    return common_form(text, limit=_MOST_TEXT)


# pods that exist

_NOT_WORTH_A_WORD = (
    *(Reason.DISABLED, Reason.SINGLE_NODE, Reason.NO_MASTER),
    *(Reason.NO_PROCESS_GROUP, Reason.KEEPS_NAME, Reason.HUGEPAGES),
)
"""Reasons of a step that was left out, which nobody needs to act on."""
_WARNINGS: Mapping[Reason, Code] = {
    Reason.DISAGREES: VARIABLE_DISAGREES,
    Reason.NOT_ROOT: IPC_LOCK_INERT,
    Reason.USER_NAMESPACE: IPC_LOCK_INERT,
    Reason.OVERSIZED: SHARED_MEMORY_BEYOND_LIMIT,
}
"""The codes of what admission would warn of today; other warnings are STEP_DOUBTFUL."""
_SAID_ELSEWHERE = (Reason.RAISED, Reason.STALE_MANIFEST)
_LABEL = f"kubectl label namespace {{}} {names.PROFILE}=PROFILE, then restart the job"
_BY_CHOICE = (Reason.OPTED_OUT, Reason.ROLE, Reason.SINGLE_NODE)


def what_was_injected(snapshot: Snapshot, job: ObservedJob) -> Iterator[Finding]:
    """Look at pods that are not finished."""
    unfinished = [pod for pod in job.pods if pod.phase not in FINISHED]
    since: dict[str, str] = {}
    for pod in unfinished:
        if pod.is_injected:
            since[pod.job] = min(since.get(pod.job, pod.created), pod.created)
    is_held_back = not since and all(pod.phase != "Running" for pod in unfinished)
    for pod in unfinished:
        if pod.is_injected:
            yield from _injected(snapshot, pod)
        elif pod.is_live:
            found = _not_injected(job, pod, since.get(pod.job, ""), any_injected=bool(since))
            if is_held_back and found.stage is Stage.ADMISSION:
                found = replace(found, given_stage=Stage.SPEED)  # not by the lack of injection
            yield found


def _injected(snapshot: Snapshot, pod: ObservedPod) -> Iterator[Finding]:
    status = pod.status
    lists = {key: status.get(key) for key in ("injected", "kept")}
    told = [
        f"{key} {', '.join(map(str, found))}"
        for key, found in lists.items()
        if isinstance(found, list) and found
    ]
    what = "; ".join(told) or "nothing had to be injected"
    head = f"profile {status.get('profile', '?')}, version {status.get('version', '?')}"
    message = f"annotation {names.STATUS}, which says what was injected, cannot be read"
    yield ok("injection", pod, f"{head}: {what}" if status else message)
    verdict = pod.verdict
    is_told = verdict is not None and verdict.allowed and verdict.profile
    for decision in verdict.decisions if verdict is not None and is_told else ():
        step, outcome, reason = decision.step, decision.outcome, decision.reason
        is_unknown = reason is Reason.NO_IPAM and snapshot.broken_networks
        if is_unknown or reason in _SAID_ELSEWHERE:
            continue
        message = f"{step}: {said(decision, pod)}"
        if outcome is Outcome.WARNED:
            code = _WARNINGS.get(reason, STEP_DOUBTFUL)
            yield code.warn(pod, message, stage=Stage.SPEED)
        elif outcome is Outcome.SKIPPED and reason not in _NOT_WORTH_A_WORD:
            yield STEP_SKIPPED.warn(pod, f"not injected: {message}", stage=Stage.SPEED)


def said(decision: Decision, pod: ObservedPod) -> str:
    """Return the decision's sentence, so that those of many pods are alike."""
    return common_form(decision.message.removeprefix(f"pod {pod.name}: "), pod.name)


def _not_injected(job: ObservedJob, pod: ObservedPod, since: str, *, any_injected: bool) -> Finding:
    """Say why a pod was not injected; *since*: when the first injected one of its job was made."""
    verdict, labels = pod.verdict, job.labels or {}
    if labels.get(names.MODE) == names.MODE_OBSERVE or (verdict and verdict.observed):
        label = f"label {names.MODE} of namespace {job.namespace}"
        message = f"nothing was injected: {label} only observes"
        return NAMESPACE_OBSERVES.warn(pod, message)
    is_beside = any_injected and not pod.is_master  # for a rank 0 the others wait
    level: Level = "warn" if is_beside else "fail"
    stage = Stage.SPEED if is_beside else Stage.ADMISSION
    if verdict is None:
        message = "nothing was injected, and why is unknown"
        action = "see why profiles cannot be read, or give --profiles FILE"
        return NOT_INJECTED.found(level, pod, message, action, stage=stage)
    if not verdict.allowed:
        why = ". Also: ".join(said(one, pod) for one in verdict.decisions)
        message = f"nothing was injected, and today it would be denied: {why}"
        return POD_DENIED.fail(pod, message, "correct that, then restart the job", stage=stage)
    if verdict.profile and verdict.reason in ("injected", "unchanged"):
        return _uncalled(job, pod, verdict.profile, since)
    decision = verdict.decisions[0]
    text, reason = said(decision, pod), decision.reason
    if reason is Reason.OPTED_OUT and since and not pod.is_master:
        meet = "others of its job are not: they meet on another network"
        return LEFT_OUT.fail(pod, f"is left out, and {meet}; {text}", stage=Stage.MEMBERS)
    if reason in _BY_CHOICE:
        return ok("injection", pod, f"not injected: {text}")
    remedy = _LABEL.format(job.namespace) if reason is Reason.NO_PROFILE else None
    return NOT_INJECTED.found(level, pod, f"not injected: {text}", remedy, stage=stage)


def _uncalled(job: ObservedJob, pod: ObservedPod, profile_name: str, since: str) -> Finding:
    """Say why a pod that would be injected was not, and what to do; times are compared as text."""
    code, (why, action) = WEBHOOK_MISSED, why_uncalled(pod.created, since)
    asks = names.PROFILE in podspec.labels(pod.pod)
    if job.labels is not None and asks and names.PROFILE not in job.labels:
        code, action = WEBHOOK_OUT_OF_REACH, _LABEL.format(job.namespace)
        lack = f"its namespace has no label {names.PROFILE}, without which only component"
        why = f"was created without injection: {lack} pod-opt-in lets the webhook be called"
    elif not "" < since < pod.created:
        action = WEBHOOK_MISSED.action
    return code.fail(pod, f"{why}; today it would get profile {profile_name}", action)
