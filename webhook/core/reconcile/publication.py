"""Say which addresses a pod must be told."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from webhook.core import names
from webhook.core.reconcile.member import Member, host_form


class Publication(NamedTuple):
    """Hold one write: the pod, told from its namesakes by *uid*, and the annotations to set."""

    namespace: str
    name: str
    uid: str
    annotations: Mapping[str, str]


def newest_master(members: Iterable[Member]) -> Member | None:
    """Return the rank 0 that counts: of several live ones the newest, by (creationTimestamp, uid)."""
    masters = [member for member in members if member.is_master]
    return max(masters, key=lambda member: (member.created, member.uid), default=None)


def publication(member: Member, master_address: str) -> Publication | None:
    """Return the write that a live member lacks; None where all is published.

    Published values are replaced, never emptied: while a new rank 0 has no address yet, its members keep the former one's.
    """
    told, own = member.published, member.secondary.address
    annotations = {}
    if master_address:
        if told.master_addr != master_address:
            annotations[names.MASTER_ADDR] = master_address
        host = host_form(master_address)
        if told.master_host != host:
            annotations[names.MASTER_HOST] = host
    if own and told.local_addr != own and (member.takes_local_address or told.local_addr):
        annotations[names.LOCAL_ADDR] = own
    return Publication(member.namespace, member.name, member.uid, annotations) if annotations else None
