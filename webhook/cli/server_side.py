"""Ask the cluster what it makes of each pod, by creates with ``dryRun=All`` as the caller."""

import json
import re

import jsonpatch

from webhook.core import names, podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.workloads import recognise
from webhook.dry_run import DryRun, PodResult
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection, RequestFailed, Response

_SERVER_FIELDS = frozenset(
    (
        *("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields"),
        *("selfLink", "deletionTimestamp"),
    )
)
_LACKS_RIGHT = re.compile(r'is forbidden: User ".*" cannot create resource "pods" ')
"""How the API server refuses before admission. Source: kubernetes responsewriters/errors.go."""
_UNAUTHORIZED = 401
_CONFLICT = 409


def ask_server(connection: Connection, templates: Templates) -> DryRun:
    """Send each pod; raise Unavailable for no answer, InputError if the caller has no right."""
    pods = tuple(_ask(connection, template) for template in templates.pods)
    return DryRun(pods, templates.ignored)


def _ask(connection: Connection, template: Template) -> PodResult:
    """Create one pod; all that the cluster adds counts, also by its defaults and other webhooks."""
    before = after = _as_new(template.pod)
    response = _create(connection, template.namespace, before)
    problem = "" if response.status < 300 else _problem(response)
    if not problem:
        after = _as_new(response.json())
        if not before["metadata"].get("name"):
            after["metadata"].pop("name", None)
    labels = podspec.labels(after)
    return PodResult(
        source=template.source,
        namespace=template.namespace,
        before=before,
        after=after,
        allowed=not problem,
        message=problem,
        system="" if problem else recognise(before).system,
        job=labels.get(names.JOB, ""),
        rendezvous=labels.get(names.RENDEZVOUS, ""),
        profile=_profile(after),
        warnings=(*template.notes, *response.warnings),
        patch=tuple(jsonpatch.make_patch(before, after).patch),
        workload=template.workload,
        replicas=template.replicas,
    )


def _create(connection: Connection, namespace: str, pod: Object) -> Response:
    path = f"/api/v1/namespaces/{namespace}/pods"
    response = connection.request("POST", path, query={"dryRun": "All"}, body=pod, timeout=30.0)
    if response.status == _UNAUTHORIZED:
        raise InputError(f"{response.problem}; log in to the cluster again")
    return response


def _as_new(pod: Object) -> Object:
    """Return the pod without the fields that an API server sets, so that it can be created."""
    metadata = pod.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in pod.items() if key != "status"}, "metadata": kept}


def _problem(response: Response) -> str:
    """Return the API server's own reason; raise InputError if the caller lacks the right."""
    try:
        message = str(response.json()["message"])
    except (RequestFailed, KeyError):
        message = response.problem
    if _LACKS_RIGHT.search(message):
        raise InputError(f"{message}; --server needs the right to create pods")
    if response.status == _CONFLICT:
        return f"{message}; a pod of this name runs: delete it, or change the workload's name"
    return message


def _profile(pod: Object) -> str:
    try:
        return str(json.loads(podspec.annotations(pod).get(names.STATUS, ""))["profile"])
    except (ValueError, KeyError, TypeError):
        return ""
