"""Name the fields that are read of a pod's AdmissionReview, and decode those alone: what is left out is neither made nor freed.

managedFields are a third to a half of what the API server sends. A field that a step begins to read, or to write, has to be named here;
``tests/core/test_review_fields.py`` finds one that is not.
"""

from __future__ import annotations

from typing import Any, TypedDict

import msgspec

from webhook.core.model import Object


class Variable(TypedDict, total=False):
    """Name what is read of an entry of env."""

    name: Any
    value: Any
    valueFrom: Any


class Mount(TypedDict, total=False):
    """Name what is read of a volumeMount."""

    name: Any
    mountPath: Any
    subPathExpr: Any


class BlockDevice(TypedDict, total=False):
    """Name what is read of a volumeDevice."""

    devicePath: Any


class Container(TypedDict, total=False):
    """Name what is read of a container."""

    name: Any
    image: Any
    imagePullPolicy: Any
    restartPolicy: Any
    command: Any
    args: Any
    env: list[Variable] | None
    envFrom: Any
    volumeMounts: list[Mount] | None
    volumeDevices: list[BlockDevice] | None
    resources: Any
    securityContext: Any
    livenessProbe: Any
    readinessProbe: Any
    startupProbe: Any
    lifecycle: Any


class Metadata(TypedDict, total=False):
    """Name what is read of a pod's metadata."""

    name: Any
    generateName: Any
    namespace: Any
    labels: Any
    annotations: Any
    ownerReferences: Any


class Spec(TypedDict, total=False):
    """Name what is read of a pod's spec."""

    hostname: Any
    subdomain: Any
    restartPolicy: Any
    hostNetwork: Any
    hostUsers: Any
    hostIPC: Any
    os: Any
    nodeSelector: Any
    affinity: Any
    tolerations: Any
    securityContext: Any
    resourceClaims: Any
    resources: Any
    volumes: Any
    containers: list[Container] | None
    initContainers: list[Container] | None


class Pod(TypedDict, total=False):
    """Name what is read of a pod."""

    metadata: Metadata | None
    spec: Spec | None


class Request(TypedDict, total=False):
    """Name what is read of a request."""

    uid: Any
    operation: Any
    resource: Any
    subResource: Any
    namespace: Any
    name: Any
    dryRun: Any
    object: Pod | None


class Review(TypedDict, total=False):
    """Name what is read of an AdmissionReview."""

    kind: Any
    apiVersion: Any
    request: Request


_decode = msgspec.json.Decoder(Review).decode


def decode_fields(body: bytes) -> Object | None:
    """Return an AdmissionReview with the fields above alone; None for what is not JSON, or has something else in place of one of them.

    The text of what is left out is not looked at: invalid UTF-8 in it is not found. A number beyond 64 bits is whole.
    """
    try:
        return _decode(body)  # type: ignore[return-value]  # a TypedDict is a dict
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
