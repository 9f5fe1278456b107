"""Keep of an object, as the API server or a file gives it, only what admission asks for."""

from __future__ import annotations

import ipaddress
from collections.abc import Mapping
from dataclasses import dataclass
from sys import intern

from webhook.core import names
from webhook.core.model import MasterAddress, Namespace, Object
from webhook.core.reconcile.member import host_form

_NO_LABELS: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Master:
    """Hold what is kept of a live rank-0 pod: *created* as the API server writes it, *address* None until published."""

    namespace: str
    job: str
    created: str
    uid: str
    address: MasterAddress | None


def read_namespace(obj: Object) -> Namespace:
    """Keep name and labels; equal texts are kept once, for a cluster's namespaces are much alike."""
    metadata = obj["metadata"]
    labels = metadata.get("labels")
    kept = {intern(key): intern(value) for key, value in labels.items()} if labels else _NO_LABELS
    return Namespace(intern(metadata["name"]), kept, _NO_LABELS)


def read_master(obj: Object) -> Master | None:
    """Keep job, age and published address of a rank-0 pod; None for a pod that is none, or that is being deleted."""
    metadata = obj["metadata"]
    labels = metadata.get("labels") or {}
    job = labels.get(names.JOB)
    if not job or labels.get(names.RENDEZVOUS) != "master" or metadata.get("deletionTimestamp"):
        return None
    address = read_address((metadata.get("annotations") or {}).get(names.MASTER_ADDR))
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
