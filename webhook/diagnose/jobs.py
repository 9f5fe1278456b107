"""Say what a job is: which objects make its pods, what these share, and what each shows."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, NamedTuple

from webhook.core import names, podspec
from webhook.core.addresses import MULTUS
from webhook.core.cluster.nodes import devices
from webhook.core.model import Object
from webhook.core.networks.status import secondary_networks
from webhook.core.profiles import Profile
from webhook.core.reconcile import Member
from webhook.core.review import Verdict
from webhook.core.training_container import choose_container
from webhook.core.workloads import NotTraining, TrainingPod, recognise, torchx
from webhook.core.workloads.systems import (
    GROUP_NAME,
    GROVE,
    JOBSET,
    KUBEFLOW,
    KUEUE,
    LWS,
    PODCLIQUESET,
    RAY,
    SIBLING_LABELS,
)
from webhook.core.workloads.training_pod import Rendezvous

FINISHED = ("Succeeded", "Failed")

# kinds of jobs, as people write them

_VERSION = re.compile(r"v\d+(?:(?:alpha|beta)\d+)?")
_KUBEFLOW = ("kubeflow.org",)
_KUBEFLOW_OR_KUBEDL = (*_KUBEFLOW, "training.kubedl.io")


@dataclass(frozen=True, slots=True)
class JobKind:
    """Describe the objects that own training pods: ``JobKind("StatefulSet", ("apps",), ("sts",))``.

    *short*: further names. *labels*: those of its pods that hold its name, where others than it,
    *makers*, or of any kind, own them.
    """

    kind: str
    groups: tuple[str, ...]
    short: tuple[str, ...] = ()
    labels: tuple[str, ...] = ()
    makers: tuple[str, ...] = ()

    def names(self) -> tuple[str, ...]:
        """Return singular, plural and short names, in small letters."""
        return (self.kind.lower(), f"{self.kind.lower()}s", *self.short)

    def owners(self, pod: Object) -> list[str]:
        """Return the names of objects of this kind that the pod may belong to, mostly one."""
        owner, labels = podspec.controller(pod), podspec.labels(pod)
        kind = str(owner.get("kind") or "")
        found = [labels.get(label) for label in self.labels if kind in (self.makers or (kind,))]
        version = str(owner.get("apiVersion") or "")
        if kind == self.kind and (not version or version.rpartition("/")[0] in self.groups):
            found.append(owner.get("name"))
        return [str(name) for name in found if name]


KINDS = (
    JobKind("PyTorchJob", _KUBEFLOW_OR_KUBEDL, ("pytorch",)),
    JobKind("TFJob", _KUBEFLOW_OR_KUBEDL),
    JobKind("XGBoostJob", _KUBEFLOW_OR_KUBEDL),
    JobKind("PaddleJob", _KUBEFLOW),
    JobKind("JAXJob", _KUBEFLOW),
    JobKind("MPIJob", _KUBEFLOW_OR_KUBEDL, (), (KUBEFLOW + "job-name",), ("MPIJob", "Job")),
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
    """Return the kind that *written* names, as ``jobs.batch.volcano.sh``.

    None for one that is not known, and for ``job``, which is any, unless a group follows.
    """
    name, _, group = written.lower().partition(".")
    first, _, rest = group.partition(".")
    if _VERSION.fullmatch(first):
        group = rest
    if name in ("job", "jobs") and not group:
        return None
    found = (kind for kind in KINDS if name in kind.names())
    return next((kind for kind in found if not group or group in kind.groups), None)


# what pods of one job share

JOB_NAMES = (
    torchx.APP_NAME,
    *(label for label in SIBLING_LABELS if not label.endswith("-uid") and label != GROUP_NAME),
)
"""Labels that hold a job's name; ``group-name`` is its operator's."""
NAME_LABELS = tuple(dict.fromkeys((*JOB_NAMES, *(each for kind in KINDS for each in kind.labels))))
_OWN_IDS = (JOBSET + "jobset-uid", GROVE + "podgang")
_GROUPS = (LWS + "name", LWS + "group-index")
_JOB_UID = KUEUE + "job-uid"
_MOST_ROOTS = 4
"""The most owners of chosen pods whose products' Events are looked at."""


