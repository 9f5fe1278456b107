"""Decide about one pod of many that are alike, as admission would: what changes, and what stands in the way."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Literal, NamedTuple

import orjson

from webhook.core import names, podspec
from webhook.core.cluster.demand import NEVER_REACHED
from webhook.core.cluster.nodes import Shortage, Supply, devices_and_hugepages, judge_supply, shown_amount
from webhook.core.model import Object, Outcome, Reason
from webhook.core.profiles import Allowed, Profiles
from webhook.core.review import Verdict, decide
from webhook.core.workloads.shell import SHELLS
from webhook.diagnose.survey.reading import ClusterReading
from webhook.diagnose.survey.world import ListedWorld, Supposition

Gravity = Literal["refused", "unplaced", "incomplete", "doubt"]
"""Admission would deny the pod; no node could hold it; it would lack a device; it may not work, which cannot be seen from here."""
_SUPPOSED: Mapping[str, Supposition] = {
    Reason.NETWORK_ABSENT: Supposition.NETWORKS_EXIST,
    Reason.POD_SECURITY: Supposition.NO_POD_SECURITY,
    Reason.NAMESPACE_NOT_ALLOWED: Supposition.NAMESPACES_ALLOWED,
    Reason.NOT_ALLOWED: Supposition.PARTS_ALLOWED,
}
_SHORTAGES: Mapping[Shortage, str] = {
    Shortage.NOWHERE: "resource-nowhere",
    Shortage.TOO_SMALL: "resource-too-small",
    Shortage.UNLABELLED: "resource-unlabelled",
}
SHELL_UNSEEN = "shell-unseen"


class Change(NamedTuple):
    """State one change: *step* is a file name of ``injection/``, *message* one sentence."""

    step: str
    reason: str
    message: str


class Barrier(NamedTuple):
    """State what stands in the way: *reason* is a fixed word, *message* a sentence without the pod's name."""

    gravity: Gravity
    reason: str
    message: str


@dataclass(frozen=True, slots=True)
class Trial:
    """Hold what a profile would make of one pod; *pod*: the name of the one that was decided about.

    *changes*: those that are made once the administrator has put right what is refused. *left_alone*: why nothing changes.
    """

    pod: str
    profile: str
    changes: tuple[Change, ...] = ()
    barriers: tuple[Barrier, ...] = ()
    left_alone: str = ""


