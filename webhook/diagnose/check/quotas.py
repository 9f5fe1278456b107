"""Look at what limits pods by their resources: ResourceQuotas, Kueue's ClusterQueues, Volcano's queues."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

from webhook.core.cluster.demand import Demand
from webhook.core.model import Object
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.diagnose.wording import counted, listed


@dataclass(frozen=True, slots=True)
class Quota:
    """Hold what is kept of a ResourceQuota."""

    namespace: str
    name: str
    hard: Mapping[str, str] = field(default_factory=dict)
    used: Mapping[str, str] = field(default_factory=dict)


def read_quota(obj: Object) -> Quota:
    """Keep name, hard limits and what is used."""
    metadata, status = obj.get("metadata") or {}, obj.get("status") or {}
    hard = status.get("hard") or (obj.get("spec") or {}).get("hard") or {}
    return Quota(
        metadata.get("namespace") or "", metadata.get("name") or "", hard, status.get("used") or {}
    )


def check_resource_quotas(quotas: Iterable[Quota], demands: Sequence[Demand]) -> Iterator[Finding]:
    """Say which quotas of labelled namespaces refuse the injected devices, or do not count them."""
    uncounting: dict[str, list[str]] = {}
    least = {resource for demand in demands for resource in demand.at_least}
    for quota in quotas:
        for resource, amount in devices_of(demands, quota.namespace).items():
            key = f"requests.{resource}"  # the only form for devices
            if key in quota.hard:
                yield check_quota(quota, key, amount, "at least " if resource in least else "")
            else:
                uncounting.setdefault(resource, []).append(f"{quota.namespace}/{quota.name}")
    for resource, named in uncounting.items():
        subject = f"{counted(len(named), 'ResourceQuota')} ({listed(named)})"
        message = f"{'does' if len(named) == 1 else 'do'} not know {resource}: pods take as many as there are"
        action = f"add requests.{resource}, if the devices are to be shared out"
        yield Finding("warn", Code.QUOTA_UNCOUNTED, subject, message, action)


def check_quota(quota: Quota, key: str, amount: Fraction, least: str = "") -> Finding:
    """Say whether a quota leaves a pod what it takes of *key*, one of those it limits; *least*: ``at least``, where more may be."""
    subject = f"ResourceQuota {quota.namespace}/{quota.name}"
    hard, used = (stored_quantity(values.get(key)) for values in (quota.hard, quota.used))
    takes = f"a pod takes {least}{format_quantity(amount)}"
    told = f"{key} is {quota.hard[key]}, {format_quantity(used)} of it used, and {takes}"
    if hard < amount:
        return Finding(
            "fail",
            Code.QUOTA_TOO_SMALL,
            subject,
            f"{told}: every training pod is refused",
            f"raise {key}",
        )
    if hard - used < amount:
        return Finding(
            "warn",
            Code.QUOTA_USED_UP,
            subject,
            f"{told}: the next pod is refused",
            f"raise {key}, or wait",
        )
    return Finding("ok", Code.QUOTA_FITS, subject, told)


def check_kueue(
    local_queues: Iterable[Object],
    cluster_queues: Iterable[Object],
    excluded: Sequence[str],
    demands: Sequence[Demand],
) -> Iterator[Finding]:
    """Say which ClusterQueues of labelled namespaces do not know the injected devices; *excluded*: Kueue's excludeResourcePrefixes.

    Source: kueue pkg/cache/scheduler: a workload that asks for a resource that no resource group covers is never admitted; the requests
    of Jobs are read from their templates, those of plain pods and pod groups from the pods.
    """
    covered = {_name(queue): _covered(queue) for queue in cluster_queues}
    lacking: dict[tuple[str, str], list[str]] = {}
    knowing: dict[str, list[str]] = {}
    for local in local_queues:
        namespace = (local.get("metadata") or {}).get("namespace") or ""
        queue = (local.get("spec") or {}).get("clusterQueue") or ""
        for resource in devices_of(demands, namespace):
            if (
                queue in covered
                and resource not in covered[queue]
                and not resource.startswith(tuple(excluded))
            ):
                lacking.setdefault((queue, resource), []).append(namespace)
            elif queue in covered:
                knowing.setdefault(queue, []).append(resource)
    for (queue, resource), namespaces in lacking.items():
        yield Finding(
            "warn",
            Code.CLUSTER_QUEUE_LACKS,
            f"ClusterQueue {queue}",
            f"does not cover {resource}, which pods of {listed(dict.fromkeys(namespaces))} get: plain pods and pod groups are never "
            "admitted; Jobs are, without being counted",
            f"add {resource} to coveredResources, or to excludeResourcePrefixes of Kueue's configuration",
        )
    for queue, resources in knowing.items():
        if not any(queue == other for other, _ in lacking):
            message = f"knows or passes over {listed(dict.fromkeys(resources))}"
            yield Finding("ok", Code.CLUSTER_QUEUE_COVERS, f"ClusterQueue {queue}", message)


def check_volcano(queues: Iterable[Object], demands: Sequence[Demand]) -> Iterator[Finding]:
    """Say which Volcano queues cannot hold one pod; what a capability does not name is limited by the cluster alone.

    Source: volcano pkg/scheduler/plugins/{capacity,proportion}: realCapability.MinDimensionResource(capability, Infinity).
    """
    limited = False
    most: dict[str, Fraction] = {}
    for demand in demands:
        for resource, amount in demand.resources.items():
            if "/" in resource:
                most[resource] = max(most.get(resource, Fraction(0)), Fraction(amount))
    for queue in queues:
        capability = (queue.get("spec") or {}).get("capability") or {}
        for resource, amount in most.items():
            if resource in capability and stored_quantity(capability[resource]) < amount:
                limited = True
                message = f"capability has {resource}: {capability[resource]}, and a pod takes {format_quantity(amount)}"
                subject = f"Volcano queue {_name(queue)}"
                yield Finding(
                    "warn", Code.VOLCANO_QUEUE_TOO_SMALL, subject, f"{message}: it stays Pending"
                )
    if most and not limited:
        yield Finding(
            "ok", Code.VOLCANO_QUEUES_FIT, "Volcano queues", f"none keeps pods from {listed(most)}"
        )


def devices_of(demands: Iterable[Demand], namespace: str) -> dict[str, Fraction]:
    """Return the devices that a pod of this namespace takes."""
    return {
        resource: Fraction(amount)
        for demand in demands
        if namespace in demand.namespaces
        for resource, amount in demand.resources.items()
        if "/" in resource
    }


def _covered(queue: Object) -> set[str]:
    groups = (queue.get("spec") or {}).get("resourceGroups") or ()
    return {resource for group in groups for resource in group.get("coveredResources") or ()}


def _name(obj: Object) -> str:
    return (obj.get("metadata") or {}).get("name") or ""
