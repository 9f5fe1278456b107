"""Find the pods of a job by the name that people know it by."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.diagnose.job_kinds import JobKind
from webhook.diagnose.owners import JOB_NAMES, identity


@dataclass(slots=True)
class Candidate:
    """Describe one job: *key* of its label, empty where no pod of it was injected; *title* as ``PyTorchJob/train``.

    *has_more_keys*: first pods of its roles, any of which may be rank 0, carry keys of their own.
    """

    title: str
    key: str = ""
    has_more_keys: bool = False
    pods: dict[str, Object] = field(default_factory=dict)
    live: int = 0
    created: str = ""

    def add(self, pod: Object) -> None:
        """Count a pod in."""
        metadata = pod["metadata"]
        self.pods[str(metadata.get("name"))] = pod
        self.live += not podspec.is_ending(pod)
        self.created = max(self.created, str(metadata.get("creationTimestamp") or ""))

    def __str__(self) -> str:
        """Describe it for the choice."""
        return f"{self.key or self.title}: {self.title}, {len(self.pods):,} pods, newest of {self.created or 'unknown age'}"


def find_jobs(pods: Iterable[Object], name: str, of_kind: JobKind | None = None) -> list[Candidate]:
    """Return the jobs of this name: of its owner, or in the labels that training systems write; *of_kind*: those of this kind alone.

    *pods* may be metadata alone. Pods without our label join the injected ones of the same owner, and so do those that nobody follows.
    """
    listed = list(pods)
    matching = [pod for pod in listed if podspec.controller(pod).get("name") == name]
    if of_kind is not None:
        matching = [pod for pod in listed if of_kind.owns(pod, name)]
    for label in JOB_NAMES if of_kind is None else ():
        matching = matching or [pod for pod in listed if podspec.labels(pod).get(label) == name]
    found: dict[str, Candidate] = {}
    keys_of: dict[str, list[str]] = {}
    for pod in matching:
        if key := podspec.labels(pod).get(names.JOB):
            found.setdefault(key, Candidate(_title(pod, name), key)).add(pod)
            keys = keys_of.setdefault(identity(pod), [])
            keys += [key] if key not in keys else []
    for same, keys in keys_of.items():
        keys_of[same] = kept = keys_of_jobs(
            {key: map(_is_master, found[key].pods.values()) for key in keys}
        )
        for key in keys:
            if key not in kept:
                found[kept[0]].has_more_keys = True
                for pod in found.pop(key).pods.values():
                    found[kept[0]].add(pod)
    for pod in matching:
        if not podspec.labels(pod).get(names.JOB):
            same = identity(pod)
            for key in keys_of.get(same) or [f"/{same}"]:
                found.setdefault(key, Candidate(_title(pod, name))).add(pod)
    return sorted(found.values(), key=lambda job: (job.created, job.key))


def keys_of_jobs(members: Mapping[str, Iterable[bool]]) -> list[str]:
    """Return those of the keys of one owner's pods that stand for a job of their own; *members* says of each key's pods who is rank 0.

    The first pod of each role is rank 0 of a key that others may name. A key that none did is no job, where at most one has followers.
    """
    followed = [key for key, pods in members.items() if not all(pods)]
    return list(members) if len(followed) > 1 else followed or sorted(members)[:1]


def choose(jobs: list[Candidate]) -> Candidate | None:
    """Return the job that is meant: the only one, or the only one that still runs; None where that cannot be told."""
    live = [job for job in jobs if job.live]
    if len(live) == 1:
        return live[0]
    if live or not jobs:
        return None
    return jobs[-1]


def known_names(pods: Iterable[Object]) -> list[str]:
    """Return names by which the jobs of these pods can be asked for."""
    found = set()
    for pod in pods:
        labels = podspec.labels(pod)
        owner = podspec.controller(pod).get("name")
        name = next((labels[label] for label in JOB_NAMES if labels.get(label)), owner)
        if name and (owner or labels.get(names.JOB)):
            found.add(str(name))
    return sorted(found)


def _is_master(pod: Object) -> bool:
    return podspec.labels(pod).get(names.RENDEZVOUS) == "master"


def _title(pod: Object, name: str) -> str:
    owner = podspec.controller(pod)
    kind = owner.get("kind") if owner.get("name") == name else None
    if kind is None:
        kind = next(
            (
                label.partition("/")[0].split(".")[0]
                for label in JOB_NAMES
                if podspec.labels(pod).get(label) == name
            ),
            "job",
        )
    return f"{kind}/{name}"
