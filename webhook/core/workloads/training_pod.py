"""Say what part a pod plays in a distributed job: the answer of every file in this folder."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from webhook.core.model import Reason


class Rendezvous(NamedTuple):
    """Say how a member meets its rank 0.

    *job*: the job's key. *hosts*: the texts that name rank 0 in this pod's variables and arguments, ``{"bert-master-0"}``.
    *variables*: variables that hold rank 0's address whatever their value says, because it is hidden (configMapKeyRef) or
    missing. *kept_on_master*: variables that rank 0 keeps as they are. *local_address_everywhere* is decided by the plan.
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
