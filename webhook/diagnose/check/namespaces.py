"""Look at the labelled namespaces: their labels, their profile, and what refuses its pods."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from webhook.core import names
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.injection.pod_security import refused_parts
from webhook.core.profiles import Profile, Profiles
from webhook.core.profiles.slips import choose_profile, did_you_mean
from webhook.core.wording import listed
from webhook.diagnose.check.needs import LIKE_OURS, LabelledNamespace, labelled
from webhook.diagnose.common import NAMESPACE_OBSERVES
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot

NAMESPACE_UNLABELLED = Code(
    "namespaces/namespace-unlabelled",
    "The namespace does not carry the profile label, so its pods are not injected.",
    "kubectl label namespace NAME fabric-injector.io/profile=PROFILE, while no job runs there",
)
LABEL_UNKNOWN = Code(
    "namespaces/label-unknown",
    "A label of the namespace looks like ours, and its name or value means nothing.",
    "correct the label, or remove it",
)
NAMESPACE_EXCLUDED = Code(
    "namespaces/namespace-excluded",
    "The namespace is labelled, but its pods are never sent to the webhook.",
    "remove the label",
)
PROFILE_UNKNOWN = Code(
    "namespaces/profile-unknown",
    "The namespace names a profile that does not exist, so every training pod is denied.",
    "name one of the profiles that kubectl get fabricprofiles lists",
)
PROFILE_NOT_ALLOWED = Code(
    "namespaces/profile-not-allowed",
    "The namespace names a profile that is not for it, so every training pod is denied.",
    "add it to the profile's allowedNamespaces, or use another profile",
)
POD_SECURITY_REFUSES = Code(
    "namespaces/pod-security-refuses",
    "The namespace's PodSecurity level refuses IPC_LOCK or another part of the profile.",
    "label it pod-security.kubernetes.io/enforce=privileged, or set podSecurity in the profile",
)
_READ = {key.rpartition("/")[2]: key for key in (names.PROFILE, names.MODE)}
_MOST_LABELS = 5


def check_labels(snapshot: Snapshot) -> Iterator[Finding]:
    """Say which labels mean nothing, and which namespaces the label does not reach."""
    spaces = labelled(snapshot)
    if snapshot.namespace and not spaces:
        message = f"does not carry the label {names.PROFILE}: its pods are not injected"
        action = f"kubectl label namespace {snapshot.namespace} {names.PROFILE}=PROFILE"
        yield NAMESPACE_UNLABELLED.warn(f"namespace {snapshot.namespace}", message, action)
    elif not any(space.profile for space in spaces.values()):
        yield ok("namespaces", "namespaces", f"none names a profile by label {names.PROFILE} yet")
    for space in spaces.values():
        yield from _of_labels(snapshot.system_namespace, space)


def check_namespaces(snapshot: Snapshot) -> Iterator[Finding]:
    """Say whether each labelled namespace can use the profile that it names."""
    spaces, read = labelled(snapshot).values(), snapshot.profiles()
    never = (*NEVER_REACHED, snapshot.system_namespace)
    if read.profiles is None:
        return
    for space in spaces:
        is_judged = space.profile and space.name not in never
        if is_judged and space.profile not in read.unusable:
            yield from _of_profile(read.profiles, space)


def _of_labels(own_namespace: str, space: LabelledNamespace) -> Iterator[Finding]:
    unknown = [
        key for key in space.labels if key.startswith(LIKE_OURS) and key not in _READ.values()
    ]
    for key in unknown[:_MOST_LABELS]:
        meant = did_you_mean(key.rpartition("/")[2], _READ)
        action = f"use {_READ[meant]}" if meant else f"use {' or '.join(_READ.values())}"
        yield LABEL_UNKNOWN.warn(space.title, f"label {key} means nothing on a namespace", action)
    mode = space.labels.get(names.MODE)
    if mode not in (None, names.MODE_OBSERVE):
        action = "use observe, or remove the label; until then pods are injected"
        yield LABEL_UNKNOWN.warn(space.title, f"label {names.MODE}: {mode} means nothing", action)
    if space.profile and space.name in (*NEVER_REACHED, own_namespace):
        message = f"carries the label {names.PROFILE}, but its pods are never sent to the webhook"
        yield NAMESPACE_EXCLUDED.warn(space.title, message)


def _of_profile(profiles: Profiles, space: LabelledNamespace) -> Iterator[Finding]:
    profile = profiles.profiles.get(space.profile)
    if profile is None:
        action = choose_profile(space.profile, profiles.usable_in(space.name))
        message = f"no profile is named {space.profile!r}: every training pod is denied"
        yield PROFILE_UNKNOWN.fail(space.title, message, action)
        return
    if not profile.is_for(space.name):
        message = f"profile {profile.name} is not for it: every training pod is denied"
        yield PROFILE_NOT_ALLOWED.fail(space.title, message)
        return
    if space.observes:
        message = f"only observes: pods of profile {profile.name} are neither changed nor denied"
        yield NAMESPACE_OBSERVES.warn(space.title, message)
    level = space.labels.get(names.POD_SECURITY_ENFORCE, "")
    if refused := refused_parts(profile, level):
        yield _pod_security(space.title, profile, level, refused)
    elif not space.observes:
        yield ok("namespaces", space.title, f"uses profile {profile.name}")


def _pod_security(subject: str, profile: Profile, level: str, refused: Sequence[str]) -> Finding:
    parts = f"{listed(refused)} of profile {profile.name}"
    message = f"enforces PodSecurity {level}, which refuses {parts}"
    label = f"label it {names.POD_SECURITY_ENFORCE}=privileged"
    if profile.pod_security == "skip":
        message += ": pods get none (podSecurity: skip)"
        if profile.ipc_lock:
            message += ", and registering RDMA memory may fail"
            label = f"raise the nodes' memlock limit, or {label}"
        return POD_SECURITY_REFUSES.warn(subject, message, label)
    if profile.pod_security == "ignore":
        message += ": its pods are refused unless PodSecurity exempts them (podSecurity: ignore)"
        action = "exempt them in the API server's PodSecurity, or use podSecurity: skip"
        return POD_SECURITY_REFUSES.warn(subject, message, action)
    return POD_SECURITY_REFUSES.fail(subject, f"{message}: every training pod is denied")
