"""Carry out a plan: each row of the injection table is a file beside this one, in this order."""

from collections.abc import Iterable
from typing import Protocol

from webhook.core.draft import Draft
from webhook.core.errors import Denied, raise_first
from webhook.core.injection import (
    claims,
    device_variables,
    devices,
    environment,
    host_devices,
    ipc_lock,
    istio,
    nccl_conf,
    networks,
    node_selector,
    own_keys,
    profile,
    rendezvous,
    shared_memory,
)
from webhook.core.model import Decision
from webhook.core.plan import Plan


class Step(Protocol):
    """Describe the interface of each row's file."""

    def inject(self, draft: Draft, plan: Plan) -> Iterable[Decision]:
        """Carry the row out and say what became of it."""


STEPS: tuple[Step, ...] = (
    networks,
    devices,
    claims,
    device_variables,
    rendezvous,
    profile,  # its variables may refer to those of the rendezvous
    ipc_lock,
    shared_memory,  # the profile may mount something there
    environment,
    nccl_conf,
    host_devices,
    node_selector,
    istio,
)
"""The rows of the injection table."""


def apply(draft: Draft, plan: Plan, version: str) -> list[Decision]:
    """Inject everything that the plan asks for; return the decisions, in order.

    Raises Denied where steps find that the pod can never work: for the first fault, with those of
    other steps; the draft is then of no use.
    """
    decisions: list[Decision] = []
    faults: list[Denied] = []
    for step in STEPS:
        try:
            decisions += step.inject(draft, plan)
        except Denied as denied:
            faults.append(denied)
    raise_first(faults)
    own_keys.write(draft, plan, decisions, version)
    return decisions
