"""Define the job that labels show, and the part that a pod plays in it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from webhook.core.model import Reason
from webhook.core.workloads.nodes import Nodes


@dataclass(slots=True)
class Job:
    """Hold what labels and shared variables tell of a job, and of this pod's place in it.

    *name*: for people. *belongs* tells whether a pod name is one of this job's: a user's own
    address of something else stays. So is a host below *service*. *container*: the name that the
    system itself gives its training container. *rank_zero*: the pod that leads where no variable
    says it. *is_candidate*: the pod is the first of its role, and rank 0 if another pod says so.
    *by_operator*: the system itself writes the rendezvous variables, for programs which nobody can
    see here. *kind*: a general-purpose workload, ``JobSet ddp``: only its pods that show training
    count. *unsized*: why no pod of it shows on how many nodes it runs, though its templates may
    differ. *names_own_pods*: databases, too, tell their pods the name of the first one, so that it
    is no mark of training.
    """

    system: str
    name: str
    id: str
    belongs: Callable[[str], bool]
    attempt: str = ""
    service: str = ""
    container: str | None = None
    rank_zero: str = ""
    is_rank_zero: bool = False
    is_candidate: bool = False
    by_operator: bool = False
    kind: str = ""
    nodes: Nodes = Nodes.TEXT
    unsized: str = ""
    names_own_pods: bool = False


@dataclass(slots=True)
class Rendezvous:
    """Say how a member meets its rank 0.

    *job*: the job's key. *rank_zero*: the pod whose address counts, empty where none does. *hosts*:
    the texts that name it in this pod's variables, ``{"bert-master-0"}``. *by_operator*: as of the
    Job. *is_certain*: the pod is known to be, or to follow, rank 0. Else it is a candidate: it
    publishes its address for those that name it, and nothing about it changes.
    """

    job: str
    role: Literal["master", "worker"]
    rank_zero: str
    hosts: frozenset[str] = frozenset()
    by_operator: bool = False
    is_certain: bool = True


@dataclass(slots=True)
class TrainingPod:
    """Describe a pod that trains.

    *container*: as of the Job. *rendezvous* is ``None`` where the ranks cannot or need not meet on
    the secondary network; *reason* and *message* then say why. *warning*: what may make other
    members differ.
    """

    system: str
    container: str | None = None
    rendezvous: Rendezvous | None = None
    reason: Reason = Reason.NO_PROCESS_GROUP
    message: str = ""
    warning: str = ""


@dataclass(slots=True)
class NotTraining:
    """Say why a pod is left alone; *warning*: what may make other members of its job differ."""

    reason: Reason
    message: str
    system: str = ""
    warning: str = ""
