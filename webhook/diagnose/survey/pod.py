"""Keep of a pod what a survey needs: whose it is, what it asks for, and once of many that are alike the whole of it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from hashlib import blake2b
from typing import Any, NamedTuple

import orjson

from webhook.core import bounds, names, podspec
from webhook.core.accelerators import is_accelerator
from webhook.core.cluster.nodes import devices
from webhook.core.model import Object, Reason
from webhook.core.workloads import (
    NotTraining,
    TrainingPod,
    grove,
    jobset,
    kueue_pod_group,
    leaderworkerset,
    recognise,
    torchx,
    trainjob,
    volcano,
)
from webhook.core.workloads.marks import find_mark
from webhook.diagnose.owners import identity
from webhook.diagnose.survey.fabric import Transport, find_transport

_DIGITS = b"0123456789"
_SERVER_FIELDS = (
    *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"),
    *("deletionTimestamp", "deletionGracePeriodSeconds"),
)
_TOKEN = "kube-api-access-"  # noqa: S105  # the start of a volume's name
_LONGEST_LABEL_ALIKE = 32
"""Characters of a label's value: longer ones are uids and digests, which tell no difference."""
_FABRIC_VARIABLES = ("NCCL_", "UCX_", "GLOO_", "FI_")
_PLACING = ("nodeSelector", "affinity", "tolerations", "securityContext", "resourceClaims", "os", "resources")
_SHARING = ("hostNetwork", "hostIPC", "hostUsers")
_READ = (names.PREFIX, names.NETWORKS, names.DEFAULT_NETWORK, "traffic.sidecar.istio.io/", "sidecar.istio.io/")
_LEAST_NAME = 3
"""Characters of a job's name that is taken out of what its pods are compared by: a shorter one may stand anywhere."""


class WorkloadNames(NamedTuple):
    """Say what the pods of a training system are called as a whole: *kind* for people, *resource* for kubectl."""

    kind: str
    resource: str
    labels: tuple[str, ...]


_VOLCANO_JOBS = "jobs.batch.volcano.sh"
_NAMED: Mapping[str, WorkloadNames] = {
    torchx.SYSTEM: WorkloadNames(
        "TorchX app", _VOLCANO_JOBS, (volcano.JOB_NAME, "app.kubernetes.io/instance", torchx.APP_NAME)
    ),
    volcano.SYSTEM: WorkloadNames("Volcano Job", _VOLCANO_JOBS, (volcano.JOB_NAME,)),
    jobset.SYSTEM: WorkloadNames("JobSet", "jobsets.jobset.x-k8s.io", (jobset.NAME,)),
    trainjob.SYSTEM: WorkloadNames("TrainJob", "trainjobs.trainer.kubeflow.org", (jobset.NAME,)),
    leaderworkerset.SYSTEM: WorkloadNames(
        "LeaderWorkerSet", "leaderworkersets.leaderworkerset.x-k8s.io", (leaderworkerset.NAME,)
    ),
    grove.SYSTEM: WorkloadNames("PodCliqueSet", "podcliquesets.grove.io", (grove.PODCLIQUESET,)),
    kueue_pod_group.SYSTEM: WorkloadNames("Kueue pod group", "", (kueue_pod_group.GROUP_NAME,)),
}
"""Systems whose pods are owned by another object than the one that people know."""


class SurveyedPod(NamedTuple):
    """Hold what is kept of a pod.

    *owner*: what the pods of its job share. *resource* and *workload*: by which kubectl knows the job, ``jobsets.jobset.x-k8s.io``
    and ``bert``; *resource* is empty where no object stands for it. *group*: a part of the workload that is a job of its own.
    *job* and *role*: of a rendezvous that is certain, else empty. *trains*: it is known to be one of a job; *reason* and *why* say why
    it is not, or that it is alone. *shows*: a sign of training in one that is not known. *size*: how many pods its job has at least, by
    what it is told. *has_claims*: for devices, which may be accelerators. *likeness*: equal for pods of which one decision holds.
    """

    namespace: str
    name: str
    owner: str
    kind: str
    resource: str
    workload: str
    group: str
    system: str
    job: str
    role: str
    trains: bool
    is_alone: bool
    reason: str
    why: str
    shows: str
    size: int
    transport: Transport
    accelerators: Mapping[str, int]
    has_claims: bool
    likeness: bytes

    @property
    def computes(self) -> bool:
        """Tell whether it asks for accelerators, or for devices that may be some."""
        return self.has_claims or bool(self.accelerators)


