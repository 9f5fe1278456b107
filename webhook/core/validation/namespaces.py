"""Warn of a namespace's labels that do not do what they seem to: nobody is told otherwise until a pod is created."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from webhook.core import bounds, names, podspec
from webhook.core.errors import ProfilesError, Unavailable
from webhook.core.model import Object, Reason
from webhook.core.printable import quoted
from webhook.core.profiles import Profiles
from webhook.core.profiles.slips import did_you_mean
from webhook.core.validation import Validation, ValidationWorld
from webhook.core.wording import listed
from webhook.core.workloads import NotTraining, recognise

LIKE_OURS = "fabric-injector"
"""Beginning of the labels that are looked at: longer prefixes are misspelt too."""
_READ = {key.rpartition("/")[2]: key for key in (names.PROFILE, names.MODE)}
_MOST_LABELS = 10
_MOST_KNOWN = 10
_MOST_COMPARED = 500
"""Profiles that a misspelt name is compared with."""


def review_namespace(
    name: str, labels: Mapping[str, str], before: Mapping[str, str] | None, profiles: Profiles, world: ValidationWorld
) -> Validation:
    """Judge the labels of namespace *name*; *before*: those that it had, None for a new one. A namespace is never refused."""
    unread = islice(_unread_labels(labels), _MOST_LABELS)
    is_new = before is not None and _in_force(before) != _in_force(labels)
    # asked first: what is left of the time is for the profile, which takes a process
    jobs = list(_of_jobs(name, _in_force(before or {}), _in_force(labels), world)) if is_new else []
    return Validation(warnings=(*_of_mode(labels), *_of_profile(name, labels, profiles, world), *unread, *jobs))


def _unread_labels(labels: Mapping[str, str]) -> Iterator[str]:
    for key in labels:
        if key.startswith(LIKE_OURS) and key not in _READ.values():
            meant = did_you_mean(key.rpartition("/")[2], _READ)
            known = (
                f"did you mean {_READ[meant]}?" if meant else f"those of a namespace are {' and '.join(_READ.values())}"
            )
            yield f"label {key[:100]} means nothing on a namespace; {known}"


def _of_mode(labels: Mapping[str, str]) -> Iterator[str]:
    mode = labels.get(names.MODE)
    if mode is not None and mode != names.MODE_OBSERVE:
        advice = f"write {names.MODE_OBSERVE}, or remove the label"
        yield f"label {names.MODE}: {quoted(mode)} means nothing, and pods are injected; {advice}"


def _of_profile(name: str, labels: Mapping[str, str], profiles: Profiles, world: ValidationWorld) -> Iterator[str]:
    named = labels.get(names.PROFILE)
    if named is None or named == names.PROFILE_NONE:
        return
    consequence = "" if _observes(labels) else ": its training pods are denied"
    try:  # the watch may not have brought one that was made a moment ago
        profile = profiles.profiles.get(named) or world.new_profile(named)
    except Unavailable:  # what is not known is not told
        return
    except ProfilesError:
        yield f"label {names.PROFILE}: the content of profile {named} cannot be used{consequence}; correct the profile"
        return
    if profile is None:
        known = profiles.usable_in(name)
        meant = did_you_mean(named, known[:_MOST_COMPARED])
        advice = f"did you mean {meant}? " if meant else ""
        there = f"there are {listed(known, _MOST_KNOWN)}" if known else "there is none for it yet"
        yield f"label {names.PROFILE}: no profile is named {quoted(named)}{consequence}; {advice}{there}"
    elif not profile.is_for(name):
        yield f"label {names.PROFILE}: profile {named} is not for namespace {name} (allowedNamespaces){consequence}"


def _observes(labels: Mapping[str, str]) -> bool:
    return labels.get(names.MODE) == names.MODE_OBSERVE


def _in_force(labels: Mapping[str, str]) -> str:
    """Return the profile that pods get by the namespace's labels; empty where they get none."""
    named = labels.get(names.PROFILE, names.PROFILE_NONE)
    return "" if named == names.PROFILE_NONE or _observes(labels) else named


def _of_jobs(name: str, before: str, after: str, world: ValidationWorld) -> Iterator[str]:
    try:
        unfinished = world.unfinished_pods(name)
    except Unavailable:  # a label is not to wait for a slow API server, nor to be refused by it
        return
    jobs = _jobs(unfinished.pods)
    if not jobs:
        return
    number = (
        f"{'at least ' if unfinished.more else ''}{len(jobs)} unfinished training job{'s' if len(jobs) > 1 else ''}"
    )
    if not before:
        change = "only pods created from now on are injected"
    elif not after:
        change = "pods created from now on are not injected"
    else:
        change = f"only pods created from now on get profile {after}"
    yield f"{number} here ({listed(jobs)}): {change}, and a job some of whose pods are created anew is split; let them end first"


def _jobs(pods: Sequence[Object]) -> list[str]:
    """Name the jobs of several pods, in the order in which they come."""
    found: dict[str, str] = {}
    for pod in pods:
        if podspec.labels(pod).get(names.PROFILE) != names.PROFILE_NONE and not podspec.is_ending(pod):
            owner = podspec.controller(pod)
            shown = f"{owner.get('kind')} {owner.get('name')}" if owner else f"pod {podspec.display_name(pod)}"
            key = _job_key(pod)
            if key is not None:
                found.setdefault(key or owner.get("uid") or shown, shown)
    return list(found.values())


def _job_key(pod: Object) -> str | None:
    """Return what the pods of one job share, empty where only their owner is known; None for a pod of no job, or of one alone."""
    if job := podspec.labels(pod).get(names.JOB):
        return job
    found = recognise(bounds.within(pod) if bounds.excess(pod) else pod)
    if isinstance(found, NotTraining):
        return None
    if found.rendezvous is not None:
        return found.rendezvous.job
    return None if found.reason is Reason.SINGLE_NODE else ""
