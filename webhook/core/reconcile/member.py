"""Read what the controller needs of a job's pod, and no more: it holds ten thousand of these."""

from __future__ import annotations

from ipaddress import ip_address
from sys import intern
from typing import NamedTuple

from webhook.core import names
from webhook.core.model import Object
from webhook.core.networks.status import Secondary, parse_wanted, secondary_address

_NOTHING = Secondary()
_LOCAL_ADDR = names.LOCAL_ADDR.removeprefix(names.PREFIX)


class Published(NamedTuple):
    """Hold the annotations of addresses, as they stand on the pod; empty where missing."""

    master_addr: str = ""
    master_host: str = ""
    local_addr: str = ""

    def annotations(self) -> dict[str, str]:
        """Return them by name."""
        return {
            names.MASTER_ADDR: self.master_addr,
            names.MASTER_HOST: self.master_host,
            names.LOCAL_ADDR: self.local_addr,
        }


class Member(NamedTuple):
    """Describe a live pod that carries the job label.

    *secondary*: its address on the rendezvous network, as network-status tells. *reported*: it has a network-status.
    *wanted*: ``namespace/name@interface``, empty where the annotation that says so is missing or unreadable.
    *takes_local_address*: the pod waits for its own address too.
    """

    namespace: str
    name: str
    uid: str
    job: str
    is_master: bool
    created: str
    wanted: str
    takes_local_address: bool
    secondary: Secondary
    reported: bool
    published: Published

    @property
    def waits(self) -> bool:
        """Tell whether an address that the pod's wait step needs is still missing.

        A pod without the webhook's annotation has no wait step: somebody else gave it the label.
        """
        told = self.published
        return bool(self.wanted) and not (told.master_addr and (told.local_addr or not self.takes_local_address))


def read_member(obj: Object) -> Member | None:
    """Read a pod's metadata; None for a pod without the job label and for one that is being deleted.

    Finished pods never come here: the watch's field selector leaves them out.
    """
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    job = labels.get(names.JOB)
    if not job or metadata.get("deletionTimestamp"):
        return None
    annotations = metadata.get("annotations") or {}
    status = annotations.get(names.NETWORK_STATUS) or annotations.get(names.NETWORKS_STATUS) or ""
    wanted = parse_wanted(annotations.get(names.RENDEZVOUS_NETWORK) or "")
    secondary = secondary_address(status, wanted) if wanted and status else _NOTHING
    is_master = labels.get(names.RENDEZVOUS) == "master"
    waits_for = annotations.get(names.WAITS_FOR)
    if waits_for is not None:
        takes_local_address = _LOCAL_ADDR in waits_for.split(",")
    else:  # injected by 0.1, which did not say so: those that its rule may have meant
        is_ipv6 = ":" in secondary.address or (wanted is not None and wanted.family == "IPv6")
        takes_local_address = is_master or is_ipv6 or metadata["name"][:1].isdigit()
    return Member(
        namespace=intern(metadata["namespace"]),
        name=metadata["name"],
        uid=metadata.get("uid") or "",
        job=intern(job),
        is_master=is_master,
        created=intern(str(metadata.get("creationTimestamp") or "")),
        wanted=intern(str(wanted)) if wanted else "",
        takes_local_address=takes_local_address,
        secondary=secondary,
        reported=bool(status),
        published=Published(
            *(intern(annotations.get(key) or "") for key in (names.MASTER_ADDR, names.MASTER_HOST, names.LOCAL_ADDR))
        ),
    )


def host_form(address: str) -> str:
    """Write an address for use before ``:port``: IPv6 in brackets."""
    return f"[{address}]" if ip_address(address).version == 6 else address
