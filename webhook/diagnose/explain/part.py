"""Say of one pod what all topics ask: which part it plays, where it is, how far it has come, and what it would get today."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

from webhook.core import names, podspec
from webhook.core.addresses import multus
from webhook.core.addresses.claim import read_claim, tell
from webhook.core.cluster.nodes import devices
from webhook.core.model import Object
from webhook.core.networks.status import secondary_networks
from webhook.core.profiles import Profile
from webhook.core.reconcile import Member, beside_claims, read_member
from webhook.core.review import Verdict
from webhook.core.training_container import choose_container
from webhook.core.workloads import NotTraining, TrainingPod, recognise
from webhook.diagnose.explain.reading import Reading, seconds_since
from webhook.diagnose.injected import is_injected, read_injection

FINISHED = ("Succeeded", "Failed")


@dataclass(frozen=True)
class Part:
    """Hold a pod and what was made of it.

    *member* is None for a pod without the job label and for one that is being deleted. *found*: what training system it is of.
    *verdict*: what admission would decide today, None where that cannot be known. *training*: the training container; an empty one
    where there is none. What is derived of these is worked out once: each topic asks for it, of every pod.
    """

    pod: Object
    found: TrainingPod | NotTraining
    member: Member | None = None
    verdict: Verdict | None = None
    training: Object = field(default_factory=dict)

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
        """Return the key that its label says, else the one that it would get; empty where it meets nobody."""
        label = podspec.labels(self.pod).get(names.JOB)
        if label:
            return label
        meets = self.found.rendezvous if isinstance(self.found, TrainingPod) else None
        return meets.job if meets else ""

    @cached_property
    def is_master(self) -> bool:
        """Tell rank 0, by its label, else by its training system."""
        role = podspec.labels(self.pod).get(names.RENDEZVOUS)
        if role:
            return role == "master"
        meets = self.found.rendezvous if isinstance(self.found, TrainingPod) else None
        return meets is not None and meets.role == "master"

    @property
    def is_certain(self) -> bool:
        """Tell whether its part is known, and not only that of a first pod of its role, which others may take for rank 0."""
        meets = self.found.rendezvous if isinstance(self.found, TrainingPod) else None
        return meets is None or meets.is_certain

    @cached_property
    def is_injected(self) -> bool:
        """Tell whether the webhook has seen the pod and injected what its profile says."""
        return is_injected(self.pod)

    @cached_property
    def status(self) -> Mapping[str, Any]:
        """Return what annotation fabric-injector.io/status says; empty where it is missing or unreadable."""
        return read_injection(self.pod)

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
        """Return what network-status says of each second network; None where it is missing or cannot be read."""
        return attached_networks(self.pod)

    @cached_property
    def command(self) -> str:
        """Return command and arguments of the training container as one text."""
        return " ".join(podspec.argv(self.training))

    @cached_property
    def literals(self) -> Mapping[str | None, str | None]:
        """Return the variables of the training container by name, as `podspec.env_value` reads each."""
        return {
            entry.get("name"): None if entry.get("valueFrom") else entry.get("value") or ""
            for entry in podspec.env(self.training)
        }  # of entries of one name the last counts

    @cached_property
    def devices(self) -> Mapping[str, Fraction]:
        """Return how many of each device the pod takes, as `cluster.nodes.devices` counts them."""
        return devices(self.pod)

    def condition(self, kind: str) -> Object:
        """Return the condition of this type, else an empty one."""
        for each in (self.pod.get("status") or {}).get("conditions") or ():
            if each.get("type") == kind:
                return dict(each)
        return {}

    @cached_property
    def container_statuses(self) -> list[Object]:
        """Return the states of init containers and containers, in the order in which they run."""
        status = self.pod.get("status") or {}
        return [
            *(status.get("initContainerStatuses") or ()),
            *(status.get("containerStatuses") or ()),
        ]

    def state_of(self, container: str) -> Object:
        """Return ``state`` of a container, ``{"running": {"startedAt": …}}``, else an empty one."""
        return next(
            (
                each.get("state") or {}
                for each in self.container_statuses
                if each.get("name") == container
            ),
            {},
        )

    @property
    def has_begun(self) -> bool:
        """Tell whether a container of it has run, init container or not: its network was made before."""
        states = [status.get("state") or {} for status in self.container_statuses]
        return any("running" in state or "terminated" in state for state in states)

    def seconds_bound(self, reading: Reading) -> float:
        """Return for how long a pod that is on a node has been there."""
        condition = self.condition("PodScheduled")
        since = condition.get("lastTransitionTime") if condition.get("status") == "True" else None
        return (
            seconds_since(since or self.pod["metadata"].get("creationTimestamp"), reading.now)
            or 0.0
        )


_ANY = Profile(name="")


def attached_networks(pod: Object) -> list[Object] | None:
    """Return what the pod's network-status says of each second network; None where it is missing or cannot be read."""
    return secondary_networks(multus.WORDS.read(podspec.annotations(pod)))


def read_part(
    pod: Object,
    verdict: Verdict | None = None,
    claims: Iterable[Object] = (),
    found: TrainingPod | NotTraining | None = None,
) -> Part:
    """Read a pod as the API server gives it; *claims*: the ResourceClaims of its namespace, *found*: what it was recognised as."""
    found = found or recognise(pod)
    return Part(pod, found, read_live_member(pod, claims), verdict, _training_container(pod, found))


def read_live_member(pod: Object, claims: Iterable[Object] = ()) -> Member | None:
    """Read what the controller reads of a pod, its spec left aside; None for one that has ended, or is of no job."""
    live = (pod.get("status") or {}).get("phase") not in FINISHED
    member = read_member(pod) if live else None
    if member is not None and member.has_claims:
        user = member.name, member.uid
        member = beside_claims(
            member, tell(claim for claim in map(read_claim, claims) if user in claim.users)
        )
    return member


def _training_container(pod: Object, found: TrainingPod | NotTraining) -> Object:
    listed = podspec.containers(pod)
    named = podspec.annotations(pod).get(names.CONTAINER)
    if not listed or (named and all(each.get("name") != named for each in listed)):
        return listed[0] if listed else {}
    return listed[choose_container(pod, _ANY, found if isinstance(found, TrainingPod) else None)]


def log_command(part: Part, container: str, *, before: bool = False) -> str:
    """Return what shows a container's log; *before*: of the run before this one. POD stands for a pod that it is told of."""
    previous = " --previous" if before else ""
    return f"kubectl logs -n {part.pod['metadata'].get('namespace')} POD -c {container}{previous}"
