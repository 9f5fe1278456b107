"""Say what was injected into each pod and what was not, and why."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from webhook.core import names
from webhook.core.injection import profile
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.reconcile.complaint import SEE_CHECK, UNPUBLISHED, why_uncalled
from webhook.core.review import Verdict
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.members import is_apart
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import FINISHED, Part
from webhook.diagnose.explain.reading import Reading
from webhook.diagnose.finding import Level
from webhook.diagnose.injected import is_out_of_reach

RENDEZVOUS = "rendezvous"
_NOTHING_ASKED = (Reason.NOT_ASKED, Reason.NO_SIDECAR, Reason.DISABLED)
_HARMLESS = (
    Reason.SINGLE_NODE,
    Reason.NO_MASTER,
    Reason.NO_PROCESS_GROUP,
    Reason.KEEPS_NAME,
    Reason.HUGEPAGES,
)
_LOOKED_AT_ELSEWHERE = (
    Reason.POD_SECURITY,
    Reason.NOT_ROOT,
    Reason.USER_NAMESPACE,
    Reason.OVERSIZED,
    Reason.DISAGREES,
    Reason.RAISED,
)
_PARTS = (profile.STEP.name,)
"""Steps whose warnings are told here, whatever their reason: elsewhere the training container is looked at."""
_TOLD = (Outcome.WARNED, Outcome.SKIPPED)
"""Outcomes of which something may be told."""
_BY_CHOICE = (Reason.OPTED_OUT, Reason.ROLE, Reason.SINGLE_NODE)


def observe(reading: Reading, parts: Sequence[Part]) -> Iterator[Observation]:
    """Look at those that are not finished."""
    live = [part for part in parts if part.phase not in FINISHED]
    jobs: dict[str, str] = {}
    for part in live:
        if part.is_injected:
            jobs[part.job] = min(jobs.get(part.job, part.created), part.created)
    members = [part for part in live if part.member is not None and part.member.wanted]
    lost = {part.job for part in members} - {part.job for part in members if part.is_master}
    is_held_back = not jobs and not any(
        part.phase == "Running" for part in live
    )  # not by the lack of injection
    for part in parts:
        if part.phase in FINISHED:
            continue
        is_missed = part.job in lost and is_apart(part)
        if part.is_injected:
            yield from _injected(part, is_missed=is_missed)
        elif part.is_live:
            found = _not_injected(
                reading, part, some_injected=bool(jobs), first_injected=jobs.get(part.job, "")
            )
            if is_held_back and found.stage is Stage.ADMISSION:
                found = replace(found, stage=Stage.SPEED)
            yield _missed(found) if is_missed else found


def _missed(one: Observation) -> Observation:
    """Say of a rank 0 what follows for the members that wait for it."""
    message = f"{one.message}; it {UNPUBLISHED}"
    action = (one.code.action if one.action is None else one.action) or Code.RANK_ZERO_APART.action
    return replace(one, stage=Stage.ADMISSION, level="fail", message=message, action=action)


def _injected(part: Part, *, is_missed: bool) -> Iterator[Observation]:
    status, pods = part.status, (part.name,)
    told = [
        f"{key} {', '.join(map(str, status[key]))}"
        for key in ("injected", "kept")
        if _listed(status.get(key))
    ]
    profile, version = status.get("profile", "(unreadable)"), status.get("version", "?")
    code, message = (
        Code.INJECTED,
        f"profile {profile}, version {version}: {'; '.join(told) or 'nothing had to be injected'}",
    )
    if not status:
        message = f"annotation {names.STATUS}, which says what was injected, cannot be read"
        code = Code.INJECTION_STATUS_UNREADABLE
    yield Observation(Stage.SUMMARY, "ok", code, message, pods=pods)
    if is_missed:
        yield _missed(_without_rendezvous(part))
    verdict = part.verdict
    if verdict is None or not verdict.allowed or not verdict.profile:
        for step, why in _skipped(part).items():
            if is_missed and step == RENDEZVOUS:
                continue  # told above
            yield Observation(
                Stage.SUMMARY, "ok", Code.STEP_SKIPPED, f"not injected: {step}: {why}", "", pods
            )
        return
    for decision in verdict.decisions:
        if decision.outcome in _TOLD and not (is_missed and decision.step == RENDEZVOUS):
            yield from _decision(part, decision)


def _without_rendezvous(part: Part) -> Observation:
    why = _skipped(part).get(RENDEZVOUS)
    message = (
        f"lacks label {names.JOB} or annotation {names.RENDEZVOUS_NETWORK}, which injection sets"
    )
    if why is not None:
        message = f"not injected: {RENDEZVOUS}: {common_form(str(why), part.name)}"
    return Observation(Stage.ADMISSION, "fail", Code.RANK_ZERO_APART, message, pods=(part.name,))


def _skipped(part: Part) -> Mapping[str, object]:
    skipped = part.status.get("skipped")
    return skipped if isinstance(skipped, dict) else {}


def _decision(part: Part, decision: Decision) -> Iterator[Observation]:
    step, outcome, reason = decision.step, decision.outcome, decision.reason
    if reason in _LOOKED_AT_ELSEWHERE and not (step in _PARTS and outcome is Outcome.WARNED):
        return
    if outcome is Outcome.SKIPPED and reason in _NOTHING_ASKED:
        return
    message = common_form(decision.message.removeprefix(f"pod {part.name}: "), part.name)
    if outcome is Outcome.WARNED:
        yield Observation(
            Stage.SPEED, "warn", Code.STEP_DOUBTFUL, f"{step}: {message}", pods=(part.name,)
        )
    else:
        level: Level = "ok" if reason in _HARMLESS else "warn"
        stage = Stage.SUMMARY if level == "ok" else Stage.SPEED
        action = "" if level == "ok" else None
        yield Observation(
            stage,
            level,
            Code.STEP_SKIPPED,
            f"not injected: {step}: {message}",
            action,
            (part.name,),
        )


def _not_injected(
    reading: Reading, part: Part, *, some_injected: bool, first_injected: str
) -> Observation:
    pods, verdict = (part.name,), part.verdict
    level: Level = "warn" if some_injected else "fail"
    stage = Stage.SPEED if some_injected else Stage.ADMISSION
    if verdict is None:
        if (reading.labels or {}).get(
            names.MODE
        ) == names.MODE_OBSERVE:  # which is known without any profile
            message = f"nothing was injected: label {names.MODE} of namespace {reading.namespace} only observes"
            return Observation(Stage.ADMISSION, "warn", Code.NAMESPACE_OBSERVES, message, pods=pods)
        if reading.configured is False:
            return _unconfigured(part)
        return Observation(
            stage,
            level,
            Code.NOT_INJECTED_UNKNOWN,
            "nothing was injected, and why is unknown",
            pods=pods,
        )
    decision = verdict.decisions[0] if verdict.decisions else None
    text = (
        common_form(decision.message.removeprefix(f"pod {part.name}: "), part.name)
        if decision
        else ""
    )
    if verdict.observed:
        would = common_form(_would_be(verdict).replace(f"pod {part.name}: ", ""), part.name)
        message = f"nothing was injected: label {names.MODE} of namespace {reading.namespace} only observes; without it {would}"
        return Observation(Stage.ADMISSION, "warn", Code.NAMESPACE_OBSERVES, message, pods=pods)
    if not verdict.allowed:
        denied = common_form(verdict.message.removeprefix(f"pod {part.name}: "), part.name)
        message = f"nothing was injected, and today it would be denied: {denied}"
        return Observation(
            stage, "fail", Code.POD_DENIED, message, "correct that, then restart the job", pods
        )
    if verdict.profile and verdict.reason in ("injected", "unchanged"):
        code, why, action = _uncalled(reading, part, first_injected)
        if code is Code.WEBHOOK_MISSED and reading.configured is False:
            return _unconfigured(part, verdict.profile)
        message = f"{why}; today it would get profile {verdict.profile}"
        return Observation(Stage.ADMISSION, "fail", code, message, action, pods)
    if (
        decision is not None
        and decision.reason is Reason.OPTED_OUT
        and first_injected
        and not part.is_master
    ):
        message = (
            f"is left out, and others of its job are not: they meet on another network; {text}"
        )
        return Observation(Stage.MEMBERS, "fail", Code.LEFT_OUT, message, pods=pods)
    if decision is not None and decision.reason in _BY_CHOICE:
        return Observation(
            Stage.SUMMARY, "ok", Code.NOT_INJECTED, f"not injected: {text}", "", pods
        )
    text, remedy = _split_advice(text)
    if decision is not None and decision.reason is Reason.NO_PROFILE:
        remedy = f"kubectl label namespace {reading.namespace} {names.PROFILE}=PROFILE, then restart the job"
    return Observation(stage, level, Code.NOT_INJECTED, f"not injected: {text}", remedy, pods)


def _split_advice(text: str) -> tuple[str, str | None]:
    """Return what admission found of a pod that it left alone, and what it says to do, which ends its message."""
    found, _, advice = text.rpartition("; ")
    return (
        (found, f"{advice}, then restart the job")
        if found and names.PROFILE in advice
        else (text, None)
    )


def _unconfigured(part: Part, profile: str = "") -> Observation:
    """Say of a pod without injection that none is sent to the webhook now; *profile*: what it would get, as far as that is known."""
    configuration = f"MutatingWebhookConfiguration {names.WEBHOOK_CONFIGURATION}"
    message = f"was created without injection, and {configuration} does not exist now: no pod is sent to the webhook"
    if profile:
        message += f"; with it, it would get profile {profile}"
    action = (
        "let an administrator apply the manifests of fabric-injector again, then restart the job"
    )
    return Observation(
        Stage.ADMISSION, "fail", Code.CONFIGURATION_MISSING, message, action, (part.name,)
    )


def _would_be(verdict: Verdict) -> str:
    """Say what would become of a pod of a namespace that only observes."""
    denials = [each.message for each in verdict.decisions if each.outcome is Outcome.DENIED]
    if denials:
        return f"it would be denied: {'. Also: '.join(denials)}"
    if steps := would_inject(verdict):
        return f"profile {verdict.profile} would inject {', '.join(steps)}"
    return "it would be left alone: " + next(
        (each.message for each in verdict.decisions), "it lacks nothing"
    )


def would_inject(verdict: Verdict | None) -> list[str]:
    """Return the steps that would change a pod of a namespace that only observes; none for one of another."""
    if verdict is None or not verdict.observed:
        return []
    return list(
        dict.fromkeys(each.step for each in verdict.decisions if each.outcome is Outcome.INJECTED)
    )


def _uncalled(reading: Reading, part: Part, first_injected: str) -> tuple[Code, str, str]:
    """Return why a pod that would be injected was not, and what to do; times are compared as text."""
    created, labelled = part.created, reading.labelled
    if reading.labels is not None and is_out_of_reach(part.pod, reading.labels):
        why = f"carries no label {names.PROFILE}, without which only component pod-opt-in lets the webhook be called"
        action = f"kubectl label namespace {reading.namespace} {names.PROFILE}=PROFILE, then restart the job"
        return (
            Code.WEBHOOK_OUT_OF_REACH,
            f"was created without injection, for its namespace {why}",
            action,
        )
    why, action = why_uncalled(created, first_injected)
    if first_injected and first_injected < created:
        return Code.WEBHOOK_MISSED, why, action
    if "" < labelled < created:
        why = "was created without injection, though its namespace was labelled: "
        return (
            Code.WEBHOOK_MISSED,
            why + "the webhook was not called, only observed, or had other profiles",
            SEE_CHECK,
        )
    return Code.WEBHOOK_MISSED, why, Code.WEBHOOK_MISSED.action


def _listed(value: object) -> bool:
    return isinstance(value, list) and bool(value)
