"""Carry out a plan: each row of the injection table is a file beside this one, in this order."""

from collections.abc import Callable, Iterable

from webhook.core.draft import Draft
from webhook.core.errors import Denied, raise_first
from webhook.core.injection import (
    claims,
    devices,
    environment,
    host_devices,
    ipc_lock,
    istio,
    nccl_conf,
    networks,
    node_selector,
    own_keys,
    pod_variables,
    profile,
    rendezvous,
    shared_memory,
)
from webhook.core.model import Decision
from webhook.core.plan import Plan

STEPS: tuple[Callable[[Draft, Plan], Iterable[Decision]], ...] = (
    networks.inject,
    devices.inject,
    claims.inject,
    pod_variables.inject,
    rendezvous.inject,
    profile.inject,  # its variables may refer to those of the rendezvous
    ipc_lock.inject,
    shared_memory.inject,  # the profile may mount something there
    environment.inject,
    nccl_conf.inject,
    host_devices.inject,
    node_selector.inject,
    istio.inject,
)
"""The rows of the injection table."""


def apply(draft: Draft, plan: Plan, version: str) -> list[Decision]:
    """Inject everything that the plan asks for; return the decisions, in order.

    Raises Denied where steps find that the pod can never work: the first fault, with the others in
    it. The draft is then of no use.
    """
    decisions: list[Decision] = []
    faults: list[Denied] = []
    for step in STEPS:
        try:
            decisions += step(draft, plan)
        except Denied as denied:
            faults.append(denied)
    raise_first(faults)
    own_keys.write(draft, plan, decisions, version)
    return decisions
