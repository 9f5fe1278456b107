"""Keep only the parts of a cluster's objects that admission needs."""

from __future__ import annotations

import ipaddress
from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern

from webhook.core import names
from webhook.core.model import MasterAddress, Namespace, NetworkDefinition, Object
from webhook.core.reconcile.member import host_form, read_member
from webhook.kube.resource import Key

_NO_LABELS: Mapping[str, str] = {}
_READ_LABELS = (
    names.PROFILE,
    names.MODE,
    names.POD_SECURITY_ENFORCE,
    names.ISTIO_INJECTION,
    names.ISTIO_REVISION,
)
"""Labels of a namespace that admission reads. A namespace may have 150,000 others, and all namespaces are held."""


@dataclass(frozen=True, slots=True)
class Master:
    """Hold what is kept of a live rank-0 pod: *created* as the API server writes it, *address* None until published."""

    namespace: str
    job: str
    created: str
    uid: str
    address: MasterAddress | None


def read_namespace(obj: Object) -> Namespace:
    """Keep name, the labels that are read, and whether it is being deleted; equal texts are kept once, for many are alike."""
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    kept = {key: intern(labels[key]) for key in _READ_LABELS if key in labels}
    return Namespace(
        intern(metadata["name"]),
        kept or _NO_LABELS,
        _NO_LABELS,
        bool(metadata.get("deletionTimestamp")),
    )


def names_profile(namespace: Namespace, profile: str) -> bool:
    """Tell whether the label of a namespace that is not being deleted names *profile*."""
    return namespace.labels.get(names.PROFILE) == profile and not namespace.is_ending


def read_master(obj: Object) -> Master | None:
    """Keep job, age and published address of a rank-0 pod; None for a pod that is none, or that is being deleted.

    An address that its network-status no longer tells is that of an earlier sandbox: the controller is about to publish the new one.
    """
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    job = labels.get(names.JOB)
    member = read_member(obj) if labels.get(names.RENDEZVOUS) == "master" else None
    if not job or member is None:
        return None
    address = read_address(member.published.master_addr)
    if member.has_claims:
        address = None  # whether its claims still tell it is not known here: the controller publishes it to each member
    elif (
        address is not None
        and member.secondary.address
        and member.secondary.address != address.addr
    ):
        address = None
    created = str(metadata.get("creationTimestamp") or "")
    return Master(intern(metadata["namespace"]), job, created, metadata.get("uid") or "", address)


def read_address(text: str | None) -> MasterAddress | None:
    """Read a published address; None for anything but an IP address, since it ends in other pods' environment."""
    try:
        address = ipaddress.ip_address(text or "")
    except ValueError:
        return None
    if address.version == 6 and address.scope_id:
        return None
    return MasterAddress(str(text), host_form(str(text)))


class Masters:
    """Index live rank-0 pods by job. One thread updates, any may ask.

    A tenant may label thousands of pods as rank 0 of one job: none of them is looked at because of another.
    """

    def __init__(self) -> None:
        self._of_pod: dict[Key, Master] = {}
        self._in_order: dict[
            Key, list[tuple[str, str, Key]]
        ] = {}  # the pods of each job by age, the newest last
        self._newest: dict[Key, Master] = {}

    def update(self, pod: Key, master: Master | None) -> None:
        """Put the *pod* (namespace, name) in, or take it out where it is no live rank 0 any more."""
        former = self._of_pod.pop(pod, None)
        if former is not None:
            in_order = self._in_order[former.namespace, former.job]
            del in_order[bisect_left(in_order, (former.created, former.uid, pod))]
        if master is not None:
            self._of_pod[pod] = master
            insort(
                self._in_order.setdefault((master.namespace, master.job), []),
                (master.created, master.uid, pod),
            )
        for job in {(one.namespace, one.job) for one in (former, master) if one is not None}:
            if in_order := self._in_order[job]:
                # one assignment, so that no reader sees the job without the pod that is being replaced
                self._newest[job] = self._of_pod[in_order[-1][2]]
            else:
                del self._in_order[job]
                self._newest.pop(job, None)

    def address(self, namespace: str, job: str) -> MasterAddress | None:
        """Give the address of the newest live rank 0, by (creationTimestamp, uid); None where it has none published."""
        newest = self._newest.get((namespace, job))
        return newest.address if newest is not None else None


@dataclass(frozen=True, slots=True)
class Snapshot:
    """Hold copies of the caches by key: namespaces, networks, and the live rank-0 pods of jobs."""

    namespaces: dict[Key, Namespace]
    networks: dict[Key, NetworkDefinition]
    masters: dict[Key, Master]
