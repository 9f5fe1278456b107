"""Look at what limits pods by their devices: ResourceQuotas."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from webhook.core.cluster.demand import Demand
from webhook.core.model import Object
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.diagnose.check.needs import demands
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import RESOURCE_QUOTAS

QUOTA_TOO_SMALL = Code(
    "quota-too-small",
    "quotas",
    "The ResourceQuota leaves no room for the devices that a training pod gets.",
    "raise the ResourceQuota, or end other pods that it counts",
)


class Quota(NamedTuple):
    """Hold what is kept of a ResourceQuota."""

    namespace: str
    name: str
    hard: Mapping[str, str]
    used: Mapping[str, str]


def read_quota(obj: Object) -> Quota:
    """Keep name, hard limits and what is used."""
    metadata, status = obj["metadata"], obj.get("status") or {}
    hard = status.get("hard") or (obj.get("spec") or {}).get("hard") or {}
    return Quota(metadata.get("namespace") or "", metadata["name"], hard, status.get("used") or {})


def check_quotas(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the quotas of labelled namespaces that refuse every pod of a profile, or the next."""
    asked = demands(snapshot)
    for quota in snapshot.list_all(RESOURCE_QUOTAS, read_quota, snapshot.namespace, partly=True):
        for resource, amount in devices(asked, quota.namespace).items():
            key = f"requests.{resource}"
            if key not in quota.hard:
                continue
            hard, used = (stored_quantity(each.get(key)) for each in (quota.hard, quota.used))
            limit = f"{key} is {quota.hard[key]}, {format_quantity(used)} of it used"
            message = f"{limit}, and a pod takes {format_quantity(amount)}"
            subject = f"ResourceQuota {quota.namespace}/{quota.name}"
            if hard < amount:
                message = f"{message}: every training pod is refused"
                yield QUOTA_TOO_SMALL.fail(subject, message, f"raise {key}")
            elif hard - used < amount:
                yield QUOTA_TOO_SMALL.warn(subject, f"{message}: the next pod is refused")


def devices(asked: Iterable[Demand], namespace: str) -> dict[str, Fraction]:
    """Return the devices that a pod of this namespace takes."""
    return {
        resource: Fraction(amount)
        for demand in asked
        if namespace in demand.namespaces
        for resource, amount in demand.resources.items()
        if "/" in resource
    }
