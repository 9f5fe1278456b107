"""Ask the cluster itself what it would make of each pod: it is created with ``dryRun=All``, in the caller's name."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

import jsonpatch

from webhook.core import names, podspec
from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.core.workloads import recognise
from webhook.dry_run import DryRun, PodResult
from webhook.dry_run.returned import comparable
from webhook.dry_run.templates import Template, Templates
from webhook.kube.connection import Connection, RequestFailed, Response

_SERVER_FIELDS = frozenset(
    (
        "uid",
        "resourceVersion",
        "creationTimestamp",
        "generation",
        "managedFields",
        "selfLink",
        "deletionTimestamp",
    )
)
_LACKS_RIGHT = re.compile(r'is forbidden: User ".*" cannot create resource "pods" ')
"""How the API server refuses before admission. Source: kubernetes apiserver endpoints/handlers/responsewriters/errors.go."""
_UNAUTHORIZED = 401
_CONFLICT = 409


def ask_server(connection: Connection, templates: Templates) -> DryRun:
    """Send each pod. Raises Unavailable where no usable answer comes, InputError where the caller may not create pods."""
    return DryRun(
        tuple(_ask(connection, template) for template in templates.pods), templates.ignored
    )


def _ask(connection: Connection, template: Template) -> PodResult:
    sent = _as_new(template.pod)
    response = connection.request(
        "POST",
        f"/api/v1/namespaces/{template.namespace}/pods",
        query={"dryRun": "All"},
        body=sent,
        timeout=30.0,
    )
    if response.status == _UNAUTHORIZED:
        raise InputError(f"{response.problem}; log in to the cluster again")
    warnings = (*template.notes, *response.warnings)
    if response.status >= 300:
        message = _message(response)
        if _LACKS_RIGHT.search(message):
            raise InputError(
                f"{message}; --server creates pods in a dry run, which needs the right to create them"
            )
        return PodResult(
            template.source,
            template.namespace,
            sent,
            sent,
            False,
            message,
            warnings=warnings,
            workload=template.workload,
            replicas=template.replicas,
        )
    returned = comparable(_as_new(response.json()), sent)
    labels = podspec.labels(returned)
    return PodResult(
        template.source,
        template.namespace,
        sent,
        returned,
        True,
        system=recognise(sent).system,
        job=labels.get(names.JOB, ""),
        rendezvous=labels.get(names.RENDEZVOUS, ""),
        profile=_profile(podspec.annotations(returned)),
        warnings=warnings,
        patch=tuple(jsonpatch.make_patch(sent, returned).patch),
        workload=template.workload,
        replicas=template.replicas,
    )


def _as_new(pod: Object) -> Object:
    """Return the pod without the fields that an API server sets, so that it can be created."""
    metadata = {
        key: value
        for key, value in (pod.get("metadata") or {}).items()
        if key not in _SERVER_FIELDS
    }
    return {**{key: value for key, value in pod.items() if key != "status"}, "metadata": metadata}


def _message(response: Response) -> str:
    """Return the API server's own reason, and what to do where a pod of that name exists."""
    try:
        message = str(response.json()["message"])
    except (RequestFailed, KeyError):
        message = response.problem
    if response.status == _CONFLICT:
        return f"{message}; a pod of this name runs: delete it, or change the workload's name, and ask again"
    return message


def _profile(annotations: Mapping[str, str]) -> str:
    try:
        status: Any = json.loads(annotations.get(names.STATUS, ""))
        return str(status["profile"])
    except (ValueError, KeyError, TypeError):
        return ""
