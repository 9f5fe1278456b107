"""Give the training container variables of the pod's own: its RDMA devices and its address.

NCCL and UCX take the names of the cards from variables, and servers such as vLLM the address that
they announce. Both are known on the node only. The controller writes them into annotations of the
pod, to which the variables refer, and the wait container waits for these. So this is done in pods
with a rendezvous, which the controller watches.
"""

from collections.abc import Iterator, Mapping
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection import wait
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.plan import Plan

STEP: Final = Row("pod-variables")
_DEVICES: Final[Mapping[str, str]] = {
    names.ENV_NCCL_IB_HCA: "nccl-ib-hca",
    names.ENV_UCX_NET_DEVICES: "ucx-net-devices",
}
"""The variables of devices, each with the file by which its annotation reaches the wait step."""


def inject(draft: Draft, plan: Plan) -> Iterator[Decision]:
    """Add the variables that the profile names and the training container lacks.

    One of an earlier pass that takes devices, and that the profile does not name, is removed.
    """
    profile, network = plan.profile, plan.rendezvous_network
    devices = {name: file for name, file in _DEVICES.items() if name in profile.device_variables}
    wanted = devices | dict.fromkeys(profile.address_variables, "local-addr")
    if wanted and (plan.rendezvous is None or network is None):
        none = plan.why_no_rendezvous
        reason, why = (none.reason, none.message) if none else (Reason.NO_IPAM, "no rendezvous")
        yield STEP.skipped(reason, f"nothing of the pod's own is published: {why}")
        wanted = {}
    elif devices and network not in plan.attachments:
        which = "of networks that Multus attaches, and the pod does not meet on one"
        yield STEP.skipped(Reason.NO_IPAM, f"the names of the RDMA devices are known {which}")
        wanted = {name: file for name, file in wanted.items() if name not in devices}
    stale = _DEVICES.keys() - wanted
    draft.drop(
        plan.in_trainer("env"),
        lambda entry: entry["name"] in stale and podspec.names_devices(entry),
    )
    own_env = podspec.env(plan.trainer(draft.pod))
    there = {entry["name"]: podspec.field_path(entry) for entry in own_env}
    added = [name for name in wanted if name not in there]
    ours = [name for name in wanted if there.get(name) == wait.FIELDS[wanted[name]]]
    own = [name for name in wanted if name not in added and name not in ours]
    who, what = f"container {plan.container_name}", "once the controller has published it"
    if added:
        entries = [wait.field_entry(name, wanted[name]) for name in added]
        draft.extend(plan.in_trainer("env"), entries)
        yield STEP.added(f"{who} gets {', '.join(added)} of the pod's own, {what}")
    if ours:
        yield STEP.already_there(f"{who} has {', '.join(ours)} of the pod's own, {what}")
    if own:
        yield STEP.kept(Reason.USER_VALUE, f"{who} sets {', '.join(own)} itself")


def needs(draft: Draft, plan: Plan) -> tuple[str, ...]:
    """Return what the training container's variables wait for, of the pod's own, in order."""
    taken = set(map(podspec.field_path, podspec.references(plan.trainer(draft.pod))))
    files = {"local-addr:own": wait.FIELDS["local-addr"], **wait.DEVICE_FILES}
    return tuple([need for need, path in files.items() if path in taken])