def title(pod: Object) -> str:
    """Return the name by which people know the pod's job: of a label, its controller or itself."""
    labels = podspec.labels(pod)
    named = next((labels[each] for each in JOB_NAMES if labels.get(each)), None)
    return str(named or podspec.controller(pod).get("name") or pod["metadata"].get("name") or "")


def identity(pod: Object) -> str:
    """Return what the pods of one owner share; empty for a pod that nothing made.

    That is a JobSet's id, whose Jobs own its pods, a group of a LeaderWorkerSet, or a controller's.
    """
    labels = podspec.labels(pod)
    for label in _OWN_IDS:
        if labels.get(label):
            return labels[label]
    if labels.get(_GROUPS[0]):
        return "/".join(labels.get(label, "") for label in _GROUPS)
    uid = podspec.controller(pod).get("uid")
    return str(uid or next((labels[each] for each in JOB_NAMES if labels.get(each)), ""))


def job_key(pod: Object) -> str:
    """Return the key of the job that the webhook wrote; empty for a pod without one."""
    return podspec.labels(pod).get(names.JOB, "")


class Job(NamedTuple):
    """Hold the pods of one job; *name* is what ``explain job/NAME`` takes.

    *owner*: the name by which people know it. *key*: of its label, empty where it has none.
    """

    namespace: str
    name: str
    owner: str
    key: str
    pods: tuple[Object, ...]

    @property
    def is_live(self) -> bool:
        """Tell whether a pod of it is neither finished nor being deleted."""
        return not all(map(podspec.is_ending, self.pods))

    def __str__(self) -> str:
        """Describe it for a choice among several of one name."""
        return f"{self.key or self.owner}: {len(self.pods):,} pods, newest of {self.newest}"

    @property
    def newest(self) -> str:
        """Return when its newest pod was created."""
        return max(str(pod["metadata"].get("creationTimestamp") or "") for pod in self.pods)

    def concerns(self) -> Callable[[Object], bool]:
        """Return what tells whether an Event is of its pods, its owner, or what that made."""
        known = {str(pod["metadata"]["name"]) for pod in self.pods}
        made = {str(podspec.controller(pod).get("name") or "") for pod in self.pods}
        owners = frozenset(made | {self.owner}) - {""}
        roots = [self.owner] if self.owner else sorted(owners)[:_MOST_ROOTS] or [""]

        def is_its(event: Object) -> bool:
            subject = event.get("involvedObject") or {}
            if subject.get("kind") == "Pod":
                return subject.get("name") in known
            return any(concerns(event, root, owners) for root in roots)

        return is_its

    def may_be_held(self) -> bool:
        """Tell whether a queue may hold it back: a live pod is on no node, or there is none."""
        live = [pod for pod in self.pods if not podspec.is_ending(pod)]
        return not live or not all((pod.get("spec") or {}).get("nodeName") for pod in live)

    def held_by(self, workloads: Iterable[Object]) -> tuple[Object, ...]:
        """Return those of Kueue's Workloads that may hold it back."""
        uids: set[Any] = set()
        titles, groups = {self.owner}, {self.owner}
        for pod in self.pods:
            uids |= {podspec.controller(pod).get("uid"), pod["metadata"].get("uid"), identity(pod)}
            titles.add(title(pod))
            groups.add(podspec.labels(pod).get(KUEUE + "pod-group-name", ""))
        uids, titles, groups = (each - {None, ""} for each in (uids, titles, groups))

        def is_its(obj: Object) -> bool:
            references = obj["metadata"].get("ownerReferences") or ()
            if podspec.labels(obj).get(_JOB_UID) in uids or obj["metadata"]["name"] in groups:
                return True
            return any(one.get("uid") in uids or one.get("name") in titles for one in references)

        return tuple(filter(is_its, workloads)) if self.may_be_held() else ()


def concerns(event: Mapping[str, Any], owner: str, owners: frozenset[str]) -> bool:
    """Tell whether an Event is of the job's owner or of what that made.

    Other jobs' names may only look like it. A JobSet's Jobs and a LeaderWorkerSet's StatefulSets
    end in a number. A Kueue Workload ends in five characters after its kind and the name, a Volcano
    PodGroup in the Job's uid.
    """
    name = str((event.get("involvedObject") or {}).get("name") or "")
    if name in owners or not owner:
        return name in owners
    this = re.escape(owner)
    made = rf"{this}(?:-[a-z0-9-]+)?-\d+|[a-z]+-{this}-[0-9a-z]{{5}}|{this}-[0-9a-f-]{{36}}"
    return re.fullmatch(made, name) is not None


