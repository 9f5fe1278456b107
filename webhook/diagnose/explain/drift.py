"""Say whether a pod would get another result today: the profile, a network or this program has changed since."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from webhook import __version__
from webhook.core import names, podspec
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import Profile
from webhook.core.review import Verdict
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage, common_form
from webhook.diagnose.explain.part import Part
from webhook.diagnose.explain.reading import Reading

_LONGEST = 64
"""Characters of a value of the status annotation, which the pod's owner may have written."""


def observe(reading: Reading, parts: Iterable[Part]) -> Iterator[Observation]:
    """Look at every injected pod that is live, unless a network of the job may not be read: what that gives today is unknown."""
    parts = list(parts)
    yield from _apart(parts)
    for part in parts:
        if changes := list(changes_today(reading, part)):
            told = "; ".join(common_form(each, part.name) for each in changes)
            message = f"would get another result today{_generation(reading, part)}: {told}"
            yield Observation(Stage.DRIFT, "warn", Code.DRIFT, message, pods=(part.name,))


def _apart(parts: Sequence[Part]) -> Iterator[Observation]:
    """Name members that have another revision of a profile than their rank 0, or another profile of their namespace's label."""
    injected = sorted(
        (part for part in parts if part.is_live and part.is_injected), key=lambda part: part.created
    )
    rank_zero = {part.job: part for part in injected if part.job and part.is_master}
    for part in injected:
        zero = rank_zero.get(part.job, part)
        (name, revision, chosen_by), (name_of_zero, revision_of_zero, chosen_by_of_zero) = (
            _profile_of(part),
            _profile_of(zero),
        )
        by_namespace = chosen_by == chosen_by_of_zero == names.CHOSEN_BY_NAMESPACE
        if (
            revision
            and revision_of_zero
            and revision != revision_of_zero
            and (by_namespace or name == name_of_zero)
        ):
            has = f"profile {name} in revision {revision}"
            message = f"has {has}, and rank 0, pod {zero.name}, has profile {name_of_zero} in revision {revision_of_zero}"
            yield Observation(
                Stage.DRIFT, "warn", Code.REVISIONS_DIFFER, message, pods=(part.name,)
            )


def _profile_of(part: Part) -> tuple[str, str, str]:
    """Return the profile that the status annotation tells, its revision, and whose word chose it; empty where it does not tell."""
    name, revision, chosen_by = (
        str(part.status.get(key) or "")[:_LONGEST] for key in ("profile", "revision", "chosenBy")
    )
    return name, revision, chosen_by


def changes_today(reading: Reading, part: Part) -> Iterator[str]:
    """Yield what a live pod would get otherwise today, as far as its networks may be read."""
    if not reading.refused_networks and part.is_live and part.is_injected:
        yield from differences(part, _profile(reading, part))


def _generation(reading: Reading, part: Part) -> str:
    """Name the generation of the profile that the pod would get, where it is an object."""
    name = part.verdict.profile if part.verdict else ""
    number = reading.generations.get(name)
    return f" (profile {name} is at generation {number})" if number else ""


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
    stale = [each for each in verdict.decisions if each.reason is Reason.STALE_MANIFEST]
    if profile is None:
        told = [each.message for each in verdict.decisions if each not in stale]
        yield "nothing would be injected: " + "; ".join(told)
        return
    if stale:
        yield "no address would be published to it: " + _within_parentheses(stale[0].message)
        return
    if status.get("profile") not in (None, profile.name):
        yield f"profile {profile.name} in place of {status['profile']}"
    yield from _steps(part, verdict, profile)


def _steps(part: Part, verdict: Verdict, profile: Profile) -> Iterator[str]:
    told = part.status.get("injected")
    injected = told if isinstance(told, list) else []
    meets, _ = _place(part.pod), verdict.pod
    now = _place(verdict.pod)
    if meets and now and meets != now:
        yield f"the ranks would meet on {now} in place of {meets}"
    for decision in verdict.decisions:
        if decision.outcome is Outcome.INJECTED:
            if decision.step == "rendezvous" and names.WAIT_CONTAINER in _init_names(part.pod):
                if part.status.get("version") == __version__ and not _only_timeout(
                    part.pod, verdict.pod
                ):
                    yield "rendezvous: other variables or another wait step"
                elif _only_timeout(part.pod, verdict.pod):
                    yield "rendezvous: another timeout of the wait step"
            else:
                yield f"{decision.step}: {decision.message}"
        elif (
            decision.outcome is Outcome.SKIPPED
            and decision.reason is Reason.DISABLED
            and decision.step in injected
            and not _keeps(verdict, decision.step)  # which does a part of what it may do, as it did
        ):
            yield f"without {decision.step}, which was injected: {decision.message}"
    if "shared-memory" in injected and profile.shared_memory.enabled:
        volume = podspec.volume_named(part.pod, names.SHM_VOLUME) or {}
        had = (volume.get("emptyDir") or {}).get("sizeLimit")
        if volume and str(had or "") != str(profile.shared_memory.size_limit or ""):
            yield f"{names.SHM_MOUNT_PATH} of {profile.shared_memory.size_limit or 'no size'} in place of {had or 'no size'}"
    if "environment" in injected:
        for name, value in profile.env.items():
            had = part.literals.get(name)
            if had is not None and had != value:
                yield f"{name}={value} in place of {had}"


def _keeps(verdict: Verdict, step: str) -> bool:
    return any(each.outcome is Outcome.KEPT and each.step == step for each in verdict.decisions)


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
