"""Ask Multus for the profile's networks."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.model import Decision, Outcome, Reason
from webhook.core.networks import Attachment
from webhook.core.plan import Plan

STEP: Final = "networks"

_TAKEN: Final = frozenset({"eth0", "lo"})
_LONGEST_INTERFACE: Final = 15
_MOST_LISTED: Final = 20
_MOST_DOUBTS: Final = 5


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Write the resulting networks annotation, and warn of interfaces that cannot come up as asked."""
    if plan.host_network:
        return _skip(draft, plan)
    attached = [attachment for attachment in plan.attachments if not attachment.default]
    if plan.networks is not None and draft.set_key(
        ("metadata", "annotations"), names.NETWORKS, plan.networks
    ):
        added = _listed([attachment for attachment in attached if attachment.added])
        first = Decision(
            STEP, Outcome.INJECTED, Reason.ADDED, f"annotation {names.NETWORKS} gets {added}"
        )
    elif attached:
        message = f"annotation {names.NETWORKS} has {_listed(attached)} already"
        first = Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message)
    else:
        message = f"neither profile {plan.profile.name} nor the pod names a network"
        if plan.other_interfaces:
            message += f" of Multus; {plan.source.WORDS.writer} makes {', '.join(plan.other_interfaces[:_MOST_LISTED])}"
        first = Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, message)
    return [first, *islice(_doubts(plan), _MOST_DOUBTS)]


def _skip(draft: Draft, plan: Plan) -> Iterator[Decision]:
    yield Decision(
        STEP,
        Outcome.SKIPPED,
        Reason.HOST_NETWORK,
        "the pod uses the node's network, where Multus attaches nothing",
    )
    if plan.profile.networks or podspec.annotations(draft.pod).get(names.NETWORKS):
        message = (
            f"pod {plan.pod_name}: spec.hostNetwork is true, so Multus attaches no network; "
            "remove it to get the networks"
        )
        yield Decision(STEP, Outcome.WARNED, Reason.HOST_NETWORK, message)


def _doubts(plan: Plan) -> Iterator[Decision]:
    """Warn of interfaces that Multus reads without complaint and then cannot make.

    Only a warning: a plugin that makes no interface, as for DPDK, never meets the fault.
    Source: multus-cni pkg/multus validateIfName; containernetworking/cni pkg/utils ValidateInterfaceName.
    """
    owners: dict[str, Attachment] = {}
    for attachment in plan.attachments:
        name = attachment.interface
        other = owners.setdefault(name, attachment)
        if other is not attachment:
            what = f"networks {other.key} and {attachment.key} both get interface {name[:40]!r}"
        elif name in _TAKEN and not attachment.default:
            what = (
                f"network {attachment.key} asks for interface {name!r}, which every pod has already"
            )
        elif not _is_possible(name):
            what = (
                f"network {attachment.key} asks for interface {name[:40]!r}, which no node can make"
            )
        else:
            continue
        message = f"pod {plan.pod_name}: {what}; ask for another name"
        yield Decision(STEP, Outcome.WARNED, Reason.INTERFACE_CONFLICT, message)


def _is_possible(name: str) -> bool:
    if len(name.encode()) > _LONGEST_INTERFACE or name in (".", ".."):
        return False
    return name.isalnum() or not any(sign in "/:" or sign.isspace() for sign in name)


def _listed(attachments: list[Attachment]) -> str:
    listed = [
        f"{attachment.key} ({_shown(attachment.interface)})"
        for attachment in attachments[:_MOST_LISTED]
    ]
    more = len(attachments) - len(listed)
    return ", ".join([*listed, f"{more} more"] if more else listed)


def _shown(interface: str) -> str:
    return interface[:40] if interface.isprintable() else repr(interface[:40])
