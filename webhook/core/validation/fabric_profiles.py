"""Judge a FabricProfile: what the API server's schema and rules cannot tell of it, and who still needs one that is to be deleted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from webhook.core import names
from webhook.core.addresses import choose_alone
from webhook.core.errors import ProfilesError, Unavailable
from webhook.core.profiles import Profile, Profiles
from webhook.core.profiles.objects import PROFILE_KIND, faults_in_object
from webhook.core.validation import MOST_FAULTS, Validation, ValidationWorld
from webhook.core.wording import listed


def review_profile(name: str, spec: Any, profiles: Profiles, world: ValidationWorld) -> Validation:
    """Judge the content of profile *name* by the loader's own rules, and beside the other profiles."""
    subject = f"{PROFILE_KIND} {name}"
    try:
        profile = world.read_profile(name, spec)
    except ProfilesError as error:
        faults = faults_in_object(name, error.problems)
        return Validation(f"{subject}: {listed(faults, MOST_FAULTS, '; ')}")
    except Unavailable as error:
        return Validation(warnings=(f"{subject}: its content was not checked: {error}",))
    for other in profiles.profiles.values():
        if other.name != name and profile.pod_labels and dict(other.pod_labels) == dict(profile.pod_labels):
            advice = "no pod could choose one of the two; write others"
            return Validation(f"{subject}: spec.podLabels: profile {other.name} has the same; {advice}")
    inert = (f"{subject}: {each}" for each in profile.inert_settings())
    denied = (
        f"{subject}: {each}: pods that would get it are denied until it is"
        for each in profile.not_allowed(profiles.allowed)
    )
    networks = (*_absent_networks(profile, world), *_without_address(profile))
    return Validation(warnings=(*_shut_out(profile, world), *inert, *denied, *networks))


def review_deletion(name: str, profiles: Profiles, world: ValidationWorld) -> Validation:
    """Refuse to delete a profile that is in use and that namespaces name."""
    if name not in profiles.profiles:
        return Validation()
    subject = f"{PROFILE_KIND} {name}"
    try:
        users = world.namespaces_naming(name)
    except Unavailable as error:
        return Validation(warnings=(f"{subject}: whether namespaces name it was not looked at: {error}",))
    if not users:
        return Validation()
    cure = f"first give them another: kubectl label namespace {users[0]} --overwrite {names.PROFILE}=NAME, or {names.PROFILE}-"
    return Validation(f"{subject}: {_naming(users)}; {cure}")


def _naming(users: Sequence[str]) -> str:
    several = len(users) > 1
    return f"{len(users)} namespace{'s' if several else ''} name{'' if several else 's'} it ({listed(users)})"


def _shut_out(profile: Profile, world: ValidationWorld) -> Iterator[str]:
    if profile.allowed_namespaces is None:
        return
    try:
        users = world.namespaces_naming(profile.name)
    except Unavailable:  # what is not known is not told
        return
    shut_out = [user for user in users if not profile.is_for(user)]
    if shut_out:
        what = f"{_naming(shut_out)}, and may not use it (allowedNamespaces)"
        yield f"{PROFILE_KIND} {profile.name}: {what}: training pods there are denied, except in observe mode"


def _absent_networks(profile: Profile, world: ValidationWorld) -> Iterator[str]:
    absent = []
    named = dict.fromkeys((network.namespace, network.name) for network in profile.networks)
    for namespace, name in named:
        if namespace is None:  # each pod's own
            continue
        try:
            if world.network(namespace, name) is None:
                absent.append(f"{namespace}/{name}")
        except Unavailable:  # what is not known is not told
            break
    if absent:
        verb = "do" if len(absent) > 1 else "does"
        number = f"{len(absent)} networks" if len(absent) > 1 else "network"
        yield f"{PROFILE_KIND} {profile.name}: {number} {listed(absent)} {verb} not exist: its pods are denied until then"


def _without_address(profile: Profile) -> Iterator[str]:
    choice = choose_alone(profile)
    if choice is not None and choice.network is None:
        yield f"{PROFILE_KIND} {profile.name}: {choice.problem}: its jobs meet on the pod network"