def find_jobs(pods: Iterable[Object]) -> list[Job]:
    """Return the jobs of these pods, those of one owner apart where several keys have followers.

    The first pod of each role is rank 0 of a key that others may name. A key that no other pod has
    is no job of its own. Pods without a key join the others of their owner.
    """
    owners: dict[tuple[str, str], list[Object]] = {}
    for pod in pods:
        metadata = pod["metadata"]
        owner = str(metadata.get("namespace") or ""), identity(pod) or str(metadata["name"])
        owners.setdefault(owner, []).append(pod)
    return [job for (space, _), members in owners.items() for job in _split(space, members)]


def _split(namespace: str, pods: list[Object]) -> Iterator[Job]:
    keys: dict[str, list[Object]] = {}
    for pod in pods:
        keys.setdefault(job_key(pod), []).append(pod)
    followed = [key for key, members in keys.items() if key and not all(map(_leads, members))]
    owner = title(pods[0])
    if len(followed) < 2:
        key = min((key for key in keys if key in (followed or keys) and key), default="")
        yield Job(namespace, owner, owner, key, tuple(pods))
        return
    rest = [pod for key, members in keys.items() if key not in followed for pod in members]
    for key in followed:
        yield Job(namespace, key, owner, key, (*keys[key], *rest))
        rest = []


def _leads(pod: Object) -> bool:
    return podspec.labels(pod).get(names.RENDEZVOUS) == "master"


def is_gated(pod: Object) -> bool:
    """Tell a pod that Kueue holds back by a scheduling gate."""
    gates = (pod.get("spec") or {}).get("schedulingGates") or ()
    return any(str(gate.get("name")).startswith(KUEUE) for gate in gates)


def is_injected(pod: Object) -> bool:
    """Tell whether the webhook has seen the pod, and injected what its profile says."""
    return names.STATUS in podspec.annotations(pod)


# one pod, as all rules ask for it

_ANY = Profile(name="")


