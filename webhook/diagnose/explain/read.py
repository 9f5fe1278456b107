"""Read a job and what it depends on from the cluster: few lists beside each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any

from webhook.core import names, podspec
from webhook.core.errors import InputError, ProfilesError, Unavailable
from webhook.core.model import Object
from webhook.core.profiles import Profiles
from webhook.diagnose.explain.events import concerns
from webhook.diagnose.explain.holders import nodes_to_read
from webhook.diagnose.explain.judgement import networks_to_read
from webhook.diagnose.explain.read_pods import LIVE, POD_METADATA, PODS, Target, find_pods
from webhook.diagnose.explain.reader import NotRead, Progress, Reader
from webhook.diagnose.explain.reading import Reading, Unread, label_time
from webhook.diagnose.explain.selection import known_names
from webhook.diagnose.nodes import read_node
from webhook.kube.connection import Connection
from webhook.kube.resource import Resource
from webhook.world.installed_profiles import CONFIG_MAPS, profiles_of, title

EVENTS = Resource("events", "/api/v1")
NODES = Resource("nodes", "/api/v1")
NAMESPACES = Resource("namespaces", "/api/v1")
LEASES = Resource("leases", "/apis/coordination.k8s.io/v1")
NETWORKS = Resource("network-attachment-definitions", "/apis/k8s.cni.cncf.io/v1")
THREADS = 6
_NAMED = 8
_MOST_ROOTS = 4
"""Owners whose own children's Events are looked for: a JobSet has a Job for each replica, and those make nothing but pods."""


def read_job(
    connection: Connection,
    target: Target,
    namespace: str,
    *,
    profiles: Profiles | None = None,
    system_namespace: str = "fabric-injector",
    progress: Progress = lambda _: None,
) -> Reading:
    """Read what `explain` asks for.

    Raises InputError where there are no such pods or several jobs of the name, Unavailable where the API server does not answer. What
    the caller may not read, but for pods, is named in the result and left out.
    """
    reader = Reader(connection, progress)
    try:
        pods, owner, focus = find_pods(reader, target, namespace)
    except NotRead as problem:
        hint = "; explain reads pods, ask for get and list of them" if problem.status == 403 else ""
        raise InputError(f"{problem}{hint}") from None
    owners = {str(podspec.controller(pod).get("name")) for pod in pods if podspec.controller(pod)} | ({owner} - {""})
    roots = [owner] if owner else sorted(owners)[:_MOST_ROOTS] or [""]
    with ThreadPoolExecutor(THREADS) as pool:
        lease_key = (system_namespace, "fabric-injector")
        space = pool.submit(_part, reader, f"namespace {namespace}", lambda: reader.get(NAMESPACES, "", namespace))
        nodes = pool.submit(_part, reader, "nodes", lambda: tuple(map(read_node, reader.list(NODES))))
        lease = pool.submit(_part, reader, f"Lease {'/'.join(lease_key)}", lambda: reader.get(LEASES, *lease_key) or {})
        of_owners = pool.submit(
            _part, reader, "Events", lambda: reader.list(EVENTS, namespace, fields="involvedObject.kind!=Pod")
        )
        known = pool.submit(_profiles, reader, system_namespace) if profiles is None else None
        of_pods = _part(reader, "Events", lambda: _pod_events(reader, namespace, pods)) if pods else []
        found = space.result()
        labels = None if found is None else dict(podspec.labels(found))
        profiles = known.result() if known else profiles
        wanted = networks_to_read(pods, namespace, labels or {}, profiles)
        networks = dict(filter(None, pool.map(lambda key: _network(reader, key), wanted)))
        neighbours = _neighbours(reader, pool, nodes_to_read(pods, nodes.result() or ()))
        others = of_owners.result()
    events = None
    if of_pods is not None and others is not None:
        events = (*of_pods, *(event for event in others if any(concerns(event, each, owners) for each in roots)))
    if not pods and not events:
        if labels is None and not any(part.what == f"namespace {namespace}" for part in reader.unread):
            raise InputError(f"{target}: namespace {namespace} does not exist; name the job's by -n")
        listed = known_names(reader.list(POD_METADATA, namespace))
        hint = "; name the job's by -n"
        if listed:
            hint = f"; jobs there: {', '.join(listed[:_NAMED])}{', …' if len(listed) > _NAMED else ''}"
        lack = "no Event of an owner of that name" if events is not None else "its Events may not be read"
        raise InputError(f"{target}: namespace {namespace} has no such pod, and {lack}{hint}")
    return Reading(
        str(target),
        namespace,
        reader.now,
        pods=pods,
        owner=owner,
        focus=focus,
        labels=labels,
        labelled=label_time(found) if found else "",
        events=events,
        nodes=nodes.result(),
        neighbours=neighbours,
        networks=networks,
        profiles=profiles,
        lease=lease.result(),
        lease_key=lease_key,
        unread=tuple(dict.fromkeys(reader.unread)),
    )


def _pod_events(reader: Reader, namespace: str, pods: Iterable[Object]) -> list[Object]:
    """Return the Events of these pods that are warnings."""
    listed = {str(pod["metadata"]["name"]) for pod in pods}
    fields = "involvedObject.kind=Pod,type!=Normal"
    if len(listed) == 1:
        fields += f",involvedObject.name={next(iter(listed))}"
    found = reader.list(EVENTS, namespace, fields=fields)
    return [event for event in found if (event.get("involvedObject") or {}).get("name") in listed]


def _part(reader: Reader, what: str, read: Callable[[], Any]) -> Any:
    """Return what *read* does, None where it cannot be read."""
    try:
        return read()
    except (NotRead, Unavailable) as problem:
        reader.unread.append(Unread(what, f"cannot be read, so that part is unknown: {problem}"))
        return None


def _neighbours(reader: Reader, pool: Executor, nodes: Iterable[str]) -> Mapping[str, tuple[Object, ...]] | None:
    """Return the pods of all namespaces on these nodes; None where the caller, as most researchers, may not list them."""

    def read(node: str) -> tuple[str, tuple[Object, ...]]:
        return node, tuple(reader.list(PODS, fields=f"spec.nodeName={node},{LIVE}"))

    try:
        return dict(pool.map(read, nodes))
    except (NotRead, Unavailable):
        return None


def _network(reader: Reader, key: tuple[str, str]) -> tuple[tuple[str, str], Object | None] | None:
    before = len(reader.unread)
    found = _part(reader, f"network {'/'.join(key)}", lambda: reader.get(NETWORKS, *key))
    return (key, found) if found is not None or len(reader.unread) == before else None


def _profiles(reader: Reader, namespace: str) -> Profiles | None:
    unknown = "what pods would get today is unknown; name the file by --profiles"
    try:
        found = reader.get(CONFIG_MAPS, namespace, names.PROFILES_CONFIG_MAP)
    except (NotRead, Unavailable) as problem:
        lack = f"{title(namespace)} cannot be read, so {unknown}: {problem}"
    else:
        try:
            return profiles_of(found, namespace)
        except InputError as error:
            lack = f"{error}, so {unknown}"
        except ProfilesError as error:
            lack = f"{title(namespace)} cannot be used ({error.problems[0]}), so {unknown}"
    reader.unread.append(Unread("profiles", lack))
    return None
