"""Ask Multus for the profile's networks."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Reason
from webhook.core.networks import Attachment
from webhook.core.networks.annotation import LONGEST_INTERFACE
from webhook.core.plan import Plan

STEP: Final = Row("networks")
_MOST_LISTED: Final = 20
_MOST_DOUBTS: Final = 5


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Write the resulting networks annotation; warn of interfaces that cannot come up as asked."""
    if plan.host_network:
        return _skip(draft, plan)
    attached = [attachment for attachment in plan.attachments if not attachment.default]
    path, annotation = ("metadata", "annotations"), f"annotation {names.NETWORKS}"
    if plan.networks is not None and draft.set_key(path, names.NETWORKS, plan.networks):
        added = [attachment for attachment in attached if attachment.added]
        first = STEP.added(f"{annotation} gets {_listed(added)}")
    elif attached:
        first = STEP.already_there(f"{annotation} has {_listed(attached)} already")
    else:
        message = f"neither profile {plan.profile.name} nor the pod names a network"
        if plan.other_interfaces:
            others = ", ".join(plan.other_interfaces[:_MOST_LISTED])
            message += f" of Multus; {plan.source.words.writer} makes {others}"
        first = STEP.not_asked(message)
    return [first, *islice(_doubts(plan), _MOST_DOUBTS)]


def _skip(draft: Draft, plan: Plan) -> Iterator[Decision]:
    message = "the pod uses the node's network, where Multus attaches nothing"
    yield STEP.skipped(Reason.HOST_NETWORK, message)
    if plan.profile.networks or podspec.annotations(draft.pod).get(names.NETWORKS):
        message = "spec.hostNetwork is true, so Multus attaches no network; remove it to get the"
        yield STEP.warned(plan, Reason.HOST_NETWORK, f"{message} networks")


def _doubts(plan: Plan) -> Iterator[Decision]:
    """Warn of interfaces that Multus reads without complaint and then cannot make.

    Only a warning: a plugin that makes no interface, as for DPDK, never meets the fault.
    Source: multus-cni pkg/multus validateIfName; containernetworking/cni pkg/utils
    ValidateInterfaceName.
    """
    owners: dict[str, Attachment] = {}
    for attachment in plan.attachments:
        name = attachment.interface
        shown = repr(name[:40])
        other = owners.setdefault(name, attachment)
        what = f"network {attachment.key} asks for interface {shown}"
        if other is not attachment:
            what = f"networks {other.key} and {attachment.key} both get interface {shown}"
        elif name in names.INTERFACES_OF_EVERY_POD and not attachment.default:
            what += ", which every pod has already"
        elif not _is_possible(name):
            what += ", which no node can make"
        else:
            continue
        yield STEP.warned(plan, Reason.INTERFACE_CONFLICT, f"{what}; ask for another name")


def _is_possible(name: str) -> bool:
    if len(name.encode()) > LONGEST_INTERFACE or name in (".", ".."):
        return False
    return not any(sign in "/:" or sign.isspace() for sign in name)


def _listed(attachments: list[Attachment]) -> str:
    listed = [
        f"{attachment.key} ({_shown(attachment.interface)})"
        for attachment in attachments[:_MOST_LISTED]
    ]
    more = len(attachments) - len(listed)
    return ", ".join([*listed, f"{more} more"] if more else listed)


def _shown(interface: str) -> str:
    return interface[:40] if interface.isprintable() else repr(interface[:40])
