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
    pod_annotations,
    rendezvous,
    shared_memory,
    sidecars,
    tolerations,
    volumes,
)
from webhook.core.model import Decision
from webhook.core.plan import Plan


class Step(Protocol):
    """Describe the interface of each row's file."""

    def inject(self, draft: Draft, plan: Plan) -> Iterable[Decision]:
        """Carry the row out and say what became of it."""


STEPS: tuple[Step, ...] = (
    networks,
    pod_annotations,
    volumes,
    devices,
    claims,
    ipc_lock,
    shared_memory,
    device_variables,
    rendezvous,
    environment,
    nccl_conf,
    sidecars,
    host_devices,  # sidecars may bring a volume that the training container mounts
    node_selector,
    tolerations,
    istio,
)
"""The rows of the injection table."""
_OF_PARTS = (volumes, claims, sidecars, tolerations)
_WITHOUT_PARTS = tuple(step for step in STEPS if step not in _OF_PARTS)
"""The rows of a profile that gives no such parts, as most do: not to ask is cheaper."""


def apply(draft: Draft, plan: Plan, version: str) -> list[Decision]:
    """Inject everything that the plan asks for; return the decisions, in order.

    Raises Denied where steps find that the pod can never work: for the first fault, with those of
    other steps; the draft is then of no use.
    """
    decisions: list[Decision] = []
    faults: list[Denied] = []
    for step in STEPS if plan.profile.adds_parts else _WITHOUT_PARTS:
        try:
            decisions += step.inject(draft, plan)
        except Denied as denied:
            faults.append(denied)
    raise_first(faults)
    own_keys.write(draft, plan, decisions, version)
    return decisions
