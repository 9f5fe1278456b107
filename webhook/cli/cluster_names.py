"""Ask a cluster for the first few hundred names of one kind, quickly, for shell completion."""

from __future__ import annotations

from collections.abc import Iterator

from webhook.core import names, podspec
from webhook.core.model import Object
from webhook.diagnose.explain.selection import known_names
from webhook.diagnose.job_kinds import JobKind
from webhook.kube.catalogue import FABRIC_PROFILES, NAMESPACES, PODS, UNFINISHED
from webhook.kube.connection import Connection
from webhook.kube.reader import Reader, whole
from webhook.kube.resource import Resource

_MOST = 300
_SECONDS = 0.25
"""For each request: who typed waits for it."""
_NO_JOBS = ("ReplicaSet", "DaemonSet", "Node")
"""Controllers of pods that are no jobs."""


def namespaces(connection: Connection) -> list[str]:
    """Return the names of namespaces. Raises RequestFailed, as all here do."""
    return [_name(each) for each in _first(connection, NAMESPACES)]


def profiles(connection: Connection) -> list[str]:
    """Return the names of FabricProfiles."""
    return [_name(each) for each in _first(connection, FABRIC_PROFILES)]


def pods(connection: Connection, namespace: str) -> list[str]:
    """Return the names of pods."""
    return [_name(each) for each in _first(connection, PODS, namespace)]


def jobs(connection: Connection, namespace: str) -> list[str]:
    """Return the names by which jobs can be asked for."""
    return known_names(each for each in _members(connection, namespace) if not _is_no_job(each))


def jobs_of_kind(kind: JobKind, connection: Connection, namespace: str) -> list[str]:
    """Return the names of the objects of this kind that own pods."""
    return [name for each in _members(connection, namespace) for name in kind.owners(each)]


def _members(connection: Connection, namespace: str) -> Iterator[Object]:
    """Yield the metadata of pods that tell which jobs there are, those of injected ones first."""
    # of a large job its rank 0 is enough; who is not injected may be what is asked about
    for labels in (f"{names.JOB},{names.RENDEZVOUS}!=worker", f"!{names.JOB}"):
        yield from _first(connection, PODS.select(labels=labels, fields=UNFINISHED), namespace)


def _is_no_job(pod: Object) -> bool:
    return podspec.controller(pod).get("kind") in _NO_JOBS


def _first(connection: Connection, resource: Resource, namespace: str = "") -> Iterator[Object]:
    for page in Reader(connection, _SECONDS).pages(resource.metadata, whole, namespace, most=1, size=_MOST):
        yield from page.objects


def _name(obj: Object) -> str:
    return str(obj["metadata"]["name"])
