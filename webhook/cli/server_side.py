"""Ask the cluster what it makes of each pod: create it with ``dryRun=All``, in the caller's name.

The same pod with the label that opts it out shows what the API server and other webhooks do anyway.
"""

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
_TOKEN = re.compile(r"kube-api-access-\w{5}")
"""The volume whose name the API server invents for each request."""
_LACKS_RIGHT = re.compile(r'is forbidden: User ".*" cannot create resource "pods" ')
"""How the API server refuses before admission. Source: kubernetes responsewriters/errors.go."""
_UNAUTHORIZED = 401
_CONFLICT = 409


def ask_server(connection: Connection, templates: Templates) -> DryRun:
    """Send each pod; raise Unavailable for no answer, InputError if the caller has no right."""
    pods = tuple(_ask(connection, template) for template in templates.pods)
    return DryRun(pods, templates.ignored)


def _ask(connection: Connection, template: Template) -> PodResult:
    sent = _as_new(template.pod)
    response = _create(connection, template.namespace, sent)
    problem = "" if response.status < 300 else _problem(response)
    returned = sent if problem else _returned(response, sent)
    before = sent if problem else _without_us(connection, template.namespace, sent)
    labels = podspec.labels(returned)
    return PodResult(
        source=template.source,
        namespace=template.namespace,
        before=before,
        after=before if problem else returned,
        allowed=not problem,
        message=problem,
        system="" if problem else recognise(sent).system,
        job=labels.get(names.JOB, ""),
        rendezvous=labels.get(names.RENDEZVOUS, ""),
        profile=_profile(returned),
        warnings=(*template.notes, *response.warnings),
        patch=tuple(jsonpatch.make_patch(before, returned).patch),
        workload=template.workload,
        replicas=template.replicas,
    )


def _without_us(connection: Connection, namespace: str, sent: Object) -> Object:
    """Return the pod as it is without our webhook; as it was *sent*, if nothing can tell."""
    metadata = sent["metadata"]
    labels = {**(metadata.get("labels") or {}), names.PROFILE: names.PROFILE_NONE}
    without = {**sent, "metadata": {**metadata, "labels": labels}}
    response = _create(connection, namespace, without)
    if response.status >= 300:
        return sent
    returned = _returned(response, sent)
    found = podspec.labels(returned)
    own = {names.PROFILE: podspec.labels(sent).get(names.PROFILE)}
    labels = {key: value for key, value in {**found, **own}.items() if value is not None}
    metadata = {key: value for key, value in returned["metadata"].items() if key != "labels"}
    return {**returned, "metadata": {**metadata, **({"labels": labels} if labels else {})}}


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


def _returned(response: Response, sent: Object) -> Object:
    """Return the created pod, without the names that the API server invents."""
    pod = _as_new(json.loads(_TOKEN.sub("kube-api-access", json.dumps(response.json()))))
    if not sent["metadata"].get("name"):
        pod["metadata"].pop("name", None)
    return pod


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
