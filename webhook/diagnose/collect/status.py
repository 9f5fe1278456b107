"""Read what `status` looks at: each list once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

from webhook.core import names
from webhook.core.cluster.nodes import read_node
from webhook.core.errors import InputError, Unavailable
from webhook.core.model import Namespace, Object
from webhook.diagnose.collect.collector import Collector, without_pods
from webhook.diagnose.collect.job import (
    begin_device_offers,
    is_configured,
    read_claims,
    read_networks,
    read_profiles,
)
from webhook.diagnose.collect.kueue import read_workloads
from webhook.diagnose.collect.suspension import begin_all_suspended, suspended_jobs
from webhook.diagnose.explain.judgement import networks_to_read
from webhook.diagnose.explain.reading import label_time
from webhook.diagnose.status.jobs import find_jobs, keep_pod
from webhook.diagnose.status.status import StatusReading
from webhook.kube.catalogue import EVENTS, LEASES, NAMESPACES, NODES, PODS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.reader import whole
from webhook.world.profiles_read import ProfilesRead
from webhook.world.view import read_namespace

T = TypeVar("T")

MOST_PAGES = 400
_QUEUES = ("Workload", "PodGroup", "Job", "LocalQueue", "Queue")
_MOST_SPACES = 50
"""Namespaces of jobs that lack injection of which the time of the label is asked for."""


def read_status(
    connection: Connection,
    namespace: str = "",
    *,
    profiles: ProfilesRead | None = None,
    system_namespace: str = "fabric-injector",
    progress: Callable[[str], None] = lambda _: None,
) -> StatusReading:
    """Read what `status` judges; *namespace* empty: all.

    Raises InputError where pods may not be listed, Unavailable where the API server does not answer. What else may not be read is
    named in the result and left out.
    """
    with Collector(connection, progress, most_pages=MOST_PAGES) as collector:
        labels = collector.begin_part("namespaces", lambda: _labels(collector, namespace))
        nodes = collector.begin_list("nodes", NODES, read_node)
        events = collector.begin_list("Events", EVENTS, keep_event, namespace)
        try:
            pods = collector.read_list(PODS, keep_pod, namespace)
        except RequestFailed as error:
            raise without_pods(error, namespace, "status") from None
        kept, spaces = pods.items, labels.result()
        lease_key = (system_namespace, "fabric-injector")
        lease = collector.begin_part(
            f"Lease {'/'.join(lease_key)}",
            lambda: collector.reader.find(LEASES, lease_key, whole) or {},
        )
        read = read_profiles(collector, system_namespace, profiles)
        jobs = find_jobs(kept, spaces)
        wanted: dict[tuple[str, str], None] = {}
        members: list[Object] = []
        for job in jobs:
            examples = {
                (pod.key, pod.injected): pod for pod in job.pods
            }  # members of one job ask for the same networks
            asked = tuple(pod.read() for pod in examples.values())
            own = dict((spaces or {}).get(job.namespace, {}))
            wanted.update(
                dict.fromkeys(
                    networks_to_read(asked, job.namespace, own, read.profiles if read else None)
                )
            )
            members.extend(asked)
        device_offers = begin_device_offers(collector, members)
        of_claims = collector.begin(lambda: read_claims(collector, namespace, members))
        lacking = {
            job.namespace: None
            for job in jobs
            if any(pod.is_live and not pod.injected for pod in job.pods)
        }
        of_workloads = collector.begin(lambda: read_workloads(collector, namespace, members))
        is_asked = any(names.PROFILE in each for each in (spaces or {}).values())
        of_suspended = begin_all_suspended(collector, namespace) if is_asked else []
        networks = read_networks(collector, wanted)
        labelled = {space: _label_time(collector, space) for space in list(lacking)[:_MOST_SPACES]}
        return StatusReading(
            collector.reader.answered or datetime.now(UTC),
            kept,
            spaces,
            labelled,
            None if events.result().problem else events.result().items,
            None if nodes.result().problem else nodes.result().items,
            networks,
            read.profiles if read else None,
            read.unusable if read else frozenset(),
            read.generations if read else {},
            lease.result(),
            lease_key,
            of_workloads.result(),
            of_claims.result().claims,
            of_claims.result().templates,
            device_offers.result(),
            suspended_jobs(of_suspended),
            is_configured(collector, bool(lacking)),
            collector.notes(),
        )


def keep_event(event: Object) -> Object | None:
    """Keep an Event that may say why something went wrong, or what a queue waits for."""
    kind = (event.get("involvedObject") or {}).get("kind")
    if event.get("type") == "Normal" and kind not in _QUEUES:
        return None
    return {**event, "involvedObject": event.get("involvedObject") or {}}


def _labels(collector: Collector, namespace: str) -> Mapping[str, Mapping[str, str]]:
    if not namespace:
        return {
            each.name: each.labels for each in collector.read_list(NAMESPACES, read_namespace).items
        }
    found: Namespace | None = collector.reader.find(NAMESPACES, ("", namespace), read_namespace)
    if found is None:
        raise InputError(f"-n {namespace}: there is no namespace of this name")
    return {namespace: found.labels}


def _label_time(collector: Collector, namespace: str) -> str:
    try:
        found = collector.reader.find(NAMESPACES, ("", namespace), label_time, managed_fields=True)
    except Unavailable:
        return ""
    return found or ""
