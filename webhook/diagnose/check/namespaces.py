"""Look at the labelled namespaces: the profile that they name, whether they may use it, and what refuses its pods."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple

from webhook.core import names
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.injection.pod_security import refused_parts
from webhook.core.model import Object
from webhook.core.profiles import Profile, Profiles
from webhook.core.profiles.slips import choose_profile, did_you_mean
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding, Level
from webhook.diagnose.wording import listed

_LIKE_OURS = "fabric-injector"
"""How labels begin that are looked at: people misspell what follows, the rest of the prefix too."""
_READ = {key.rpartition("/")[2]: key for key in (names.PROFILE, names.MODE)}
_MOST_LABELS = 5


@dataclass(frozen=True, slots=True)
class LabelledNamespace:
    """Hold a namespace's name and labels."""

    name: str
    labels: Mapping[str, str] = field(default_factory=dict)

    @property
    def profile(self) -> str:
        """Return the profile that it names; empty for none and for ``none``."""
        named = self.labels.get(names.PROFILE, "")
        return "" if named == names.PROFILE_NONE else named

    @property
    def observes(self) -> bool:
        """Tell whether it only observes."""
        return self.labels.get(names.MODE) == names.MODE_OBSERVE


class _Remark(NamedTuple):
    """Say what holds for every namespace that it holds for, in the same words."""

    level: Level
    code: Code
    message: str
    action: str | None = None


def read_namespace(obj: Object) -> LabelledNamespace | None:
    """Keep name and labels; None for a namespace that carries none like ours, or is being deleted."""
    metadata = obj.get("metadata") or {}
    labels = metadata.get("labels") or {}
    if metadata.get("deletionTimestamp") or not any(key.startswith(_LIKE_OURS) for key in labels):
        return None
    return LabelledNamespace(metadata.get("name") or "", labels)


def check_namespaces(
    namespaces: Iterable[LabelledNamespace],
    profiles: Profiles | None,
    own_namespace: str,
    unusable: Collection[str] = (),
) -> Iterator[Finding]:
    """Say what is to be known of the labelled namespaces, once for all that are alike; *profiles* None: they cannot be read.

    *unusable*: names of profiles that exist, and have faults that are told by themselves.
    """
    labelled = list(namespaces)
    alike: dict[_Remark, list[str]] = {}
    for namespace in labelled:
        for remark in _look(namespace, profiles, own_namespace, unusable):
            alike.setdefault(remark, []).append(namespace.name)
    if not any(namespace.profile for namespace in labelled):
        found = (
            f"names a profile by label {names.PROFILE}"
            if labelled
            else f"carries the label {names.PROFILE}"
        )
        yield Finding("ok", Code.NAMESPACES_UNLABELLED, "namespaces", f"none {found} yet")
    for remark, where in alike.items():
        yield Finding(remark.level, remark.code, _subject(where), remark.message, remark.action)


def _subject(where: Sequence[str]) -> str:
    return (
        f"namespace {where[0]}"
        if len(where) == 1
        else f"each of {len(where)} namespaces ({listed(where)})"
    )


def _look(
    namespace: LabelledNamespace,
    profiles: Profiles | None,
    own_namespace: str,
    unusable: Collection[str],
) -> Iterator[_Remark]:
    yield from islice(_unread_labels(namespace.labels), _MOST_LABELS)
    mode = namespace.labels.get(names.MODE)
    if mode is not None and mode != names.MODE_OBSERVE:
        message = f"label {names.MODE}: {mode} means nothing"
        yield _Remark("warn", Code.MODE_UNKNOWN, message)
    name = namespace.profile
    if not name:
        return
    if namespace.name in (*NEVER_REACHED, own_namespace):
        message = f"carries the label {names.PROFILE}, but its pods are never sent to the webhook"
        yield _Remark("warn", Code.NAMESPACE_EXCLUDED, message)
        return
    if profiles is None or name in unusable:
        yield _unjudged(name, is_unusable=name in unusable)
        return
    profile = profiles.profiles.get(name)
    if profile is None:
        yield _Remark(
            "fail",
            Code.PROFILE_UNKNOWN,
            f"no profile is named {name!r}: every training pod is denied",
            choose_profile(name, profiles.usable_in(namespace.name)),
        )
    else:
        yield from _of_profile(namespace, profile)


def _unread_labels(labels: Mapping[str, str]) -> Iterator[_Remark]:
    for key in labels:
        if key.startswith(_LIKE_OURS) and key not in _READ.values():
            meant = did_you_mean(key.rpartition("/")[2], _READ)
            action = (
                f"did you mean {_READ[meant]}?"
                if meant
                else f"a namespace's are {' and '.join(_READ.values())}"
            )
            yield _Remark(
                "warn", Code.LABEL_UNKNOWN, f"label {key} means nothing on a namespace", action
            )


def _unjudged(profile: str, *, is_unusable: bool) -> _Remark:
    """Say why a namespace cannot be judged: it must not look like one that nobody labelled."""
    why, action = (
        "is not known, for the profiles were not read",
        "see what else is said of the profiles, or give --profiles FILE",
    )
    if is_unusable:
        why, action = (
            "has a fault",
            "correct the profile, as its own finding says, and run check again",
        )
    return _Remark(
        "warn", Code.UNREAD, f"cannot be judged: profile {profile}, which it names, {why}", action
    )


def _of_profile(namespace: LabelledNamespace, profile: Profile) -> Iterator[_Remark]:
    if not profile.is_for(namespace.name):
        message = f"profile {profile.name} is not for it: every training pod is denied"
        yield _Remark("fail", Code.PROFILE_NOT_ALLOWED, message)
        return
    if namespace.observes:
        message = f"only observes (label {names.MODE}): pods of profile {profile.name} are neither changed nor denied"
        yield _Remark("warn", Code.NAMESPACE_OBSERVES, message)
    level = namespace.labels.get(names.POD_SECURITY_ENFORCE, "")
    if refused := refused_parts(profile, level):
        yield _pod_security(profile, level, refused)
    elif not namespace.observes:
        yield _Remark("ok", Code.NAMESPACE_READY, f"uses profile {profile.name}")


def _pod_security(profile: Profile, level: str, refused: Sequence[str]) -> _Remark:
    found = (
        f"enforces PodSecurity {level}, which refuses {listed(refused)} of profile {profile.name}"
    )
    if profile.pod_security == "skip":
        message, action = (
            f"{found}: pods get none (podSecurity: skip)",
            f"label it {names.POD_SECURITY_ENFORCE}=privileged",
        )
        if profile.ipc_lock:
            message += ", and registering RDMA memory may fail"
            action = f"raise the nodes' memlock limit, or {action}"
        return _Remark("warn", Code.POD_SECURITY_REFUSES, message, action)
    if profile.pod_security == "ignore":
        message = (
            f"{found}: its pods are refused unless PodSecurity exempts them (podSecurity: ignore)"
        )
        action = "see that the exemption is there, or use podSecurity: skip"
        return _Remark("warn", Code.POD_SECURITY_REFUSES, message, action)
    return _Remark("fail", Code.POD_SECURITY_REFUSES, f"{found}: every training pod is denied")
