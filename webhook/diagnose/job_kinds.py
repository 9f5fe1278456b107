"""Read a kind's name as people write it for kubectl, ``pytorchjob`` or ``jobs.batch.volcano.sh``, and tell whose pods are meant."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from webhook.core import podspec
from webhook.core.model import Object
from webhook.core.workloads.systems import JOBSET, KUBEFLOW, LWS, PODCLIQUESET, RAY

_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")


@dataclass(frozen=True, slots=True)
class JobKind:
    """Describe the objects that own training pods: ``JobKind("StatefulSet", ("apps",), ("sts",))``.

    *short*: further names. *labels*: those of its pods that hold its name, where others than it, *makers*, or of any kind, own them.
    """

    kind: str
    groups: tuple[str, ...]
    short: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()

    def names(self) -> Iterator[str]:
        """Yield singular, plural and short names, in small letters."""
        singular = self.kind.lower()
        yield from (singular, f"{singular}s", *self.short)

    def owns(self, pod: Object, name: str) -> bool:
        """Tell a pod of the object of this *name*."""
        return name in self.owners(pod)

    def owners(self, pod: Object) -> tuple[str, ...]:
        """Return the names of the objects of this kind that the pod belongs to: none or one, unless its labels name another."""
        owner, labels = podspec.controller(pod), podspec.labels(pod)
        kind = str(owner.get("kind") or "")
        own = owner.get("name") if kind == self.kind and self._is_of_group(owner) else None
        told = (labels.get(label) for label in self.labels if kind in (self.makers or (kind,)))
        return tuple(str(name) for name in (own, *told) if name)

    def is_other(self, subject: Mapping[str, Any], name: str) -> bool:
        """Tell the subject of an Event that has this *name*, and is a job of another kind."""
        kind = str(subject.get("kind") or "")
        if subject.get("name") != name or self.labels or all(kind != each.kind for each in KINDS):
            return False
        return kind != self.kind or not self._is_of_group(subject)

    def _is_of_group(self, reference: Mapping[str, Any]) -> bool:
        version = str(reference.get("apiVersion") or "")
        return not version or version.rpartition("/")[0] in self.groups


_KUBEFLOW = ("kubeflow.org",)
KINDS = (
    JobKind("PyTorchJob", (*_KUBEFLOW, "training.kubedl.io"), ("pytorch",)),
    JobKind("TFJob", (*_KUBEFLOW, "training.kubedl.io")),
    JobKind("XGBoostJob", (*_KUBEFLOW, "training.kubedl.io")),
    JobKind("PaddleJob", _KUBEFLOW),
    JobKind("JAXJob", _KUBEFLOW),
    JobKind(
        "MPIJob",
        (*_KUBEFLOW, "training.kubedl.io"),
        (),
        (KUBEFLOW + "job-name",),
        ("MPIJob", "Job"),
    ),
    JobKind("TorchJob", ("train.distributed.io",)),
    JobKind("TrainJob", ("trainer.kubeflow.org",), (), (JOBSET + "jobset-name",)),
    JobKind("JobSet", ("jobset.x-k8s.io",), (), (JOBSET + "jobset-name",)),
    JobKind("LeaderWorkerSet", ("leaderworkerset.x-k8s.io",), ("lws",), (LWS + "name",)),
    JobKind("PodCliqueSet", ("grove.io",), ("pcs",), (PODCLIQUESET,), ("PodClique",)),
    JobKind("StormService", ("orchestration.aibrix.ai",), (), ("storm-service-name",)),
    JobKind("RayCluster", ("ray.io",), (), (RAY + "cluster",)),
    JobKind("RayJob", ("ray.io",), (), (RAY + "originated-from-cr-name",)),
    JobKind("StatefulSet", ("apps",), ("sts",)),
    JobKind("Job", ("batch.volcano.sh",), ("vcjob", "vcjobs", "vj", "volcanojob", "volcanojobs")),
    JobKind("Job", ("batch",)),
)


def find_kind(written: str) -> JobKind | None:
    """Return the kind that *written* names; None for one that is not known, and for ``job``, which is any, unless a group follows."""
    name, _, group = written.lower().partition(".")
    first, _, rest = group.partition(".")
    if _VERSION.fullmatch(first):
        group = rest
    if name in ("job", "jobs") and not group:
        return None
    for each in KINDS:
        if name in each.names() and (not group or group in each.groups):
            return each
    return None