@dataclass(frozen=True)
class ObservedPod:
    """Hold a pod and what was made of it; what is derived is worked out once.

    *member*: what the controller reads of it, None without the job label and for one that has
    ended. *verdict*: what admission would decide today, None where that cannot be known.
    """

    pod: Object
    member: Member | None = None
    verdict: Verdict | None = None

    @cached_property
    def found(self) -> TrainingPod | NotTraining:
        """Return the training system that it is of."""
        return recognise(self.pod)

    @property
    def meets(self) -> Rendezvous | None:
        """Return how it meets its rank 0."""
        return self.found.rendezvous if isinstance(self.found, TrainingPod) else None

    @cached_property
    def training(self) -> Object:
        """Return the training container, an empty one where there is none."""
        listed = podspec.containers(self.pod)
        named = podspec.annotations(self.pod).get(names.CONTAINER)
        if not listed or (named and all(each.get("name") != named for each in listed)):
            return listed[0] if listed else {}
        found = self.found if isinstance(self.found, TrainingPod) else None
        return listed[choose_container(self.pod, _ANY, found)]

    @cached_property
    def name(self) -> str:
        """Return the pod's name."""
        return str(self.pod["metadata"].get("name") or "")

    @property
    def created(self) -> str:
        """Return when it was created, as the API writes times; they sort as text."""
        return str(self.pod["metadata"].get("creationTimestamp") or "")

    @cached_property
    def job(self) -> str:
        """Return the key of its label, else the one it would get; empty where it meets nobody."""
        return job_key(self.pod) or (self.meets.job if self.meets else "")

    @cached_property
    def is_master(self) -> bool:
        """Tell rank 0, by its label, else by its training system."""
        role = podspec.labels(self.pod).get(names.RENDEZVOUS)
        return (role or (self.meets.role if self.meets else "")) == "master"

    @property
    def is_member(self) -> bool:
        """Tell a live pod that meets others at an address; a server may only know its own."""
        return self.meets is not None and self.member is not None and bool(self.member.wanted)

    @cached_property
    def is_injected(self) -> bool:
        """Tell whether the webhook has seen the pod."""
        return is_injected(self.pod)

    @cached_property
    def status(self) -> Mapping[str, Any]:
        """Return what annotation fabric-injector.io/status says; empty where it cannot be read."""
        try:
            value = json.loads(podspec.annotations(self.pod).get(names.STATUS) or "{}")
        except (ValueError, RecursionError):
            return {}
        return value if isinstance(value, dict) else {}

    @cached_property
    def phase(self) -> str:
        """Return the phase, ``Terminating`` for a pod that is being deleted."""
        if self.pod["metadata"].get("deletionTimestamp"):
            return "Terminating"
        return str((self.pod.get("status") or {}).get("phase") or "Pending")

    @cached_property
    def is_live(self) -> bool:
        """Tell a pod that is neither finished nor being deleted."""
        return not podspec.is_ending(self.pod)

    @cached_property
    def node(self) -> str:
        """Return the node that it is bound to, else an empty text."""
        return str((self.pod.get("spec") or {}).get("nodeName") or "")

    @cached_property
    def attached(self) -> list[Object] | None:
        """Return what network-status says of each second network; None where it cannot be read."""
        return secondary_networks(MULTUS.words.read(podspec.annotations(self.pod)))

    @cached_property
    def command(self) -> str:
        """Return command and arguments of the training container as one text."""
        return " ".join(podspec.argv(self.training))

    @cached_property
    def literals(self) -> Mapping[str | None, str | None]:
        """Return the variables of the training container by name; None for one by valueFrom."""
        return {
            entry.get("name"): None if entry.get("valueFrom") else entry.get("value") or ""
            for entry in podspec.env(self.training)
        }  # of entries of one name the last counts

    @cached_property
    def devices(self) -> Mapping[str, Fraction]:
        """Return how many of each device the scheduler counts for the pod."""
        return devices(self.pod)

    def condition(self, kind: str) -> Object:
        """Return the condition of this type, else an empty one."""
        listed = (self.pod.get("status") or {}).get("conditions") or ()
        return next((dict(each) for each in listed if each.get("type") == kind), {})

    def since(self, kind: str) -> str:
        """Return since when a condition is true; empty where it is not."""
        condition = self.condition(kind)
        is_true = condition.get("status") == "True"
        return str(condition.get("lastTransitionTime") or "") if is_true else ""

    @cached_property
    def container_statuses(self) -> list[Object]:
        """Return the states of init containers and containers, in the order in which they run."""
        status = self.pod.get("status") or {}
        keys = ("initContainerStatuses", "containerStatuses")
        return [each for key in keys for each in status.get(key) or ()]

    def status_of(self, container: str) -> Object:
        """Return the status of a container, an empty one where there is none."""
        named = (one for one in self.container_statuses if one.get("name") == container)
        return next(named, {})

    def state_of(self, container: str) -> Object:
        """Return a container's state, ``{"running": {"startedAt": …}}``, else an empty one."""
        return self.status_of(container).get("state") or {}

    @property
    def has_begun(self) -> bool:
        """Tell whether a container of it has run: its network was made before."""
        states = [status.get("state") or {} for status in self.container_statuses]
        return any("running" in state or "terminated" in state for state in states)

    def log_command(self, container: str, *, before: bool = False) -> str:
        """Return what shows a container's log; POD stands for the pod's name.

        *before*: of the run before this one.
        """
        previous = " --previous" if before else ""
        space = self.pod["metadata"].get("namespace")
        return f"kubectl logs -n {space} POD -c {container}{previous}"


_NODES = re.compile(r"--nnodes(?:=|\s+)[\"']?(\d{1,6})(?![\d:])")
"""A fixed number; of ``2:4`` only torchrun knows how many there should be."""
_NUMBER = re.compile(r"[0-9]{1,6}")


def expected_members(pod: ObservedPod) -> int:
    """Return how many pods the job is to have, as the pod itself tells; 0 where it does not."""
    annotations = podspec.annotations(pod.pod)
    for key in (LWS + "size", KUEUE + "pod-group-total-count"):
        if _NUMBER.fullmatch(annotations.get(key, "")):
            return int(annotations[key])
    if "--nnodes" in pod.command:
        found = _NODES.search(pod.command)
        return int(found[1]) if found else 0
    nodes = pod.literals.get("PET_NNODES") or ""
    return int(nodes) if _NUMBER.fullmatch(nodes) else 0
