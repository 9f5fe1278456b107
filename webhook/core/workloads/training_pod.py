"""Define what every file of this folder answers: which part a pod plays in a distributed job."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from webhook.core.model import Reason


class Rendezvous(NamedTuple):
    """Describe how the ranks of a pod meet their rank 0.

    *job*: the job's key. *rank_zero*: the name of its pod. *hosts*: the texts that name it in this pod's variables and arguments,
    ``{"bert-master-0"}``. *variables*: variables that hold its address whatever their value says, because that is hidden
    (configMapKeyRef) or missing. *kept_on_master*: variables that rank 0 keeps as they are.
    """

    job: str
    role: Literal["master", "worker"]
    rank_zero: str
    hosts: frozenset[str] = frozenset()
    variables: tuple[str, ...] = ()
    kept_on_master: frozenset[str] = frozenset()


class TrainingPod(NamedTuple):
    """Describe a pod of a known training system.

    *container*: the name that the system itself gives its training container, if it has one. *rendezvous* is ``None`` where the
    ranks cannot or need not meet on the secondary network; *reason* and *message* then say why.
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
