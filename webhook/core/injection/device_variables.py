"""Point NCCL and UCX at the pod's own RDMA devices, by variables that only run time knows.

Only the node knows which card a device plugin gives. Multus writes its name into network-status,
and the controller from there into an annotation of the pod, which the variable refers to. The wait
container waits for that annotation. So this is done in pods with a rendezvous, which the controller
watches.
"""

from collections.abc import Iterable, Mapping
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import wait
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("device-variables")
_FILES: Final[Mapping[str, str]] = {
    names.ENV_NCCL_IB_HCA: "nccl-ib-hca",
    names.ENV_UCX_NET_DEVICES: "ucx-net-devices",
}
"""The variables, each with the file by which its annotation reaches the wait step."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Add the variables that the profile names and the training container lacks.

    One of an earlier pass that the profile does not name is removed.
    """
    why = _why_not(plan)
    asked = plan.profile.device_variables if why is None else ()
    wanted: dict[str, str] = {name: file for name, file in _FILES.items() if name in asked}
    draft.drop(
        plan.in_trainer("env"),
        lambda entry: (
            entry["name"] in _FILES and entry["name"] not in wanted and podspec.names_devices(entry)
        ),
    )
    if why is not None:
        return [why]
    what = "the names of the pod's RDMA devices, once Multus has told them"
    return give(draft, plan, STEP, wanted, what)


def give(
    draft: Draft, plan: Plan, step: Row, wanted: Mapping[str, str], what: str
) -> list[Decision]:
    """Add the variables that the training container lacks, each with the file that tells it."""
    there = {
        each["name"]: podspec.field_path(each) for each in podspec.env(plan.trainer(draft.pod))
    }
    added = [name for name in wanted if name not in there]
    ours = [name for name in wanted if there.get(name) == wait.field_path(wanted[name])]
    own = [name for name in wanted if name not in added and name not in ours]
    who, found = f"container {plan.container_name}", []
    if added:
        entries = [wait.field_entry(name, wanted[name]) for name in added]
        draft.extend(plan.in_trainer("env"), entries)
        found.append(step.added(f"{who} gets {', '.join(added)}: {what}"))
    if ours:
        found.append(step.already_there(f"{who} has {', '.join(ours)}: {what}"))
    if own:
        found.append(step.kept(Reason.USER_VALUE, f"{who} sets {', '.join(own)} itself"))
    return found


def needs(draft: Draft, plan: Plan) -> tuple[str, ...]:
    """Return what the training container's variables wait for, of the pod's own, in order."""
    taken = set(map(podspec.field_path, podspec.env(plan.trainer(draft.pod))))
    files = {"local-addr:own": wait.field_path("local-addr"), **wait.DEVICE_FILES}
    return tuple([need for need, path in files.items() if path in taken])


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
