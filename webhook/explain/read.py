"""Read a job and what it depends on from the cluster: few lists, in pages, beside each other, and bounded."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import orjson

from webhook import names, podspec
from webhook.errors import InputError, ProfilesError, Unavailable
from webhook.explain.events import concerns
from webhook.explain.judgement import networks_to_read
from webhook.explain.part import read_part
from webhook.explain.reading import Reading, Unread
from webhook.explain.selection import choose, find_jobs, known_names
from webhook.kube.connection import Connection, Response
from webhook.kube.resource import Resource
from webhook.model import Object
from webhook.profiles import Profiles, parse_profiles
from webhook.reconcile.complaint import sibling_selector

Progress = Callable[[str], None]

PODS = Resource("pods", "/api/v1")
POD_METADATA = Resource("pods", "/api/v1", metadata_only=True)
EVENTS = Resource("events", "/api/v1")
NODES = Resource("nodes", "/api/v1")
NAMESPACES = Resource("namespaces", "/api/v1")
CONFIG_MAPS = Resource("configmaps", "/api/v1")
LEASES = Resource("leases", "/apis/coordination.k8s.io/v1")
NETWORKS = Resource("network-attachment-definitions", "/apis/k8s.cni.cncf.io/v1")
PAGE = 500
MOST_PAGES = 40
THREADS = 6
SECONDS = 30.0
_NAMED = 8


@dataclass(frozen=True, slots=True)
class Target:
    """Say what is to be explained: *kind* ``pod``, ``job`` or ``selector``."""

    kind: str
    name: str

    def __str__(self) -> str:
        """Write it as it was given."""
        return f"-l {self.name}" if self.kind == "selector" else f"{self.kind}/{self.name}"


class NotRead(Exception):
    """Say that one part cannot be read; the rest can."""


class Reader:
    """Ask one API server. *progress* is told what was read so far, by any thread."""

    def __init__(self, connection: Connection, progress: Progress = lambda _: None) -> None:
        self._connection, self._progress = connection, progress
        self.now = datetime.now(UTC)
        self.unread: list[Unread] = []

    def list(self, resource: Resource, namespace: str = "", **selectors: str) -> list[Object]:
        """Return all objects, but no more than MOST_PAGES pages; raise NotRead where the caller may not list them."""
        chosen = replace(
            resource,
            label_selector=selectors.get("labels", ""),
            field_selector=selectors.get("fields", ""),
        )
        found: list[Object] = []
        token, size = "", str(PAGE)
        headers = chosen.headers("PartialObjectMetadataList")
        for _ in range(MOST_PAGES):
            query = chosen.query(limit=size, **{"continue": token})
            response = self._get(chosen.path_in(namespace), query, headers)
            if response.status == 410 and size:  # the pages outlived their version: all in one piece
                found, token, size = [], "", ""
                continue
            page = self._object(response)
            if page is None:
                return found
            found += page.get("items") or ()
            self._progress(f"{len(found):,} {resource.name}")
            token = (page.get("metadata") or {}).get("continue") or ""
            if not token:
                return found
        self.unread.append(Unread(resource.name, f"only the first {len(found):,} were read"))
        return found

    def get(self, resource: Resource, namespace: str, name: str) -> Object | None:
        """Return one object, None where it does not exist; raise NotRead where the caller may not get it."""
        return self._object(self._get(resource.object_path((namespace, name)), {}, {}))

    def _get(self, path: str, query: Mapping[str, str], headers: Mapping[str, str]) -> Response:
        response = self._connection.request("GET", path, query=query, headers=headers, timeout=SECONDS)
        with suppress(ValueError, TypeError):  # some proxies drop it; this machine's clock must do then
            self.now = parsedate_to_datetime(response.headers.get("Date") or "")
        if response.status == 401:
            raise InputError(f"{response.problem}; log in to the cluster again")
        return response

    def _object(self, response: Response) -> Object | None:
        if response.status == 404:
            return None
        if response.status != 200:
            raise NotRead(response.problem)
        try:
            value: Any = orjson.loads(response.body)
        except ValueError:
            value = None
        if not isinstance(value, dict):
            raise NotRead(f"{response.request} answered with no JSON object")
        return value


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
        pods, owner, focus = _find_pods(reader, target, namespace)
    except NotRead as problem:
        raise InputError(f"{problem}; explain reads pods, ask for get and list of them") from None
    owners = {str(podspec.controller(pod).get("name")) for pod in pods if podspec.controller(pod)} | ({owner} - {""})
    with ThreadPoolExecutor(THREADS) as pool:
        lease_key = (system_namespace, "fabric-injector")
        space = pool.submit(_part, reader, f"namespace {namespace}", lambda: reader.get(NAMESPACES, "", namespace))
        nodes = pool.submit(_part, reader, "nodes", lambda: tuple(map(_slim_node, reader.list(NODES))))
        lease = pool.submit(_part, reader, f"Lease {'/'.join(lease_key)}", lambda: reader.get(LEASES, *lease_key) or {})
        of_owners = pool.submit(
            _part, reader, "Events", lambda: reader.list(EVENTS, namespace, fields="involvedObject.kind!=Pod")
        )
        known = pool.submit(_profiles, reader, system_namespace) if profiles is None else None
        of_pods = _part(reader, "Events", lambda: _pod_events(reader, namespace, pods)) if pods else []
        labels = None if space.result() is None else dict(podspec.labels(space.result() or {}))
        profiles = known.result() if known else profiles
        wanted = networks_to_read(pods, namespace, labels or {}, profiles)
        networks = dict(filter(None, pool.map(lambda key: _network(reader, key), wanted)))
        others = of_owners.result()
    events = None
    if of_pods is not None and others is not None:
        events = (*of_pods, *(event for event in others if concerns(event, owner, owners)))
    if not pods and not events:
        listed = known_names(reader.list(POD_METADATA, namespace))
        hint = f"; jobs there: {', '.join(listed[:_NAMED])}{', …' if len(listed) > _NAMED else ''}" if listed else ""
        raise InputError(
            f"{target}: namespace {namespace} has no such pod, and no Event of an owner of that name{hint}"
        )
    return Reading(
        str(target),
        namespace,
        reader.now,
        pods=pods,
        owner=owner,
        focus=focus,
        labels=labels,
        events=events,
        nodes=nodes.result(),
        networks=networks,
        profiles=profiles,
        lease=lease.result(),
        lease_key=lease_key,
        unread=tuple(dict.fromkeys(reader.unread)),
    )


def _find_pods(reader: Reader, target: Target, namespace: str) -> tuple[tuple[Object, ...], str, str]:
    """Return the pods that may be of the job, the name of its owner, and the one pod that was asked for."""
    name = target.name
    if target.kind == "selector":
        return tuple(reader.list(PODS, namespace, labels=name)), "", ""
    if target.kind == "pod":
        pod = reader.get(PODS, namespace, name)
        if pod is None:
            return (), name, name
        key = read_part(pod).job
        others = _of_key(reader, namespace, key, pod) if key else ()
        return (pod, *(each for each in others if each["metadata"]["uid"] != pod["metadata"]["uid"])), "", name
    labelled = reader.list(PODS, namespace, labels=f"{names.JOB}={name}")
    if labelled:
        return _with_siblings(reader, namespace, labelled), "", ""
    jobs = find_jobs(reader.list(POD_METADATA, namespace), name)
    if not jobs:
        return (), name, ""
    first = choose(jobs) if len(jobs) == 1 else None
    if first is None:
        live = {str(pod["metadata"]["name"]) for pod in reader.list(POD_METADATA, namespace, fields=_LIVE)}
        for job in jobs:
            job.live = len(live & job.pods.keys())
        first = choose(jobs)
    if first is None:
        listed = "\n".join(f"  job/{job}" for job in jobs)
        raise InputError(f"{target}: {len(jobs)} jobs are named so; name one by its key:\n{listed}")
    if first.key:
        return (
            _with_siblings(reader, namespace, reader.list(PODS, namespace, labels=f"{names.JOB}={first.key}")),
            name,
            "",
        )
    selector = sibling_selector(next(iter(first.pods.values())))
    found = reader.list(PODS, namespace, labels=selector)
    return tuple(pod for pod in found if pod["metadata"]["name"] in first.pods), name, ""


_LIVE = "status.phase!=Succeeded,status.phase!=Failed"


def _of_key(reader: Reader, namespace: str, key: str, pod: Object) -> tuple[Object, ...]:
    return _with_siblings(reader, namespace, reader.list(PODS, namespace, labels=f"{names.JOB}={key}") or [pod])


def _with_siblings(reader: Reader, namespace: str, labelled: list[Object]) -> tuple[Object, ...]:
    """Add the pods of the same job that carry no label of ours: above all a rank 0 that was created before injection."""
    if not labelled:
        return ()
    selector = sibling_selector(labelled[0])
    if not selector:
        return tuple(labelled)
    uids = {podspec.controller(pod).get("uid") for pod in labelled} - {None}
    keys = {read_part(pod).job for pod in labelled[:1]}
    others = reader.list(PODS, namespace, labels=f"{selector},!{names.JOB}")
    same = [pod for pod in others if podspec.controller(pod).get("uid") in uids or read_part(pod).job in keys]
    return (*labelled, *same)


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


def _network(reader: Reader, key: tuple[str, str]) -> tuple[tuple[str, str], Object | None] | None:
    before = len(reader.unread)
    found = _part(reader, f"network {'/'.join(key)}", lambda: reader.get(NETWORKS, *key))
    return (key, found) if found is not None or len(reader.unread) == before else None


def _profiles(reader: Reader, namespace: str) -> Profiles | None:
    what, name = "profiles", f"ConfigMap {namespace}/{names.PROFILES_CONFIG_MAP}"
    unknown = "what pods would get today is unknown; name the file by --profiles"
    try:
        found = reader.get(CONFIG_MAPS, namespace, names.PROFILES_CONFIG_MAP)
        text = ((found or {}).get("data") or {}).get(names.PROFILES_FILE)
        if text is None:
            lack = "does not exist" if found is None else f"holds no {names.PROFILES_FILE}"
            reader.unread.append(Unread(what, f"{name} {lack}, so {unknown}"))
            return None
        return parse_profiles(text)
    except ProfilesError as error:
        reader.unread.append(Unread(what, f"{name} cannot be used ({error.problems[0]}), so {unknown}"))
    except (NotRead, Unavailable) as problem:
        reader.unread.append(Unread(what, f"{name} cannot be read, so {unknown}: {problem}"))
    return None


def _slim_node(node: Object) -> Object:
    """Keep what is looked at: a node lists its images too."""
    status = node.get("status") or {}
    kept = {"allocatable": status.get("allocatable"), "conditions": status.get("conditions")}
    metadata = {"name": node["metadata"]["name"], "labels": node["metadata"].get("labels")}
    return {"metadata": metadata, "status": kept}
