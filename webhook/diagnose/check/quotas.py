"""Look at what limits pods by their devices: ResourceQuotas, and queues of Kueue and Volcano."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction
from typing import NamedTuple

from webhook.core.cluster.demand import Demand
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.quantity import format_quantity, stored_quantity
from webhook.core.yaml_reader import read_documents
from webhook.diagnose.check.needs import claims_by_namespace, config_map, demands, labelled
from webhook.diagnose.finding import Code, Finding
from webhook.diagnose.snapshot import Snapshot, Unread
from webhook.diagnose.wording import listed
from webhook.kube.catalogue import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_QUOTAS, VOLCANO_QUEUES
from webhook.kube.reader import whole
from webhook.kube.resource import Resource

QUOTA_TOO_SMALL = Code(
    "quota-too-small",
    "quotas",
    "The ResourceQuota leaves no room for the devices that a training pod gets.",
    "raise the ResourceQuota, or end other pods that it counts",
)
QUEUE_LACKS = Code(
    "queue-lacks",
    "quotas",
    "A queue of Kueue or Volcano does not admit pods with the injected devices.",
    "add the devices to the queue, or to excludeResourcePrefixes of Kueue's configuration",
)
MOST_OF_A_CLAIM = 32
"""What a quota counts for allocationMode: All.

Source: kubernetes pkg/quota/v1/evaluator/core/resource_claims.go.
"""
_CLASS_QUOTA = ".deviceclass.resource.k8s.io/devices"
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
    """Name the quotas of labelled namespaces that refuse devices or claims of the profiles."""
    found = snapshot.list_all(RESOURCE_QUOTAS, read_quota, snapshot.namespace, partly=True)
    asked, claims = demands(snapshot), claims_by_namespace(snapshot)
    for quota in found:
        takes = {f"requests.{key}": most for key, most in devices(asked, quota.namespace).items()}
        for claim in claims.get(quota.namespace, ()):
            for request in claim.requests:
                is_all = request.allocation_mode == "All"
                key = request.device_class_name + _CLASS_QUOTA
                number = MOST_OF_A_CLAIM if is_all else request.count or 1
                takes[key] = takes.get(key, Fraction(0)) + number
        for key, amount in takes.items():
            if key in quota.hard:
                yield from judge(quota, key, amount)


def judge(quota: Quota, key: str, amount: Fraction) -> Iterator[Finding]:
    """Say whether a quota refuses every pod, or the next, that takes *amount* of *key*."""
    hard, used = (stored_quantity(values.get(key)) for values in (quota.hard, quota.used))
    limit = f"{key} is {quota.hard[key]}, {format_quantity(used)} of it used"
    message = f"{limit}, and a pod takes {format_quantity(amount)}"
    subject = f"ResourceQuota {quota.namespace}/{quota.name}"
    if hard < amount:
        message = f"{message}: every training pod is refused"
        yield QUOTA_TOO_SMALL.fail(subject, message, f"raise {key}")
    elif hard - used < amount:
        yield QUOTA_TOO_SMALL.warn(subject, f"{message}: the next pod is refused")


def devices(asked: Iterable[Demand], namespace: str) -> dict[str, Fraction]:
    """Return the devices that a pod of this namespace takes, of all where it is empty."""
    found: dict[str, Fraction] = {}
    for demand in asked:
        if not namespace or namespace in demand.namespaces:
            for resource, amount in demand.resources.items():
                if "/" in resource:
                    found[resource] = max(found.get(resource, Fraction(0)), Fraction(amount))
    return found


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
    for local in _list(snapshot, LOCAL_QUEUES):
        namespace = local["metadata"].get("namespace") or ""
        queue = (local.get("spec") or {}).get("clusterQueue") or ""
        for resource in devices(asked, namespace) if namespace in spaces else ():
            if resource not in covered.get(queue, resource) and not resource.startswith(excluded):
                lacking.setdefault((queue, resource), []).append(namespace)
    for (queue, resource), namespaces in lacking.items():
        whose = listed(dict.fromkeys(namespaces))
        message = (
            f"does not cover {resource}, so plain pods and pod groups of {whose} stay suspended"
        )
        yield QUEUE_LACKS.warn(f"ClusterQueue {queue}", message)


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


def check_volcano(snapshot: Snapshot) -> Iterator[Finding]:
    """Name the Volcano queues whose capability does not hold one pod.

    What it does not name is not limited. Source: volcano pkg/scheduler/plugins/capacity.
    """
    takes = devices(demands(snapshot), "")
    for queue in _list(snapshot, VOLCANO_QUEUES) if takes else ():
        capability = (queue.get("spec") or {}).get("capability") or {}
        for resource, amount in takes.items():
            if resource in capability and stored_quantity(capability[resource]) < amount:
                has = f"capability has {resource}: {capability[resource]}"
                message = f"{has}, and a pod takes {format_quantity(amount)}: it stays Pending"
                action = "raise capability of the queue"
                yield QUEUE_LACKS.warn(
                    f"Volcano queue {queue['metadata']['name']}", message, action
                )


def _list(snapshot: Snapshot, resource: Resource) -> tuple[Object, ...]:
    """List queues in the version that their API group prefers; none where it is not installed."""
    try:
        group = snapshot.reader.preferred_version(resource.group)
    except Unavailable as error:
        raise Unread(resource.name, f"cannot be read: {error}") from None
    return snapshot.list_all(resource.at(group), whole, partly=True) if group else ()
