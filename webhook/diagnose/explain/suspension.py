"""Tell jobs that somebody has suspended: they make no pods, and say so themselves. Those that Kueue holds back are told in its words.

Source: kubernetes pkg/apis/batch/types.go; apis of jobset, trainer, training-operator, mpi-operator and kuberay: ``suspend`` stands in
spec, or in its runPolicy.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from webhook.core import podspec
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.explain.observation import Observation, Stage
from webhook.diagnose.explain.reading import Reading

_QUEUE = "kueue.x-k8s.io/queue-name"
_RUN_POLICY = "runPolicy"


def keep_suspended(job: Object, kind: str) -> Object | None:
    """Keep of a job of this *kind*, which lists do not tell, what is read here; None for one that is not suspended."""
    spec = job.get("spec") or {}
    policy = spec.get(_RUN_POLICY) or {}
    if not spec.get("suspend") and not policy.get("suspend"):
        return None
    kept = ("name", "namespace", "uid", "labels", "ownerReferences")
    metadata = {key: job["metadata"][key] for key in kept if job["metadata"].get(key)}
    return {
        "kind": kind,
        "metadata": metadata,
        "spec": {_RUN_POLICY: {"suspend": True}} if policy.get("suspend") else {},
    }


def outermost(suspended: Iterable[Object]) -> tuple[Object, ...]:
    """Return those that no other one of them has made: a JobSet suspends its Jobs."""
    listed = tuple(suspended)
    uids = {job["metadata"].get("uid") for job in listed} - {None}
    return tuple(job for job in listed if podspec.controller(job).get("uid") not in uids)


def suspended_of(suspended: Iterable[Object], owners: Collection[str]) -> tuple[Object, ...]:
    """Return those of these names."""
    return tuple(job for job in suspended if job["metadata"]["name"] in owners)


def observe(reading: Reading) -> Iterator[Observation]:
    """Say of each suspended job what lets it run."""
    for job in reading.suspended:
        kind, name = job["kind"], job["metadata"]["name"]
        field = f"{_RUN_POLICY}.suspend" if job["spec"] else "suspend"
        message = f"is suspended, so that it makes no pods: its spec.{field} is true"
        patch = f'{{"{_RUN_POLICY}":{{"suspend":false}}}}' if job["spec"] else '{"suspend":false}'
        action = (
            f"let whoever suspended it resume it, or: kubectl patch {kind.lower()} {name} -n {reading.namespace} --type merge "
            f"-p '{{\"spec\":{patch}}}'"
        )
        if queue := podspec.labels(job).get(_QUEUE):
            message += f", as Kueue sets it for jobs of LocalQueue {queue}"
            action = "see its Workload: Kueue lets it run once it admits that"
        yield Observation(
            Stage.ADMISSION, "warn", Code.JOB_SUSPENDED, message, action, subject=f"{kind} {name}"
        )