class Trials:
    """Decide once for all pods of a namespace that are alike."""

    def __init__(self, reading: ClusterReading) -> None:
        self._reading = reading
        self._made: dict[tuple[str, bytes], Trial | None] = {}
        self._supplies: dict[tuple[str, Fraction, frozenset[tuple[str, str]]], Supply] = {}
        self._worlds: dict[tuple[str, frozenset[Supposition]], ListedWorld] = {}
        self._labels = {space.name: space.labels for space in reading.namespaces.items}

    def of(self, namespace: str, likeness: bytes) -> Trial | None:
        """Return what would become of such a pod; None where no profile is chosen for the namespace."""
        key = namespace, likeness
        if key not in self._made:
            self._made[key] = self._try(namespace, likeness)
        return self._made[key]

    def profile_of(self, namespace: str) -> str:
        """Return the profile that is tried in a namespace: the one that was asked for, else that of its label; empty for none."""
        named = self._labels.get(namespace, {}).get(names.PROFILE, "")
        return self._reading.profile or ("" if named == names.PROFILE_NONE else named)

    def _try(self, namespace: str, likeness: bytes) -> Trial | None:
        profiles, profile = self._reading.profiles, self.profile_of(namespace)
        if profiles is None or not profile:
            return None
        pod: Object = orjson.loads(self._reading.templates[likeness])
        pod["metadata"]["namespace"] = namespace
        name = podspec.display_name(pod)
        if namespace in (*NEVER_REACHED, self._reading.system_namespace):
            return Trial(name, profile, left_alone=f"pods of namespace {namespace} are never sent to the webhook")
        barriers: list[Barrier] = []
        supposed: frozenset[Supposition] = frozenset()
        while True:
            verdict = decide(pod, namespace, _supposing(profiles, supposed), self._world(profile, supposed))
            denials = [each for each in verdict.decisions if each.outcome is Outcome.DENIED]
            barriers += [Barrier("refused", each.reason, _unnamed(each.message, name)) for each in denials]
            more = {_SUPPOSED[each.reason] for each in denials if each.reason in _SUPPOSED} - supposed
            if verdict.allowed or not more:
                break
            supposed |= more
        if not verdict.allowed:
            return Trial(name, profile, barriers=tuple(dict.fromkeys(barriers)))
        changes = tuple(
            Change(each.step, each.reason, _unnamed(each.message, name))
            for each in verdict.decisions
            if each.outcome is Outcome.INJECTED and each.reason is not Reason.STALE_MANIFEST
        )
        barriers += [
            Barrier(
                "incomplete" if each.reason is Reason.UNKNOWN_QUANTITY else "doubt",
                each.reason,
                _unnamed(each.message, name),
            )
            for each in verdict.decisions
            if each.outcome is Outcome.WARNED
        ]
        barriers += [*self._unplaced(pod, verdict.pod), *_unseen_shell(verdict, profiles)]
        why = "" if changes else next((each.message for each in verdict.decisions), "it lacks nothing")
        return Trial(name, verdict.profile or profile, changes, tuple(dict.fromkeys(barriers)), why)

    def _world(self, profile: str, supposed: frozenset[Supposition]) -> ListedWorld:
        key = profile, supposed
        if key not in self._worlds:
            self._worlds[key] = ListedWorld(self._reading, profile, supposed)
        return self._worlds[key]

    def _unplaced(self, before: Object, after: Object) -> Iterator[Barrier]:
        """Tell of devices and huge pages that the pod would newly ask for, and no node offers; nothing where nodes are not known."""
        nodes = self._reading.nodes.known
        if nodes is None:
            return
        asked, selector = devices_and_hugepages(before), frozenset((after["spec"].get("nodeSelector") or {}).items())
        for resource, amount in devices_and_hugepages(after).items():
            if amount <= asked.get(resource, 0):
                continue
            key = resource, amount, selector
            supply = self._supplies.get(key) or self._supplies.setdefault(
                key, judge_supply(nodes, resource, amount, selector, self._reading.device_offers.given(resource))
            )
            if supply.shortage and not supply.uncounted:
                message = f"a pod takes {shown_amount(resource, amount)} of {resource}, and {supply.message}"
                yield Barrier("unplaced", _SHORTAGES[supply.shortage], message)


def _supposing(profiles: Profiles, supposed: Collection[Supposition]) -> Profiles:
    if Supposition.NAMESPACES_ALLOWED in supposed:
        everywhere = {name: replace(profile, allowed_namespaces=None) for name, profile in profiles.profiles.items()}
        profiles = replace(profiles, profiles=everywhere)
    if Supposition.PARTS_ALLOWED in supposed:
        profiles = replace(profiles, allowed=_all_that_is_given(profiles))
    return profiles


def _all_that_is_given(profiles: Profiles) -> Allowed:
    """Return what a Configuration would say that allows each path and image of the profiles."""
    every = profiles.profiles.values()
    paths = [volume.host_path.path for each in every for volume in each.volumes if volume.host_path is not None]
    return Allowed(tuple(paths), tuple(sidecar.image for each in every for sidecar in each.sidecars))


def _unseen_shell(verdict: Verdict, profiles: Profiles) -> Iterator[Barrier]:
    """Tell of a wait step that needs a shell in a training image that shows none; an image of the profile's is the administrator's."""
    profile = profiles.profiles.get(verdict.profile)
    if profile is None or profile.rendezvous.wait_image:
        return
    for step in podspec.init_containers(verdict.pod):
        if step.get("name") != names.WAIT_CONTAINER:
            continue
        image = step.get("image")
        same = [one for one in podspec.containers(verdict.pod) if one.get("image") == image]
        if not any(word.rpartition("/")[2] in SHELLS for one in same for word in podspec.argv(one)):
            message = (
                "the wait step runs sh of the training image, and no command shows that this has one; "
                f"rendezvous: {{waitImage: installed}} in profile {profile.name} needs none"
            )
            yield Barrier("doubt", SHELL_UNSEEN, message)


def _unnamed(message: str, name: str) -> str:
    return message.removeprefix(f"pod {name}: ")
