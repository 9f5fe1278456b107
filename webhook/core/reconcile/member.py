"""Read what the controller needs of a job's pod, and no more: it holds ten thousand of these."""

import re
from collections.abc import Mapping
from ipaddress import ip_address
from sys import intern
from typing import NamedTuple

from webhook.core import names
from webhook.core.addresses import DEFAULT, MULTUS, Source, claim, source_named
from webhook.core.model import Object
from webhook.core.networks.rdma_devices import MAX_VALUE, nccl_ib_hca, rdma_devices, ucx_net_devices
from webhook.core.networks.status import Secondary, parse_wanted

_NOTHING = Secondary()
_MASTER_ADDR = names.MASTER_ADDR.removeprefix(names.PREFIX)
_LOCAL_ADDR = names.LOCAL_ADDR.removeprefix(names.PREFIX)
_DEVICES = {key.removeprefix(names.PREFIX) for key in (names.NCCL_IB_HCA, names.UCX_NET_DEVICES)}
MOST_ENTRIES = 1000
"""How many annotations, labels, finalizers or owners a pod may have to be written to: a write of
20,000 costs the API server a second. The admission policy refuses it too."""
_COUNTED = ("annotations", "labels", "finalizers", "ownerReferences")
MAX_NAME = 255
"""Longest address or name, in brackets, that is kept; what is longer is not ours, and is OTHER."""
MAX_CAUSE = 2048
_HOST = re.compile(r"[0-9A-Za-z_][-0-9A-Za-z_.]*|\[?[0-9A-Fa-f:.]+\]?")
"""An address or a DNS name, as policy fabric-injector-addresses has it."""
OTHER = "(other)"
_WRITTEN = {
    **dict.fromkeys((names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR), MAX_NAME),
    names.WAIT_ENDS: MAX_CAUSE,
    **dict.fromkeys((names.NCCL_IB_HCA, names.UCX_NET_DEVICES), MAX_VALUE),
}
"""The annotations that the controller writes, and how much of each is kept."""


class Unit(NamedTuple):
    """Name one pod that may lack an address."""

    namespace: str
    job: str
    name: str


class Fate(NamedTuple):
    """Say what becomes of a member that waits for rank 0.

    *cause*: why its wait ends. *by_name*: it gets rank 0's name instead.
    """

    cause: str = ""
    by_name: bool = False


class Published(NamedTuple):
    """Hold what the controller has written, as it stands on the pod; empty where missing."""

    master_addr: str = ""
    master_host: str = ""
    local_addr: str = ""
    wait_ends: str = ""
    nccl_ib_hca: str = ""
    ucx_net_devices: str = ""

    def annotations(self) -> dict[str, str]:
        """Return them by name."""
        return dict(zip(_WRITTEN, self, strict=True))

    def after(self, written: Mapping[str, str]) -> "Published":
        """Return what stands there once these annotations are *written* too."""
        return Published(*(written.get(key, value) for key, value in self.annotations().items()))


class Member(NamedTuple):
    """Describe a live pod that carries the job label.

    *secondary*: its address on the rendezvous network, as its *source* tells; *reported*: that
    tells something. *wanted*: ``namespace/name@interface``, empty where the annotation that says so
    is missing or unreadable. *takes_master_address*, *takes_local_address*: it waits for rank 0's
    address, for its own. *master_name*: rank 0's, as its variables held it.
    *fails_without_rank_zero*: its wait ends, where others would get that name. *is_excessive*: it
    has more than MOST_ENTRIES of something. *devices*: the annotations of its RDMA devices that it
    waits for, and what is to stand there, empty until network-status is there.
    *rendezvous_network*: the annotation that *wanted* is read from.
    """

    namespace: str
    name: str
    uid: str
    job: str
    is_master: bool
    created: str
    wanted: str
    takes_master_address: bool
    takes_local_address: bool
    secondary: Secondary
    reported: bool
    published: Published
    master_name: str = ""
    fails_without_rank_zero: bool = False
    is_excessive: bool = False
    devices: tuple[tuple[str, str], ...] = ()
    source_name: str = DEFAULT
    rendezvous_network: str = ""

    @property
    def unit(self) -> Unit:
        """Return what the pod is queued as."""
        return Unit(self.namespace, self.job, self.name)

    @property
    def source(self) -> Source:
        """Return the source of its address."""
        return source_named(self.source_name)

    @property
    def has_claims(self) -> bool:
        """Tell whether its ResourceClaims tell its address, which `beside_claims` adds."""
        return self.source_name == claim.NAME

    @property
    def waits_for_rank_zero(self) -> bool:
        """Tell whether rank 0's address is what is missing; rank 0 itself waits for it too."""
        return bool(self.wanted) and self.takes_master_address and not self.published.master_addr

    @property
    def waits(self) -> bool:
        """Tell whether an address or the devices that the pod's wait step needs are missing.

        A pod without the webhook's annotation has no wait step: somebody else gave it the label.
        """
        told = self.published.annotations() if self.devices else {}
        lacks_devices = any(not told[key] for key, _ in self.devices)
        return self.waits_for_rank_zero or (
            bool(self.wanted) and (self._waits_for_own_address or lacks_devices)
        )

    @property
    def lacks_own_address(self) -> bool:
        """Tell a pod that waits for its own address, and has none."""
        return bool(self.wanted) and self._waits_for_own_address and not self.secondary.address

    @property
    def is_suspicious(self) -> bool:
        """Tell a pod without a usable address on the wanted network, or with it elsewhere."""
        return bool(self.wanted) and (not self.secondary.address or bool(self.secondary.interface))

    @property
    def _waits_for_own_address(self) -> bool:
        return self.takes_local_address and not self.published.local_addr


