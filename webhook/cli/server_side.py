"""Ask the cluster what it makes of each pod, by creates with ``dryRun=All`` as the caller."""

import re
from dataclasses import replace

import jsonpatch

from webhook.core import names, podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.review import Verdict
from webhook.core.workloads import recognise
from webhook.diagnose.jobs import ObservedPod
from webhook.dry_run import DryRun, PodResult, pod_result
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection, RequestFailed, Response

_SERVER_FIELDS = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_LACKS_RIGHT = re.compile(r'is forbidden: User ".*" cannot create resource "pods" ')
"""How the API server refuses before admission. Source: kubernetes responsewriters/errors.go."""


def ask_server(connection: Connection, templates: Templates) -> DryRun:
    """Send each pod; raise Unavailable for no answer, InputError if the caller has no right."""
    pods = tuple(_ask(connection, template) for template in templates.pods)
    return DryRun(pods, templates.ignored)


def _ask(connection: Connection, template: Template) -> PodResult:
    """Create one pod; all that the cluster adds counts, also by its defaults and other webhooks."""
    before = after = _as_new(template.pod)
    path = f"/api/v1/namespaces/{template.namespace}/pods"
    response = connection.request("POST", path, query={"dryRun": "All"}, body=before, timeout=30.0)
    refusal = "" if response.status < 300 else _refusal(response)
    if not refusal:
        after = _as_new(response.json())
        if not before["metadata"].get("name"):
            after["metadata"].pop("name", None)
    labels = podspec.labels(after)
    verdict = Verdict(
        not refusal,
        after,
        jsonpatch.make_patch(before, after).patch,
        decisions=(),
        reason="",
        message=refusal,
        warnings=response.warnings,
        system="" if refusal else recognise(before).system,
        job=labels.get(names.JOB, ""),
        role=labels.get(names.RENDEZVOUS, ""),
        profile=str(ObservedPod(after).status.get("profile", "")),
    )
    return pod_result(replace(template, pod=before), verdict)


def _as_new(pod: Object) -> Object:
    """Return the pod without the fields that an API server sets, so that it can be created."""
    metadata = pod.get("metadata") or {}
    kept = {key: value for key, value in metadata.items() if key not in _SERVER_FIELDS}
    return {**{key: value for key, value in pod.items() if key != "status"}, "metadata": kept}


def _refusal(response: Response) -> str:
    """Return the API server's own reason; raise InputError where the caller lacks the right."""
    if response.status == 401:
        raise InputError(f"{response.problem}; log in to the cluster again")
    try:
        message = str(response.json()["message"])
    except (RequestFailed, KeyError):
        message = response.problem
    if _LACKS_RIGHT.search(message):
        raise InputError(f"{message}; --server needs the right to create pods")
    if response.status == 409:
        return f"{message}; a pod of this name runs: delete it, or change the workload's name"
    return message
