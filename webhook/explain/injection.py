"""Say what was injected into each pod and what was not, and whether it would get another result today."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from webhook import __version__, names, podspec
from webhook.explain.observation import Observation, Stage, common_form
from webhook.explain.part import Part
from webhook.explain.reading import Reading
from webhook.finding import Level
from webhook.model import Decision, Object, Outcome, Reason
from webhook.profiles import Profile
from webhook.review import Verdict

TOPIC = "injection"
_NOTHING_ASKED = (Reason.NOT_ASKED, Reason.NO_SIDECAR, Reason.DISABLED)
_HARMLESS = (Reason.SINGLE_NODE, Reason.NO_PROCESS_GROUP, Reason.KEEPS_NAME, Reason.HUGEPAGES)
_LOOKED_AT_ELSEWHERE = (Reason.POD_SECURITY, Reason.NOT_ROOT, Reason.USER_NAMESPACE, Reason.OVERSIZED, Reason.DISAGREES)
_BY_CHOICE = (Reason.OPTED_OUT, Reason.ROLE)


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at every pod that is not finished."""
    live = [part for part in parts if part.phase not in ("Succeeded", "Failed")]
    jobs = {part.job for part in live if part.is_injected}
    for part in live:
        if part.is_injected:
            yield from _injected(part)
            yield from _today(reading, part)
        elif not (part.is_master and part.job in jobs):  # that is told of the job, see members
            yield _not_injected(reading, part, some_injected=bool(jobs))


def _injected(part: Part) -> Iterator[Observation]:
    status, pods = part.status, (part.name,)
    told = [f"{key} {', '.join(map(str, status[key]))}" for key in ("injected", "kept") if _listed(status.get(key))]
    profile, version = status.get("profile", "(unreadable)"), status.get("version", "?")
    message = f"profile {profile}, version {version}: {'; '.join(told) or 'nothing had to be injected'}"
    yield Observation(Stage.SUMMARY, "ok", TOPIC, message, pods=pods)
    verdict = part.verdict
    if verdict is None or not verdict.allowed or not verdict.profile:
        skipped = status.get("skipped")
        for step, why in skipped.items() if isinstance(skipped, dict) else ():
            yield Observation(Stage.SUMMARY, "ok", TOPIC, f"not injected: {step}: {why}", pods=pods)
        return
    for decision in verdict.decisions:
        yield from _decision(part, decision)


def _decision(part: Part, decision: Decision) -> Iterator[Observation]:
    step, outcome, reason, _ = decision
    if reason in _LOOKED_AT_ELSEWHERE:
        return
    if outcome is not Outcome.WARNED and (outcome is not Outcome.SKIPPED or reason in _NOTHING_ASKED):
        return
    message = common_form(decision.message.removeprefix(f"pod {part.name}: "), part.name)
    if outcome is Outcome.WARNED:
        yield Observation(Stage.SPEED, "warn", TOPIC, f"{step}: {message}", pods=(part.name,))
    else:
        level: Level = "ok" if reason in _HARMLESS else "warn"
        stage = Stage.SUMMARY if level == "ok" else Stage.SPEED
        yield Observation(stage, level, TOPIC, f"not injected: {step}: {message}", pods=(part.name,))


def _not_injected(reading: Reading, part: Part, *, some_injected: bool) -> Observation:
    pods, verdict = (part.name,), part.verdict
    level: Level = "warn" if some_injected else "fail"
    stage = Stage.SPEED if some_injected else Stage.ADMISSION
    if verdict is None:
        action = (
            f"name the profiles file by --profiles, and see that namespace {reading.namespace} carries {names.PROFILE}"
        )
        return Observation(stage, level, TOPIC, "nothing was injected; why cannot be told", action, pods)
    decision = verdict.decisions[0] if verdict.decisions else None
    text = common_form(decision.message, part.name) if decision else ""
    if verdict.observed:
        message = f"nothing was injected: label {names.MODE} of namespace {reading.namespace} only observes"
        return Observation(Stage.ADMISSION, "warn", TOPIC, message, "remove the label, then restart the job", pods)
    if not verdict.allowed:
        action = "correct that, then restart the job"
        return Observation(
            stage, "fail", TOPIC, f"nothing was injected, and today it would be denied: {text}", action, pods
        )
    if verdict.profile and verdict.reason in ("injected", "unchanged"):
        message = f"was created before injection: today it would get profile {verdict.profile}"
        action = "restart the job; label namespaces while no job runs in them"
        return Observation(Stage.ADMISSION, "fail", TOPIC, message, action, pods)
    if decision is not None and decision.reason in _BY_CHOICE:
        return Observation(Stage.SUMMARY, "ok", TOPIC, f"not injected: {text}", pods=pods)
    action = ""
    if decision is not None and decision.reason is Reason.NO_PROFILE:
        action = f"kubectl label namespace {reading.namespace} {names.PROFILE}=PROFILE, then restart the job"
    return Observation(stage, level, TOPIC, f"not injected: {text}", action, pods)


