"""Read the pods that are to be explained, and those that train with them."""

from __future__ import annotations

from dataclasses import dataclass

from webhook.core import names, podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.reconcile.complaint import sibling_selector
from webhook.diagnose.explain.part import read_part
from webhook.diagnose.explain.reader import Reader
from webhook.diagnose.explain.selection import choose, find_jobs
from webhook.kube.resource import Resource

PODS = Resource("pods", "/api/v1")
POD_METADATA = Resource("pods", "/api/v1", metadata_only=True)
LIVE = "status.phase!=Succeeded,status.phase!=Failed"


@dataclass(frozen=True, slots=True)
class Target:
    """Say what is to be explained: *kind* ``pod``, ``job`` or ``selector``."""

    kind: str
    name: str

    def __str__(self) -> str:
        """Write it as it was given."""
        return f"-l {self.name}" if self.kind == "selector" else f"{self.kind}/{self.name}"


def find_pods(reader: Reader, target: Target, namespace: str) -> tuple[tuple[Object, ...], str, str]:
    """Return the pods that may be of the job, the name of its owner, and the one pod that was asked for."""
    name = target.name
    if target.kind == "selector":
        return tuple(reader.list(PODS, namespace, labels=name)), "", ""
    if target.kind == "pod":
        pod = reader.get(PODS, namespace, name)
        if pod is None:
            return (), name, name
        key = read_part(pod).job
        others = _of_key(reader, namespace, key, pod) if key else ()
        return (pod, *(each for each in others if each["metadata"]["uid"] != pod["metadata"]["uid"])), "", name
    labelled = reader.list(PODS, namespace, labels=f"{names.JOB}={name}")
    if labelled:
        return _with_siblings(reader, namespace, labelled), "", ""
    jobs = find_jobs(reader.list(POD_METADATA, namespace), name)
    if not jobs:
        return (), name, ""
    first = choose(jobs) if len(jobs) == 1 else None
    if first is None:
        live = {str(pod["metadata"]["name"]) for pod in reader.list(POD_METADATA, namespace, fields=LIVE)}
        for job in jobs:
            job.live = len(live & job.pods.keys())
        first = choose(jobs)
    if first is None:
        listed = "\n".join(f"  job/{job}" for job in jobs)
        raise InputError(f"{target}: {len(jobs)} jobs are named so; name one by its key:\n{listed}")
    if first.key:
        return (
            _with_siblings(reader, namespace, reader.list(PODS, namespace, labels=f"{names.JOB}={first.key}")),
            name,
            "",
        )
    selector = sibling_selector(next(iter(first.pods.values())))
    found = reader.list(PODS, namespace, labels=selector)
    return tuple(pod for pod in found if pod["metadata"]["name"] in first.pods), name, ""


def _of_key(reader: Reader, namespace: str, key: str, pod: Object) -> tuple[Object, ...]:
    return _with_siblings(reader, namespace, reader.list(PODS, namespace, labels=f"{names.JOB}={key}") or [pod])


def _with_siblings(reader: Reader, namespace: str, labelled: list[Object]) -> tuple[Object, ...]:
    """Add the pods of the same job that carry no label of ours: above all a rank 0 that was not injected."""
    if not labelled:
        return ()
    selector = sibling_selector(labelled[0])
    if not selector:
        return tuple(labelled)
    uids = {podspec.controller(pod).get("uid") for pod in labelled} - {None}
    keys = {read_part(pod).job for pod in labelled[:1]}
    others = reader.list(PODS, namespace, labels=f"{selector},!{names.JOB}")
    same = [pod for pod in others if podspec.controller(pod).get("uid") in uids or read_part(pod).job in keys]
    return (*labelled, *same)