class PodReader:
    """Read pods one after the other.

    *telling*: labels by which profiles choose pods; *known*: the devices that networks and profiles name. *templates*: for each
    likeness one pod as JSON, as it was before the cluster had it. *oversized*: by namespace and name, the pods that are larger than
    admission reads.
    """

    def __init__(self, telling: Iterable[str] = (), known: Collection[str] = ()) -> None:
        self._known = frozenset(known)
        self._telling = (names.PROFILE, *telling)
        self.templates: dict[bytes, bytes] = {}
        self.oversized: dict[tuple[str, str], str] = {}

    def read(self, pod: Object) -> SurveyedPod | None:
        """Keep a checked pod; None for one that is ending, asks for no accelerator in no job that is known, or is too large."""
        if podspec.is_ending(pod):
            return None
        metadata = pod["metadata"]
        if excess := bounds.excess(pod):
            self.oversized[metadata["namespace"], metadata["name"]] = excess
            return None
        found = recognise(pod)
        accelerators = _accelerators(pod)
        claims = bool(pod["spec"].get("resourceClaims"))
        trains = isinstance(found, TrainingPod)
        if not (trains or accelerators or claims):
            return None
        rendezvous = found.rendezvous if isinstance(found, TrainingPod) else None
        if rendezvous is not None and not rendezvous.is_certain:
            rendezvous = None
        kind, resource, workload, group = _names(pod, found.system)
        likeness = self._likeness(pod, found, workload, accelerators)
        return SurveyedPod(
            metadata["namespace"],
            metadata["name"],
            identity(pod) or metadata["name"],
            kind,
            resource,
            workload,
            group,
            found.system,
            rendezvous.job if rendezvous else "",
            rendezvous.role if rendezvous else "",
            trains,
            found.reason is Reason.SINGLE_NODE and not rendezvous,
            str(found.reason),
            found.message,
            "" if trains or not accelerators else next(filter(None, map(find_mark, podspec.containers(pod))), ""),
            max(_told_size(pod, accelerators), 2 if rendezvous and rendezvous.role == "worker" else 1),
            find_transport(pod, self._known),
            accelerators,
            claims,
            likeness,
        )

    def _likeness(
        self, pod: Object, found: TrainingPod | NotTraining, workload: str, accelerators: Mapping[str, int]
    ) -> bytes:
        """Digest what a decision can depend on; what only numbers the pods of a job, or names it, is left out."""
        rendezvous = found.rendezvous if isinstance(found, TrainingPod) else None
        told = (
            (rendezvous.role, rendezvous.is_certain, rendezvous.by_operator, bool(rendezvous.hosts))
            if rendezvous
            else str(found.reason)
        )
        own = workload.encode(errors="surrogatepass")
        labels = podspec.labels(pod)
        telling = [labels.get(key) for key in self._telling]
        exact = orjson.dumps([found.system, told, telling, accelerators, _pod_facts(pod), [*_container_facts(pod)]])
        loose = orjson.dumps([_short_labels(labels), [*_container_texts(pod)]])
        if len(own) >= _LEAST_NAME:
            exact, loose = exact.replace(own, b"*"), loose.replace(own, b"*")
        digest = blake2b(exact, digest_size=16)
        digest.update(loose.translate(None, _DIGITS))
        likeness = digest.digest()
        if likeness not in self.templates:
            self.templates[likeness] = orjson.dumps(as_created(pod))
        return likeness


