"""Point NCCL and UCX at the pod's own RDMA devices, for the profiles that ask for it: variables that only run time knows.

Which card a device plugin gives is known on the node: Multus writes its name into network-status, the controller from there into an
annotation of the same pod, and the variable is a fieldRef to that, as MASTER_ADDR is. The wait container holds the start back until the
annotation is there, so this is done where there may be one: in pods of a job with a rendezvous, which the controller watches.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import wait
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan

STEP: Final = "device-variables"
_FILES: Final = {names.ENV_NCCL_IB_HCA: "nccl-ib-hca", names.ENV_UCX_NET_DEVICES: "ucx-net-devices"}
"""The variables, each with the file by which its annotation reaches the wait step; the rendezvous adds that step."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the variables that the profile names and the training container lacks; remove an earlier pass' that it does not name."""
    why = _why_not(plan)
    wanted: list[str] = (
        [name for name in _FILES if name in plan.profile.device_variables] if why is None else []
    )
    path = ("spec", "containers", plan.container, "env")
    stale = [
        position
        for position, entry in enumerate(podspec.env(_training(draft, plan)))
        if entry["name"] in _FILES and entry["name"] not in wanted and podspec.names_devices(entry)
    ]
    for position in reversed(stale):
        draft.remove(path, position)
    if why is not None:
        return [why]
    there = {entry["name"]: entry for entry in podspec.env(_training(draft, plan))}
    added = [name for name in wanted if name not in there]
    own = [name for name in wanted if name in there and not podspec.names_devices(there[name])]
    found = []
    if added:
        draft.extend(path, [_entry(name) for name in added])
        found.append(_told(plan, Outcome.INJECTED, Reason.ADDED, added, "gets"))
    if len(added) + len(own) < len(wanted):
        ours = [name for name in wanted if name not in added and name not in own]
        found.append(_told(plan, Outcome.KEPT, Reason.ALREADY_THERE, ours, "has"))
    if own:
        message = f"container {plan.container_name} sets {', '.join(own)} itself"
        found.append(Decision(STEP, Outcome.KEPT, Reason.USER_VALUE, message))
    return found


def needs(draft: Draft, plan: Plan) -> tuple[str, ...]:
    """Return the files that the training container's device variables wait for, in the order of the table."""
    if not plan.profile.device_variables:
        return ()
    there = {
        entry["name"]
        for entry in podspec.env(_training(draft, plan))
        if podspec.names_devices(entry)
    }
    return tuple([file for name, file in _FILES.items() if name in there])


def _training(draft: Draft, plan: Plan) -> Object:
    return podspec.containers(draft.pod)[plan.container]


def _why_not(plan: Plan) -> Decision | None:
    if not plan.profile.device_variables:
        return Decision(
            STEP,
            Outcome.SKIPPED,
            Reason.NOT_ASKED,
            f"profile {plan.profile.name} names no deviceVariables",
        )
    if plan.rendezvous is None or plan.rendezvous_network is None:
        none = plan.why_no_rendezvous
        reason, why = (
            (none.reason, none.message) if none is not None else (Reason.NO_IPAM, "no rendezvous")
        )
        message = f"the names of the pod's RDMA devices are published only where its address may be: {why}"
        return Decision(STEP, Outcome.SKIPPED, reason, message)
    if plan.rendezvous_network not in plan.attachments:
        message = "the names of the pod's RDMA devices are known of networks that Multus attaches, and the pod does not meet on one"
        return Decision(STEP, Outcome.SKIPPED, Reason.NO_IPAM, message)
    return None


def _entry(variable: str) -> Object:
    return {
        "name": variable,
        "valueFrom": {
            "fieldRef": {"apiVersion": "v1", "fieldPath": wait.DEVICE_FILES[_FILES[variable]]}
        },
    }


def _told(
    plan: Plan, outcome: Outcome, reason: Reason, variables: list[str], verb: str
) -> Decision:
    what = "the names of the pod's RDMA devices, once Multus has told them"
    return Decision(
        STEP,
        outcome,
        reason,
        f"container {plan.container_name} {verb} {', '.join(variables)}: {what}",
    )