def read_member(obj: Object) -> Member | None:
    """Read a pod's metadata; None for one without the job label, or that is being deleted.

    Finished pods never come here: the watch's field selector leaves them out.
    """
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    job = labels.get(names.JOB)
    if not job or metadata.get("deletionTimestamp"):
        return None
    annotations = metadata.get("annotations") or {}
    source_name = _kept(annotations.get(names.ADDRESS_SOURCE), MAX_NAME) or DEFAULT
    source = source_named(source_name)
    told = source.words.read(annotations)
    network = annotations.get(names.RENDEZVOUS_NETWORK) or ""
    wanted = parse_wanted(network)
    secondary = source.secondary(told, wanted) if wanted and told else _NOTHING
    is_master = labels.get(names.RENDEZVOUS) == "master"
    master_name = annotations.get(names.MASTER_NAME) or ""
    is_publishable = len(master_name) <= MAX_NAME and _HOST.fullmatch(master_name)
    waits_for = (annotations.get(names.WAITS_FOR) or "")[:MAX_NAME].split(",")
    has_devices = not _DEVICES.isdisjoint(waits_for)
    return Member(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        job=intern(job),
        is_master=is_master,
        created=intern(str(metadata.get("creationTimestamp") or "")),
        wanted=intern(str(wanted)) if wanted else "",
        takes_master_address=_MASTER_ADDR in waits_for,
        takes_local_address=_LOCAL_ADDR in waits_for,
        secondary=secondary,
        reported=bool(told),
        published=Published(*(_kept(annotations.get(key), most) for key, most in _WRITTEN.items())),
        master_name=intern(master_name if is_publishable else ""),
        fails_without_rank_zero=annotations.get(names.UNREACHABLE) == names.UNREACHABLE_FAIL,
        is_excessive=any(len(metadata.get(key) or ()) > MOST_ENTRIES for key in _COUNTED),
        devices=_devices(waits_for, annotations) if has_devices else (),
        source_name=source_name,
        rendezvous_network=intern(network) if wanted else "",
    )


def beside_claims(member: Member, told: str) -> Member:
    """Return the member with what its claims tell, as `claim.tell` has written it.

    An address that is published stays while it is one of the pod's: the second of two devices may
    come first. While nothing is known of the wanted one, it counts as unreported: the driver may
    still write it.
    """
    wanted = parse_wanted(member.rendezvous_network)
    if wanted is None or not told:
        return member
    found = claim.secondary(told, wanted)
    as_master = member.published.master_addr if member.is_master else ""
    before = member.published.local_addr or as_master
    if found.address and before != found.address and before and claim.is_told(told, wanted, before):
        found = Secondary(before)
    return member._replace(secondary=found, reported=bool(found.address or found.problem))


def _devices(listed: list[str], annotations: Object) -> tuple[tuple[str, str], ...]:
    """Return what is to be published of the pod's RDMA devices, empty before network-status."""
    status = MULTUS.words.read(annotations)
    found = rdma_devices(status)
    written = {names.NCCL_IB_HCA: nccl_ib_hca, names.UCX_NET_DEVICES: ucx_net_devices}
    asked = [key for key in written if key.removeprefix(names.PREFIX) in listed]
    return tuple([(key, intern(written[key](found)) if status else "") for key in asked])


def _kept(text: str | None, most: int) -> str:
    return OTHER if text and len(text) > most else intern(text or "")


def host_form(address: str) -> str:
    """Write an address, or a name, for use before ``:port``: IPv6 in brackets."""
    return f"[{address}]" if ":" in address else address


def is_name(published: str) -> bool:
    """Tell whether what is published, if anything, is rank 0's name in place of its address."""
    try:
        return bool(published.strip()) and not ip_address(published.strip())
    except ValueError:
        return True
