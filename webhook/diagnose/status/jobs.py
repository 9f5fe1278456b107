"""Put the pods of a cluster together into the jobs that people ask `explain` about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple
from weakref import WeakValueDictionary

import msgspec
import orjson

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.core.planning import looks_like_training
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.injected import is_injected
from webhook.diagnose.owners import identity, title
from webhook.diagnose.status.outline import Own, outline

_MOST_LOOKED_AT = 4
"""Pods of one owner that are looked at for a sign of training, where none was injected."""


class Outline:
    """Hold the outline of a spec, which all pods of a template share; equal to itself alone."""

    __slots__ = ("__weakref__", "text")

    def __init__(self, text: bytes) -> None:
        self.text = text


class KeptPod(NamedTuple):
    """Hold a pod as JSON, a twentieth of what it takes as objects, and what groups it.

    *owner*: what the pods of one owner share; *title*: the owner's name; *key*: of the job's label. *asks*: it carries the profile's
    label. *is_live*: neither finished nor being deleted. *rest*: all of it but its spec, of which *outline* and *own* are the parts.
    """

    namespace: str
    name: str
    owner: str
    title: str
    key: str
    injected: bool
    asks: bool
    is_live: bool
    rest: bytes
    outline: Outline
    own: Own

    def read(self) -> Object:
        """Return the pod."""
        return {**self.read_rest(), "spec": self.read_spec()}

    def read_rest(self) -> Object:
        """Return the pod without its spec."""
        pod: Object = orjson.loads(self.rest)
        return pod

    def read_spec(self) -> Object:
        """Return its spec."""
        spec: Object = orjson.loads(self.own.fill(self.outline.text))
        return spec


class PodKeeper:
    """Keep pods, and once what the specs of many have in common."""

    def __init__(self, check: Callable[[Object], None] = lambda _: None) -> None:
        """*check* raises for a pod whose spec is not as the API prescribes; it is asked once for all whose specs have one outline."""
        self._check = check
        self._outlines = WeakValueDictionary[bytes, Outline]()

    def keep(self, pod: Object) -> KeptPod:
        """Keep a pod that was checked, but for its *spec* where that is a msgspec.Raw."""
        metadata, labels, spec = pod["metadata"], podspec.labels(pod), pod.get("spec")
        name = str(metadata["name"])
        rest = {key: value for key, value in pod.items() if key != "spec"}
        whole = bytes(spec) if isinstance(spec, msgspec.Raw) else orjson.dumps(spec)
        text, own = outline(whole, name)
        known = self._outlines.get(text)
        if known is None:
            filled = own.fill(text)
            read = orjson.loads(filled)  # what is refused now is not refused when the pod is looked at
            if isinstance(spec, msgspec.Raw):
                read = msgspec.json.decode(filled)  # a number beyond 64 bits stays whole, for the check to name
            self._check({**rest, "spec": read})
            if not own.is_of(read):
                text, own = whole, Own()
            known = self._outlines.setdefault(text, Outline(text))
        return KeptPod(
            str(metadata["namespace"]),
            name,
            identity(pod) or name,
            title(pod),
            labels.get(names.JOB, ""),
            is_injected(pod),
            names.PROFILE in labels,
            not podspec.is_ending(pod),
            orjson.dumps(rest),
            known,
            own,
        )


class StatusJob(NamedTuple):
    """Hold the pods of one job; *name* is what ``explain job/NAME`` takes."""

    namespace: str
    name: str
    owner: str
    pods: tuple[KeptPod, ...]


def find_jobs(pods: Iterable[KeptPod], labels: Mapping[str, Mapping[str, str]] | None) -> list[StatusJob]:
    """Return the jobs that were injected, or train or look so where a profile is asked for, in the order of namespace and name.

    *labels*: of each namespace by its name; None where they cannot be read, so that any may ask. Those without a live pod are left out.
    """
    owners: dict[tuple[str, str], list[KeptPod]] = {}
    for pod in pods:
        owners.setdefault((pod.namespace, pod.owner), []).append(pod)
    jobs: list[StatusJob] = []
    for (namespace, _), members in owners.items():
        if not any(pod.is_live for pod in members):
            continue
        asked = labels is None or names.PROFILE in labels.get(namespace, {})
        if not any(pod.injected for pod in members) and not (
            (asked or any(pod.asks for pod in members)) and _trains(members)
        ):
            continue
        jobs += [StatusJob(namespace, name, members[0].title, tuple(group)) for name, group in _split(members).items()]
    often = Counter((job.namespace, job.name) for job in jobs)
    named = [job if often[job.namespace, job.name] == 1 else job._replace(name=_key(job)) for job in jobs]
    return sorted(named, key=lambda job: (job.namespace, job.name))


def _key(job: StatusJob) -> str:
    """Return the key of one of several jobs of a name, by which ``explain`` tells them apart."""
    return next((pod.key for pod in job.pods if pod.key), job.name)


def ended_jobs(pods: Iterable[KeptPod]) -> list[tuple[str, str]]:
    """Return namespace and name of the jobs that were injected and have no live pod any more, each once."""
    ended: dict[tuple[str, str], tuple[str, str]] = {}
    live: set[tuple[str, str]] = set()
    for pod in pods:
        key = pod.namespace, pod.owner
        if pod.is_live:
            live.add(key)
        elif pod.injected:
            ended[key] = pod.namespace, pod.title
    return sorted({found for key, found in ended.items() if key not in live})


def _split(pods: Sequence[KeptPod]) -> Mapping[str, list[KeptPod]]:
    """Split the pods of one owner by job, where several of its keys have followers."""
    keys: dict[str, list[KeptPod]] = {}
    for pod in pods:
        keys.setdefault(pod.key, []).append(pod)
    followed = [key for key, members in keys.items() if key and len(members) > 1]
    if len(followed) < 2:
        return {pods[0].title: list(pods)}
    groups = {key: keys[key] for key in followed}
    for key, members in keys.items():
        if key not in groups:  # a first pod of its role that nobody names, or one that was not injected
            groups[followed[0]] = [*groups[followed[0]], *members]
    return groups


def _trains(pods: Sequence[KeptPod]) -> bool:
    live = [pod for pod in pods if pod.is_live]
    return any(_shows_training(pod.read()) for pod in live[:_MOST_LOOKED_AT])


def _shows_training(pod: Object) -> bool:
    """Tell a pod that trains, or looks as if it did and did not opt out: of both `explain` says that they were not injected."""
    found = recognise(pod)
    if isinstance(found, TrainingPod):
        return True
    return podspec.labels(pod).get(names.PROFILE) != names.PROFILE_NONE and bool(looks_like_training(pod, found))
