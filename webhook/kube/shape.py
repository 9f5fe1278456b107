"""Tell an object that has the types which its kind prescribes from one that an API server should never have sent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

from webhook.core.errors import MalformedReview
from webhook.core.pod_check import check_pod
from webhook.core.value_types import BOOLEAN, INTEGER, LIST, OBJECT, STRING

Shape: TypeAlias = "type | tuple[type, ...] | list[Shape] | Mapping[str, Shape]"
"""A type; types of which one; a list of a shape; the fields that matter, ``*`` for all: others, missing and null ones are fine."""

_MAP: Shape = {"*": str}
_QUANTITIES: Shape = {"*": (str, int, float)}
_METADATA: Mapping[str, Shape] = {
    **dict.fromkeys(("name", "generateName", "namespace", "uid", "creationTimestamp", "deletionTimestamp"), str),
    "labels": _MAP,
    "annotations": _MAP,
    "ownerReferences": [{**dict.fromkeys(("apiVersion", "kind", "name", "uid"), str), "controller": bool}],
}
_ENDED: Shape = {**dict.fromkeys(("reason", "message", "startedAt", "finishedAt"), str), "exitCode": int}
_STATE: Shape = {"waiting": {"reason": str, "message": str}, "running": {"startedAt": str}, "terminated": _ENDED}
_CONTAINER_STATUS: Shape = {"name": str, "state": _STATE, "lastState": _STATE}
_CONDITION: Shape = dict.fromkeys(("type", "status", "reason", "message", "lastTransitionTime"), str)
_SELECTOR: Shape = {"matchLabels": _MAP, "matchExpressions": [{"key": str, "operator": str, "values": [str]}]}
_SERVICE: Shape = {"namespace": str, "name": str, "path": str, "port": int}
_WEBHOOK: Shape = {
    "name": str,
    "clientConfig": {"service": _SERVICE, "caBundle": str, "url": str},
    "namespaceSelector": _SELECTOR,
    "objectSelector": _SELECTOR,
    "rules": [{key: [str] for key in ("apiGroups", "apiVersions", "operations", "resources")}],
    "admissionReviewVersions": [str],
    "matchConditions": [{"name": str, "expression": str}],
    "timeoutSeconds": int,
    **dict.fromkeys(("failurePolicy", "matchPolicy", "sideEffects", "reinvocationPolicy"), str),
}
_CONTAINER: Shape = {
    "name": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [{"name": str, "value": str}],
    "volumeMounts": [{"name": str, "mountPath": str}],
}
_CONFIG_MAP_VOLUME: Shape = {"name": str, "items": [{"key": str, "path": str}]}
_TEMPLATE: Shape = {
    "spec": {
        "serviceAccountName": str,
        "containers": [_CONTAINER],
        "initContainers": [_CONTAINER],
        "volumes": [{"name": str, "configMap": _CONFIG_MAP_VOLUME}],
    }
}
_OWNED: Shape = {"f:metadata": {"f:labels": {}}}
_SHAPES: Mapping[str, Mapping[str, Shape]] = {
    "namespaces": {"metadata": {**_METADATA, "managedFields": [{"time": str, "fieldsV1": _OWNED}]}},
    "pods": {
        "spec": {
            "nodeName": str,
            "schedulerName": str,
            "schedulingGates": [{"name": str}],
            "tolerations": [dict.fromkeys(("key", "operator", "value", "effect"), str)],
        },
        "status": {
            **dict.fromkeys(("phase", "reason", "message"), str),
            "conditions": [_CONDITION],
            "containerStatuses": [_CONTAINER_STATUS],
            "initContainerStatuses": [_CONTAINER_STATUS],
        },
    },
    "events": {
        "involvedObject": dict.fromkeys(("kind", "name", "namespace", "uid"), str),
        "source": {"component": str},
        "series": {"lastObservedTime": str},
        "count": int,
        **dict.fromkeys(("reason", "message", "type", "reportingComponent", "lastTimestamp", "eventTime"), str),
    },
    "nodes": {
        "spec": {"unschedulable": bool, "taints": [dict.fromkeys(("key", "value", "effect"), str)]},
        "status": {"allocatable": _QUANTITIES, "conditions": [_CONDITION]},
    },
    "leases": {"spec": {"holderIdentity": str, "renewTime": str, "leaseDurationSeconds": int}},
    "configmaps": {"data": _MAP},
    "secrets": {"data": _MAP},
    "network-attachment-definitions": {"spec": {"config": str}},
    "mutatingwebhookconfigurations": {"webhooks": [_WEBHOOK]},
    "validatingadmissionpolicybindings": {"spec": {"policyName": str}},
    "deployments": {
        "spec": {"replicas": int, "template": _TEMPLATE},
        "status": dict.fromkeys(("readyReplicas", "unavailableReplicas"), int),
    },
    "daemonsets": {
        "spec": {"template": _TEMPLATE},
        "status": dict.fromkeys(("desiredNumberScheduled", "numberReady"), int),
    },
    "resourcequotas": {"spec": {"hard": _QUANTITIES}, "status": {"hard": _QUANTITIES, "used": _QUANTITIES}},
    "localqueues": {"spec": {"clusterQueue": str}},
    "clusterqueues": {"spec": {"resourceGroups": [{"coveredResources": [str]}]}},
    "queues": {"spec": {"capability": _QUANTITIES}},
}

_NAMESPACED = ("pods", "network-attachment-definitions", "deployments", "daemonsets", "resourcequotas", "localqueues")


def misfit(resource: str, obj: object) -> str:
    """Return what is wrong with an object of this resource, ``status.conditions is not a list``; empty where nothing is."""
    if not isinstance(obj, dict):
        return f"it is not {OBJECT}"
    metadata = obj.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not metadata["name"]:
        return "metadata.name is missing"
    if resource in _NAMESPACED and not metadata.get("namespace"):
        return "metadata.namespace is missing"
    problem = _misfit(obj, {"metadata": _METADATA, **_SHAPES.get(resource, {})}, "")
    if problem or resource != "pods":
        return problem
    try:
        check_pod(obj)
    except MalformedReview as error:
        return str(error)
    return ""


def _misfit(value: Any, shape: Shape, where: str) -> str:
    if isinstance(shape, Mapping):
        if not isinstance(value, dict):
            return f"{where} is not {OBJECT}"
        fields = dict.fromkeys(value, shape["*"]) if "*" in shape else shape
        for key, inner in fields.items():
            found = value.get(key)
            if (found is not None or "*" in shape) and (problem := _misfit(found, inner, f"{where}.{key}".lstrip("."))):
                return problem
        return ""
    if isinstance(shape, list):
        if not isinstance(value, list):
            return f"{where} is not {LIST}"
        problems = (_misfit(each, shape[0], f"{where}[{index}]") for index, each in enumerate(value))
        return next(filter(None, problems), "")
    types = shape if isinstance(shape, tuple) else (shape,)
    return "" if type(value) in types else f"{where} is not {_TYPES[types[0]]}"


_TYPES: Mapping[type, str] = {str: STRING, int: INTEGER, bool: BOOLEAN}
