"""Point NCCL and UCX at the pod's own RDMA devices, by variables that only run time knows.

Only the node knows which card a device plugin gives. Multus writes its name into network-status,
and the controller from there into an annotation of the pod, which the variable refers to. The wait
container waits for that annotation. So this is done in pods with a rendezvous, which the controller
watches.
"""

from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import wait
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("device-variables")
_FILES: Final = {names.ENV_NCCL_IB_HCA: "nccl-ib-hca", names.ENV_UCX_NET_DEVICES: "ucx-net-devices"}
"""The variables, each with the file by which its annotation reaches the wait step."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the variables that the profile names and the training container lacks.

    One of an earlier pass that the profile does not name is removed.
    """
    why = _why_not(plan)
    asked = plan.profile.device_variables if why is None else ()
    wanted = [name for name in _FILES if name in asked]
    path = plan.in_trainer("env")
    draft.drop(
        path,
        lambda entry: (
            entry["name"] in _FILES and entry["name"] not in wanted and podspec.names_devices(entry)
        ),
    )
    if why is not None:
        return [why]
    there = {entry["name"]: entry for entry in podspec.env(plan.trainer(draft.pod))}
    added = [name for name in wanted if name not in there]
    own = [name for name in wanted if name in there and not podspec.names_devices(there[name])]
    ours = [name for name in wanted if name not in added and name not in own]
    who, what = f"container {plan.container_name}", "the names of the pod's RDMA devices"
    found = []
    if added:
        draft.extend(path, [wait.field_entry(name, _FILES[name]) for name in added])
        message = f"{who} gets {', '.join(added)}: {what}, once Multus has told them"
        found.append(STEP.added(message))
    if ours:
        message = f"{who} has {', '.join(ours)}: {what}, once Multus has told them"
        found.append(STEP.already_there(message))
    if own:
        found.append(STEP.kept(Reason.USER_VALUE, f"{who} sets {', '.join(own)} itself"))
    return found


def needs(draft: Draft, plan: Plan) -> tuple[str, ...]:
    """Return the files that the training container's device variables wait for, in order."""
    if not plan.profile.device_variables:
        return ()
    entries = podspec.env(plan.trainer(draft.pod))
    there = {entry["name"] for entry in entries if podspec.names_devices(entry)}
    return tuple([file for name, file in _FILES.items() if name in there])


def _why_not(plan: Plan) -> Decision | None:
    if not plan.profile.device_variables:
        return STEP.not_asked(f"profile {plan.profile.name} names no deviceVariables")
    known = "the names of the pod's RDMA devices are"
    if plan.rendezvous is None or plan.rendezvous_network is None:
        none = plan.why_no_rendezvous
        why = none.message if none is not None else "no rendezvous"
        message = f"{known} published only where its address may be: {why}"
        return STEP.skipped(none.reason if none is not None else Reason.NO_IPAM, message)
    if plan.rendezvous_network not in plan.attachments:
        which = "of networks that Multus attaches, and the pod does not meet on one"
        return STEP.skipped(Reason.NO_IPAM, f"{known} known {which}")
    return None