def _today(reading: Reading, part: Part) -> Iterator[Observation]:
    changes = list(changes_today(reading, part))
    if not changes:
        return
    message = "would get another result today: " + "; ".join(common_form(each, part.name) for each in changes)
    restart = "restart the job to take it up, or undo the change"
    yield Observation(Stage.DRIFT, "warn", "drift", message, restart, (part.name,))


def changes_today(reading: Reading, part: Part) -> Iterator[str]:
    """Yield what a live pod would get otherwise today."""
    if part.is_live and part.is_injected:
        yield from differences(part, _profile(reading, part))


def _profile(reading: Reading, part: Part) -> Profile | None:
    name = part.verdict.profile if part.verdict else ""
    return reading.profiles.profiles.get(name) if reading.profiles else None


def differences(part: Part, profile: Profile | None) -> Iterator[str]:
    """Yield what an injected pod has otherwise than it would get today; nothing where that cannot be known.

    A second pass over a pod changes nothing, so whatever would be injected now is new. *profile* is the one that it would get.
    """
    verdict, status = part.verdict, part.status
    if verdict is None:
        return
    if verdict.observed:
        yield f"label {names.MODE} of its namespace says to observe only"
        return
    if not verdict.allowed:
        if verdict.reason == Reason.NETWORK_ABSENT and part.node:
            return  # told of the pod itself, see networks
        if verdict.reason != Reason.STALE_MANIFEST:
            yield f"denied: {verdict.message.removeprefix(f'pod {part.name}: ')}"
            return
        yield "no address would be published to it: " + _within_parentheses(verdict.message)
        return
    if profile is None:
        yield "nothing would be injected: " + "; ".join(each.message for each in verdict.decisions)
        return
    if status.get("profile") not in (None, profile.name):
        yield f"profile {profile.name} in place of {status['profile']}"
    yield from _steps(part, verdict, profile)


def _steps(part: Part, verdict: Verdict, profile: Profile) -> Iterator[str]:
    injected = part.status.get("injected") or ()
    meets, _ = _place(part.pod), verdict.pod
    now = _place(verdict.pod)
    if meets and now and meets != now:
        yield f"the ranks would meet on {now} in place of {meets}"
    for decision in verdict.decisions:
        if decision.outcome is Outcome.INJECTED:
            if decision.step == "rendezvous" and names.WAIT_CONTAINER in _init_names(part.pod):
                if part.status.get("version") == __version__ and not _only_timeout(part.pod, verdict.pod):
                    yield "rendezvous: other variables or another wait step"
                elif _only_timeout(part.pod, verdict.pod):
                    yield "rendezvous: another timeout of the wait step"
            else:
                yield f"{decision.step}: {decision.message}"
        elif decision.outcome is Outcome.SKIPPED and decision.reason is Reason.DISABLED and decision.step in injected:
            yield f"without {decision.step}, which was injected: {decision.message}"
    if "shared-memory" in injected and profile.shared_memory.enabled:
        volume = podspec.volume_named(part.pod, names.SHM_VOLUME) or {}
        had = (volume.get("emptyDir") or {}).get("sizeLimit")
        if volume and str(had or "") != str(profile.shared_memory.size_limit or ""):
            yield f"{names.SHM_MOUNT_PATH} of {profile.shared_memory.size_limit or 'no size'} in place of {had or 'no size'}"
    if "environment" in injected:
        for name, value in profile.env.items():
            had = podspec.env_value(part.training, name)
            if had is not None and had != value:
                yield f"{name}={value} in place of {had}"


def _place(pod: Object) -> str:
    return podspec.annotations(pod).get(names.RENDEZVOUS_NETWORK) or ""


def _init_names(pod: Object) -> list[Any]:
    return [each.get("name") for each in podspec.init_containers(pod)]


def _only_timeout(before: Object, after: Object) -> bool:
    """Tell whether nothing but the wait step's own variables differs."""

    def stripped(pod: Object) -> list[Object]:
        return [
            {key: value for key, value in each.items() if key != "env"}
            if each.get("name") == names.WAIT_CONTAINER
            else each
            for each in podspec.init_containers(pod)
        ]

    same = before["spec"] | {"initContainers": None} == after["spec"] | {"initContainers": None}
    return (
        same
        and stripped(before) == stripped(after)
        and podspec.init_containers(before) != podspec.init_containers(after)
    )


def _within_parentheses(message: str) -> str:
    return message.partition("(")[2].partition(")")[0] or message


def _listed(value: object) -> bool:
    return isinstance(value, list) and bool(value)
