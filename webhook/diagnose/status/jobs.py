"""Put the pods of a cluster together into the jobs that people ask `explain` about."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import orjson

from webhook.core import names, podspec
from webhook.core.decide import looks_like_training
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise
from webhook.diagnose.injected import is_injected
from webhook.diagnose.owners import identity, title

_MOST_LOOKED_AT = 4
"""Pods of one owner that are looked at for a sign of training, where none was injected."""


class KeptPod(NamedTuple):
    """Hold a pod as JSON, a twentieth of what it takes as objects, and what groups it.

    *owner*: what the pods of one owner share; *title*: the owner's name; *key*: of the job's label. *asks*: it carries the profile's
    label. *is_live*: neither finished nor being deleted.
    """

    namespace: str
    name: str
    owner: str
    title: str
    key: str
    injected: bool
    asks: bool
    is_live: bool
    is_bound: bool
    text: bytes

    def read(self) -> Object:
        """Return the pod."""
        pod: Object = orjson.loads(self.text)
        return pod


def keep_pod(pod: Object) -> KeptPod:
    """Keep a pod that was checked."""
    metadata, labels = pod["metadata"], podspec.labels(pod)
    name = str(metadata["name"])
    return KeptPod(
        str(metadata["namespace"]),
        name,
        identity(pod) or name,
        title(pod),
        labels.get(names.JOB, ""),
        is_injected(pod),
        names.PROFILE in labels,
        not podspec.is_ending(pod),
        bool((pod.get("spec") or {}).get("nodeName")),
        orjson.dumps(pod),
    )


class StatusJob(NamedTuple):
    """Hold the pods of one job; *name* is what ``explain job/NAME`` takes."""

    namespace: str
    name: str
    owner: str
    pods: tuple[KeptPod, ...]


def find_jobs(
    pods: Iterable[KeptPod], labels: Mapping[str, Mapping[str, str]] | None
) -> list[StatusJob]:
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
        jobs += [
            StatusJob(namespace, name, members[0].title, tuple(group))
            for name, group in _split(members).items()
        ]
    often = Counter((job.namespace, job.name) for job in jobs)
    named = [
        job if often[job.namespace, job.name] == 1 else job._replace(name=_key(job)) for job in jobs
    ]
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
        if (
            key not in groups
        ):  # a first pod of its role that nobody names, or one that was not injected
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
    return podspec.labels(pod).get(names.PROFILE) != names.PROFILE_NONE and bool(
        looks_like_training(pod, found)
    )
