"""Read what others run in the cluster: networks, nodes, Multus, quotas and queues, pods that nobody injected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future
from contextlib import suppress

from webhook.core.cluster.nodes import read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.yaml_reader import read_documents
from webhook.diagnose.check.claims import KueueMappings
from webhook.diagnose.check.earlier_pods import is_unreached, may_be_earlier
from webhook.diagnose.check.inventory import Surroundings
from webhook.diagnose.check.multus import (
    Configuration,
    DaemonSet,
    configuration_of_arguments,
    configurations_of_map,
    read_daemon_set,
)
from webhook.diagnose.check.namespaces import LabelledNamespace
from webhook.diagnose.check.quotas import Quota, read_quota
from webhook.diagnose.collect.collector import Collector
from webhook.diagnose.collect.device_offers import read_device_offers
from webhook.diagnose.listing import Listing
from webhook.kube.catalogue import (
    CLUSTER_QUEUES,
    CONFIG_MAPS,
    DAEMON_SETS,
    LOCAL_QUEUES,
    NETWORKS,
    NODES,
    PODS,
    RESOURCE_QUOTAS,
    UNFINISHED,
    VOLCANO_QUEUES,
)
from webhook.kube.reader import whole
from webhook.kube.resource import Key, Resource, object_key
from webhook.world.installed_profiles import config_map_data

_KUEUE_CONFIGURATION = ("kueue-system", "kueue-manager-config")
_PODS = PODS.select(fields=UNFINISHED)
MOST_NAMESPACES = 32
"""Namespaces whose whole pods are listed one by one; of more, those of the whole cluster are, page by page."""

Labelled = Mapping[str, LabelledNamespace]


def begin_surroundings(
    collector: Collector, namespaces: Listing[LabelledNamespace], workload: str = ""
) -> Callable[[], Surroundings]:
    """Begin to read; the function that is returned waits for the end. *workload*: pods and quotas of this namespace alone."""
    labelled: Labelled = {each.name: each for each in namespaces.items}
    networks = collector.begin_list("networks", NETWORKS, define_network)
    nodes = collector.begin_list("nodes", NODES, read_node)
    daemon_sets = collector.begin_list("DaemonSets, for Multus", DAEMON_SETS, read_daemon_set)
    quotas = collector.begin_list(
        "ResourceQuotas", RESOURCE_QUOTAS, lambda obj: _quota_of(labelled, obj), workload
    )
    volcano = collector.begin(
        lambda: _read_queues(collector, "Volcano's queues", VOLCANO_QUEUES, whole)
    )
    kueue = collector.begin(lambda: _read_kueue(collector, labelled))
    device_offers = collector.begin(lambda: read_device_offers(collector))
    pods = collector.begin_list(
        "pods", _PODS.metadata, lambda obj: _suspect(labelled, obj), workload
    )

    def finish() -> Surroundings:
        suspects = pods.result()
        earlier = _begin_earlier(collector, labelled, suspects.items)
        multus = _read_multus(collector, daemon_sets.result().items)
        local_queues, cluster_queues, excludes, mappings = kueue.result()
        return Surroundings(
            namespaces,
            networks.result(),
            nodes.result(),
            daemon_sets.result(),
            multus,
            quotas.result(),
            local_queues,
            cluster_queues,
            excludes,
            volcano.result(),
            suspects,
            _joined(earlier),
            device_offers.result(),
            mappings,
        )

    return finish


def _quota_of(labelled: Labelled, obj: Object) -> Quota | None:
    quota = read_quota(obj)
    return quota if quota.namespace in labelled else None


def _suspect(labelled: Labelled, pod: Object) -> Object | None:
    return pod if may_be_earlier(pod, labelled) or is_unreached(pod, labelled) else None


def _begin_earlier(
    collector: Collector, labelled: Labelled, suspects: Iterable[Object]
) -> list[Future[Listing[Object]]]:
    """Begin to read the suspects whole, for many a training pod is known only by its variables and arguments."""
    wanted = {object_key(pod) for pod in suspects if may_be_earlier(pod, labelled)}

    def keep(pod: Object) -> Object | None:
        return pod if object_key(pod) in wanted else None

    spaces = sorted({namespace for namespace, _ in wanted})
    if len(spaces) > MOST_NAMESPACES:
        spaces = [""]
    return [collector.begin_list("pods", _PODS, keep, namespace) for namespace in spaces]


def _joined(parts: Iterable[Future[Listing[Object]]]) -> Listing[Object]:
    listings = [part.result() for part in parts]
    problem = next((listing.problem for listing in listings if listing.problem), "")
    return Listing(tuple(item for listing in listings for item in listing.items), problem)


def _read_multus(
    collector: Collector, daemon_sets: Iterable[DaemonSet]
) -> tuple[Configuration, ...]:
    """Read what can be seen of Multus' configuration: its arguments, and the ConfigMaps that it mounts."""
    found: list[Configuration] = []
    for daemon_set in daemon_sets:
        found.append(configuration_of_arguments(daemon_set))
        for name in daemon_set.config_maps:
            title = f"ConfigMap {daemon_set.namespace}/{name}"
            found += configurations_of_map(title, _texts(collector, (daemon_set.namespace, name)))
    return tuple(found)


def _texts(collector: Collector, key: Key) -> Mapping[str, str]:
    """Read a ConfigMap of somebody else's as far as it is there to be read: without it their defaults are taken to hold."""
    with suppress(Unavailable):
        return collector.reader.find(CONFIG_MAPS, key, config_map_data) or {}
    return {}


def _read_kueue(
    collector: Collector, labelled: Labelled
) -> tuple[Listing[Object], Listing[Object], tuple[str, ...], KueueMappings]:
    def keep(queue: Object) -> Object | None:
        return queue if queue["metadata"]["namespace"] in labelled else None

    cluster_queues = _read_queues(collector, "Kueue's queues", CLUSTER_QUEUES, whole)
    if not cluster_queues.installed:
        return cluster_queues, cluster_queues, (), KueueMappings()
    local_queues = _read_queues(collector, "Kueue's queues", LOCAL_QUEUES, keep)
    data = _texts(collector, _KUEUE_CONFIGURATION)
    return local_queues, cluster_queues, _excluded(data), _mapped(data)


def _read_queues(
    collector: Collector, what: str, resource: Resource, keep: Callable[[Object], Object | None]
) -> Listing[Object]:
    """List queues in the version that their API group prefers."""
    try:
        group = collector.reader.preferred_version(resource.group)
    except Unavailable as error:
        return Listing(problem=collector.note(what, error), installed=False)
    return (
        collector.list_part(what, resource.at(group), keep) if group else Listing(installed=False)
    )


def _excluded(data: Mapping[str, str]) -> tuple[str, ...]:
    """Read excludeResourcePrefixes, where Kueue's configuration is a ConfigMap as its manifests have it."""
    for text in data.values():
        try:
            prefixes = read_documents(text)[0].value["resources"]["excludeResourcePrefixes"]
        except (InputError, LookupError, TypeError):
            continue
        if isinstance(prefixes, list):
            return tuple(each for each in prefixes if isinstance(each, str))
    return ()


def _mapped(data: Mapping[str, str]) -> KueueMappings:
    """Read deviceClassMappings in the same way."""
    for text in data.values():
        try:
            resources = read_documents(text)[0].value.get("resources") or {}
            mappings = resources.get("deviceClassMappings") or ()
            classes = [str(name) for mapping in mappings for name in mapping["deviceClassNames"]]
        except (InputError, LookupError, TypeError, AttributeError):
            continue
        return KueueMappings(frozenset(classes), is_known=True)
    return KueueMappings()
