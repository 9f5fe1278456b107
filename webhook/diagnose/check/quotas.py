"""Look at what limits pods by their devices: ResourceQuotas, and queues of Kueue."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from webhook.core.cluster.demand import Demand
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.core.yaml_reader import read_documents
from webhook.diagnose.check.needs import config_map, demands, labelled
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.wording import listed
from webhook.kube.catalogue import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_QUOTAS
from webhook.kube.reader import whole
from webhook.kube.resource import Resource

QUOTA_TOO_SMALL = Code(
    "quota-too-small",
    "quotas",
    "The ResourceQuota leaves no room for the devices that a training pod gets.",
    "raise the ResourceQuota, or end other pods that it counts",
)
CLUSTER_QUEUE_LACKS = Code(
    "cluster-queue-lacks",
    "quotas",
    "A ClusterQueue of Kueue does not cover the injected devices.",
    "add them to coveredResources, or to excludeResourcePrefixes of Kueue's configuration",
)
_KUEUE = ("kueue-system", "kueue-manager-config")


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


def check_kueue(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the ClusterQueues of labelled namespaces that do not know the injected devices.

    Kueue never admits a workload with a resource that no resource group covers. It reads the
    requests of Jobs from their templates. Source: kueue pkg/cache/scheduler.
    """
    covered = {
        queue["metadata"]["name"]: _covered(queue) for queue in _list(snapshot, CLUSTER_QUEUES)
    }
    if not covered:
        return
    spaces, asked = labelled(snapshot), demands(snapshot)
    excluded = excluded_prefixes(config_map(snapshot, _KUEUE))
    lacking: dict[tuple[str, str], list[str]] = {}
    for local in _list(snapshot, LOCAL_QUEUES, snapshot.namespace):
        namespace = local["metadata"].get("namespace") or ""
        queue = (local.get("spec") or {}).get("clusterQueue") or ""
        if namespace not in spaces or queue not in covered:
            continue
        for resource in devices(asked, namespace):
            if resource not in covered[queue] and not resource.startswith(excluded):
                lacking.setdefault((queue, resource), []).append(namespace)
    for (queue, resource), namespaces in lacking.items():
        whose = listed(dict.fromkeys(namespaces))
        message = (
            f"does not cover {resource}, so plain pods and pod groups of {whose} stay suspended"
        )
        yield CLUSTER_QUEUE_LACKS.warn(f"ClusterQueue {queue}", message)


def _covered(queue: Object) -> set[str]:
    groups = (queue.get("spec") or {}).get("resourceGroups") or ()
    return {resource for group in groups for resource in group.get("coveredResources") or ()}


def excluded_prefixes(data: Mapping[str, str]) -> tuple[str, ...]:
    """Read excludeResourcePrefixes of Kueue's configuration."""
    for text in data.values():
        try:
            prefixes = read_documents(text)[0].value["resources"]["excludeResourcePrefixes"]
        except (InputError, LookupError, TypeError):
            continue
        if isinstance(prefixes, list):
            return tuple(each for each in prefixes if isinstance(each, str))
    return ()


def _list(snapshot: Snapshot, resource: Resource, namespace: str = "") -> tuple[Object, ...]:
    """List queues in the version that their API group prefers; none where it is not installed."""
    try:
        group = snapshot.reader.preferred_version(resource.group)
    except Unavailable as error:
        raise Unread(resource.name, f"cannot be read: {error}") from None
    return snapshot.list_all(resource.at(group), whole, namespace, partly=True) if group else ()