def as_created(pod: Object) -> Object:
    """Return the pod as it was when it was created, as far as that can be known from one that the cluster has."""
    metadata = {key: value for key, value in pod["metadata"].items() if key not in _SERVER_FIELDS}
    if found := metadata.get("annotations"):
        stale = names.FOREIGN_STALE_ANNOTATIONS
        metadata["annotations"] = {key: value for key, value in found.items() if key not in stale}
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def _accelerators(pod: Object) -> dict[str, int]:
    return {resource: int(amount) for resource, amount in devices(pod).items() if amount >= 1 and _is_one(resource)}


_is_one = lru_cache(maxsize=1024)(is_accelerator)


def _told_size(pod: Object, accelerators: Mapping[str, int]) -> int:
    """Return how many pods the job has by what this one is told; 1 where it is told nothing, or only of processes of its own."""
    found = [
        _number(podspec.annotations(pod).get(leaderworkerset.SIZE) or podspec.labels(pod).get(leaderworkerset.SIZE))
    ]
    for container in podspec.containers(pod):
        for entry in podspec.env(container):
            value = None if entry.get("valueFrom") else entry.get("value")
            if entry["name"] in ("PET_NNODES", "NNODES"):
                found.append(_number((value or "").rpartition(":")[2]))
            elif entry["name"] == "WORLD_SIZE" and _number(value) > max(1, *accelerators.values(), 0):
                found.append(2)
    return max(found)


def _number(text: str | None) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 8 else 1


def _names(pod: Object, system: str) -> tuple[str, str, str, str]:
    """Return kind, resource, name and group of what made the pod."""
    labels, owner = podspec.labels(pod), podspec.controller(pod)
    if named := _NAMED.get(system):
        name = next((labels[label] for label in named.labels if labels.get(label)), "")
        group = labels.get(leaderworkerset.GROUP_INDEX, "") if system == leaderworkerset.SYSTEM else ""
        if name:
            resource = named.resource
            if system == torchx.SYSTEM and "volcano" not in str(owner.get("apiVersion")):
                resource = _resource(owner)
            return named.kind, resource, name, group
    if owner:
        return str(owner.get("kind") or ""), _resource(owner), str(owner.get("name") or ""), ""
    return "Pod", "pods", str(pod["metadata"]["name"]), ""


def _resource(owner: Mapping[str, Any]) -> str:
    """Return the resource as kubectl takes it, ``PyTorchJob.v1.kubeflow.org``."""
    group, _, version = str(owner.get("apiVersion") or "").rpartition("/")
    return ".".join(filter(None, (str(owner.get("kind") or ""), version if group else "", group)))


def _short_labels(labels: Mapping[str, str]) -> list[tuple[str, str]]:
    return [(key, value) for key, value in labels.items() if len(value) < _LONGEST_LABEL_ALIKE]


def _pod_facts(pod: Object) -> list[Any]:
    spec, annotations = pod["spec"], podspec.annotations(pod)
    return [
        [(key, value if key.startswith(_READ) else "") for key, value in annotations.items()],
        [spec.get(key) for key in (*_PLACING, *_SHARING)],
        [each for each in podspec.volumes(pod) if not str(each.get("name")).startswith(_TOKEN)],
    ]


def _container_facts(pod: Object) -> Iterator[list[Any]]:
    for container in (*podspec.containers(pod), *podspec.init_containers(pod)):
        yield [
            *(container.get(key) for key in ("image", "restartPolicy", "resources", "securityContext")),
            [mount for mount in podspec.mounts(container) if not str(mount.get("name")).startswith(_TOKEN)],
            [entry for entry in podspec.env(container) if entry["name"].startswith(_FABRIC_VARIABLES)],
        ]


def _container_texts(pod: Object) -> Iterator[list[Any]]:
    for container in (*podspec.containers(pod), *podspec.init_containers(pod)):
        yield [container.get(key) for key in ("name", "command", "args", "env")]
