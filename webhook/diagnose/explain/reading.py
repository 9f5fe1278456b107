"""Hold what was read of a job and its cluster: the input of every topic, without a clock and without a network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from webhook.core import names
from webhook.core.cluster.device_classes import DeviceOffers
from webhook.core.cluster.nodes import NodeOffer
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.explain.nccl_log import PodLog
from webhook.diagnose.listing import Unread
from webhook.world.view import REFUSED


@dataclass(frozen=True, slots=True)
class Reading:
    """Hold the objects as the API server gave them; None where they could not be read.

    *target* as ``job/train``; *owner* is the name that owners of its pods carry, ``train``. *focus* is the one pod that was asked
    for, else empty. *pods* are all that may belong to the job, also finished ones. *networks*: the NetworkAttachmentDefinitions that
    were asked for by (namespace, name), None for one that does not exist. *lease*: empty for one that does not exist.
    *labelled*: when the profile label of the namespace was written, as `label_time` tells. *neighbours*: by the name of a node that
    offers what a pod on no node asks for, the pods of all namespaces there.
    *unusable*: names of profiles whose object has a fault; what the webhook makes of them is unknown. *generations*: by the name of
    each profile that is an object. *not_ready*: what the controller says of each that is not Ready, by name.
    *claims*: the ResourceClaims of the namespace by name, and the names of its ResourceClaimTemplates; None where they could not be
    read, or no pod has any. *device_offers*: what drivers give out by claims (DRA).
    *workloads*: Kueue's Workloads of the job that have not finished, None where they could not be read.
    *suspended*: the job, where it has no live pod and is suspended, as far as that may be read.
    *configured*: whether the MutatingWebhookConfiguration exists; None where nobody asks, or it may not be read, as by most users.
    *logs*: by the name of each pod whose log was read; None where nobody asked for logs.
    *now* is the API server's time, which all other times come from.
    """

    target: str
    namespace: str
    now: datetime
    pods: tuple[Object, ...] = ()
    owner: str = ""
    focus: str = ""
    labels: Mapping[str, str] | None = None
    labelled: str = ""
    events: tuple[Object, ...] | None = None
    nodes: tuple[NodeOffer, ...] | None = None
    neighbours: Mapping[str, tuple[Object, ...]] | None = field(default_factory=dict)
    networks: Mapping[tuple[str, str], Object | None] = field(default_factory=dict)
    profiles: Profiles | None = None
    unusable: frozenset[str] = frozenset()
    generations: Mapping[str, int] = field(default_factory=dict)
    not_ready: Mapping[str, str] = field(default_factory=dict)
    claims: Mapping[str, Object] | None = None
    claim_templates: frozenset[str] | None = None
    device_offers: DeviceOffers = field(default_factory=DeviceOffers)
    workloads: tuple[Object, ...] | None = ()
    suspended: tuple[Object, ...] = ()
    configured: bool | None = None
    lease: Object | None = None
    lease_key: tuple[str, str] = ("fabric-injector", "fabric-injector")
    logs: Mapping[str, PodLog] | None = None
    unread: tuple[Unread, ...] = ()

    @property
    def refused_networks(self) -> frozenset[str]:
        """Return the networks, as ``namespace/name``, that the caller may not read: most users may not those of other namespaces."""
        head = "network "
        return frozenset(
            part.what.removeprefix(head)
            for part in self.unread
            if part.what.startswith(head) and REFUSED in part.problem
        )


def label_time(namespace: Object) -> str:
    """Return when the one who owns the namespace's profile label last added or changed a field of it; empty where that is not told.

    Source: metadata.managedFields. One who applies a label that is there already owns it too, at the time of its own last change, which
    may be older than the label, or at none: of several times none is trusted.
    """
    times = {
        str(entry["time"])
        for entry in namespace["metadata"].get("managedFields") or ()
        if f"f:{names.PROFILE}"
        in (((entry.get("fieldsV1") or {}).get("f:metadata") or {}).get("f:labels") or {})
        and entry.get("time")
    }
    return times.pop() if len(times) == 1 else ""


def seconds_since(text: object, now: datetime) -> float | None:
    """Return how long ago a time of the API was; None where it is missing or no time."""
    try:
        return (now - datetime.fromisoformat(str(text))).total_seconds()
    except (ValueError, TypeError):
        return None
