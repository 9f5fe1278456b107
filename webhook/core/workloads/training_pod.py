"""Define what every file of this folder answers: which part a pod plays in a distributed job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from webhook.core.model import Reason


@dataclass(slots=True)
class Rendezvous:
    """Say how a member meets its rank 0.

    *job*: the job's key. *rank_zero*: the pod whose address counts, empty where none does. *hosts*: the texts that name it in this
    pod's variables, ``{"bert-master-0"}``. *by_operator*: the training system itself writes these variables, so that programs which
    nobody can see here read them. *is_certain*: the pod is known to be, or to follow, rank 0; else it is a candidate, the first of its
    role: it publishes its address for those that name it, and nothing about it changes.
    """

    job: str
    role: Literal["master", "worker"]
    rank_zero: str
    hosts: frozenset[str] = frozenset()
    by_operator: bool = False
    is_certain: bool = True


@dataclass(slots=True)
class TrainingPod:
    """Describe a pod of a known training system.

    *container*: the name that the system itself gives its training container, if it has one. *rendezvous* is ``None`` where the
    ranks cannot or need not meet on the secondary network; *reason* and *message* then say why. Beside a rendezvous a *message* is a
    warning: what keeps this pod from it.
    """

    system: str
    container: str | None = None
    rendezvous: Rendezvous | None = None
    reason: Reason = Reason.NO_PROCESS_GROUP
    message: str = ""


@dataclass(frozen=True, slots=True)
class NotTraining:
    """Say why a pod is left alone: it belongs to no known system, or plays a part that needs no fabric."""

    reason: Reason
    message: str
    system: str = field(default="")
