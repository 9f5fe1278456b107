"""Read what others run in the cluster: networks, nodes, Multus, quotas and queues, pods that nobody injected."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.networks import define_network
from webhook.core.yaml_reader import read_documents
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
from webhook.diagnose.check.reader import Listing, Reader
from webhook.diagnose.nodes import read_node
from webhook.kube.resource import Key, Resource, object_key
from webhook.world.cluster import NETWORKS
from webhook.world.installed_profiles import CONFIG_MAPS

_NODES = Resource("nodes", "/api/v1")
_DAEMON_SETS = Resource("daemonsets", "/apis/apps/v1")
_QUOTAS = Resource("resourcequotas", "/api/v1")
_VOLCANO = "scheduling.volcano.sh"
_KUEUE = "kueue.x-k8s.io"
_KUEUE_CONFIGURATION = ("kueue-system", "kueue-manager-config")
_UNFINISHED = "status.phase!=Succeeded,status.phase!=Failed"
_PODS = Resource("pods", "/api/v1", field_selector=_UNFINISHED)
_PODS_METADATA = Resource("pods", "/api/v1", metadata_only=True, field_selector=_UNFINISHED)
MOST_NAMESPACES = 32
"""Namespaces whose whole pods are listed one by one; of more, those of the whole cluster are, page by page."""

Labelled = Mapping[str, LabelledNamespace]


def begin_surroundings(reader: Reader, namespaces: Listing[LabelledNamespace]) -> Callable[[], Surroundings]:
    """Begin to read; the function that is returned waits for the end."""
    labelled: Labelled = {each.name: each for each in namespaces.items}
    networks = reader.list(NETWORKS, define_network)
    nodes = reader.list(_NODES, read_node)
    daemon_sets = reader.list(_DAEMON_SETS, read_daemon_set)
    quotas = reader.list(_QUOTAS, lambda obj: _quota_of(labelled, obj))
    volcano = reader.begin("queues of Volcano", lambda: _read_volcano(reader))
    kueue = reader.begin("queues of Kueue", lambda: _read_kueue(reader, labelled))
    pods = reader.list(_PODS_METADATA, lambda obj: _suspect(labelled, obj))

    def finish() -> Surroundings:
        suspects = pods.result()
        earlier = _begin_earlier(reader, labelled, suspects.items)
        multus = _read_multus(reader, daemon_sets.result().items)
        local_queues, cluster_queues, excludes = kueue.result()
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
        )

    return finish


def _whole(obj: Object) -> Object:
    return obj


def _quota_of(labelled: Labelled, obj: Object) -> Quota | None:
    quota = read_quota(obj)
    return quota if quota.namespace in labelled else None


def _suspect(labelled: Labelled, pod: Object) -> Object | None:
    return pod if may_be_earlier(pod, labelled) or is_unreached(pod, labelled) else None


def _begin_earlier(reader: Reader, labelled: Labelled, suspects: Iterable[Object]) -> list[Future[Listing[Object]]]:
    """Begin to read the suspects whole, for many a training pod is known only by its variables and arguments."""
    wanted = {object_key(pod) for pod in suspects if may_be_earlier(pod, labelled)}

    def keep(pod: Object) -> Object | None:
        return pod if object_key(pod) in wanted else None

    spaces = sorted({namespace for namespace, _ in wanted})
    if len(spaces) > MOST_NAMESPACES:
        spaces = [""]
    return [reader.list(_PODS, keep, namespace) for namespace in spaces]


def _joined(parts: Iterable[Future[Listing[Object]]]) -> Listing[Object]:
    listings = [part.result() for part in parts]
    problem = next((listing.problem for listing in listings if listing.problem), "")
    return Listing(tuple(item for listing in listings for item in listing.items), problem)


def _read_multus(reader: Reader, daemon_sets: Iterable[DaemonSet]) -> tuple[Configuration, ...]:
    """Read what can be seen of Multus' configuration: its arguments, and the ConfigMaps that it mounts."""
    found: list[Configuration] = []
    for daemon_set in daemon_sets:
        found.append(configuration_of_arguments(daemon_set))
        for name in daemon_set.config_maps:
            title = f"ConfigMap {daemon_set.namespace}/{name}"
            data = reader.read_one(CONFIG_MAPS, (daemon_set.namespace, name), config_map_data)
            found += configurations_of_map(title, data.value or {})
    return tuple(found)


def config_map_data(obj: Object) -> Mapping[str, str]:
    """Return the texts of a ConfigMap."""
    return {key: text for key, text in (obj.get("data") or {}).items() if isinstance(text, str)}


def _read_kueue(reader: Reader, labelled: Labelled) -> tuple[Listing[Object], Listing[Object], tuple[str, ...]]:
    version, absent = _preferred_version(reader, _KUEUE)
    if absent is not None:
        return absent, absent, ()

    def keep(queue: Object) -> Object | None:
        return queue if (queue.get("metadata") or {}).get("namespace") in labelled else None

    local_queues = reader.read_list(Resource("localqueues", version), keep)
    cluster_queues = reader.read_list(Resource("clusterqueues", version), _whole)
    key: Key = _KUEUE_CONFIGURATION
    configuration = reader.read_one(CONFIG_MAPS, key, config_map_data)
    return local_queues, cluster_queues, _excluded(configuration.value or {})


def _read_volcano(reader: Reader) -> Listing[Object]:
    version, absent = _preferred_version(reader, _VOLCANO)
    return absent or reader.read_list(Resource("queues", version), _whole)


def _preferred_version(reader: Reader, group: str) -> tuple[str, Listing[Object] | None]:
    """Return the path of a group that may not be installed; a listing in its place where it is not, or cannot be asked for.

    Who may not list an object is refused before it is looked whether there are any; discovery is open to all.
    """
    found = reader.read_path(f"/apis/{group}", lambda obj: str(obj["preferredVersion"]["groupVersion"]))
    if found.value is None:
        return "", Listing(problem=found.problem, installed=False)
    return f"/apis/{found.value}", None


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
