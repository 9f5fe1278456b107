"""Reduce a large AdmissionReview to what the decision reads of it, in a process of its own; its answer is that to the whole one.

A pod that exceeds the bounds is reduced to the part by which it is recognised or left alone, with the sentence that says why.
What stays has at most some ten thousand values, whatever came.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import orjson

from webhook.core import bounds, names, review_fields
from webhook.core.model import Object
from webhook.core.pod_check import is_int64
from webhook.core.review_request import is_new_pod, parse_review

_WHOLE: Any = None
_PLAIN: Any = ""
"""Of this field texts and numbers are read, and whether there is anything."""
_SOME: Any = False
"""Of this field it is read only whether it is empty."""
_UNREAD = "unread"
"""Stands for all fields that are not read: by its having any an object is told from another, as a volume of ours from the user's."""


def _fields(read: Any, *keys: str) -> dict[str, Any]:
    return dict.fromkeys(keys, read)


def _part(decoded: type, **further: Any) -> dict[str, Any]:
    """Return the table of a part, whose fields are named where it is decoded."""
    return {**_fields(_WHOLE, *decoded.__annotations__), **further}


_REFERENCE = _fields(_PLAIN, "apiVersion", "fieldPath", "name", "key")
_VARIABLE = _part(
    review_fields.Variable,
    valueFrom=_fields(_REFERENCE, "fieldRef", "configMapKeyRef", "secretKeyRef", "resourceFieldRef"),
)
_CLAIM = _fields(_PLAIN, "name", "resourceClaimTemplateName")
_RESOURCES = {"limits": _WHOLE, "requests": _WHOLE, "claims": [_CLAIM]}
_SECURITY_CONTEXT = {
    **_fields(_PLAIN, "privileged", "runAsNonRoot", "allowPrivilegeEscalation", "runAsUser", "runAsGroup"),
    **_fields(_WHOLE, *bounds.CONFINEMENTS),
    "capabilities": _fields(_WHOLE, "add", "drop"),
}
_HOOK = {"exec": {"command": _WHOLE}}
_EACH = "*"
"""The key of a table that holds for every key of a map."""
_CONTAINER = _part(
    review_fields.Container,
    env=[_VARIABLE],
    envFrom=_SOME,
    volumeMounts=[_part(review_fields.Mount)],
    volumeDevices=[_part(review_fields.BlockDevice)],
    resources=_RESOURCES,
    securityContext=_SECURITY_CONTEXT,
    **_fields(_HOOK, "livenessProbe", "readinessProbe", "startupProbe"),
    lifecycle={_EACH: _HOOK},
)
_VOLUME = {
    "name": _PLAIN,
    "emptyDir": _fields(_PLAIN, "medium", "sizeLimit"),
    "hostPath": _fields(_PLAIN, "path", "type"),
    "configMap": {**_fields(_PLAIN, "name", "optional", "defaultMode"), "items": _SOME},
    "downwardAPI": {"items": [{"path": _PLAIN, "fieldRef": _REFERENCE}]},
}
_TERM = {"matchExpressions": [{**_fields(_PLAIN, "key", "operator"), "values": _WHOLE}]}
_POD = {
    "metadata": _part(
        review_fields.Metadata,
        ownerReferences=[_fields(_PLAIN, "apiVersion", "kind", "name", "uid", "controller")],
    ),
    "spec": _part(
        review_fields.Spec,
        os=_fields(_PLAIN, "name"),
        securityContext=_fields(_PLAIN, "runAsUser", "runAsNonRoot"),
        resourceClaims=[_CLAIM],
        tolerations=[_fields(_PLAIN, "key", "operator", "value", "effect", "tolerationSeconds")],
        affinity={"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_TERM]}}},
        resources=_RESOURCES,
        volumes=[_VOLUME],
        **_fields([_CONTAINER], "containers", "initContainers"),
    ),
}
"""What is read of a pod, by field: all of it, or what a further table says; of the items of a list what the one in brackets says.

``bounds`` bounds what is kept whole. A field that the decision begins to read is kept whole where it stands in ``review_fields``; one
that stands deeper has to be named here.
"""

_WHOLE_BYTES = 512 << 10
"""Up to this size a review is read whole: escaped characters take five times as long where fields are left out."""
_LABELS = frozenset((*names.OWN_LABELS, names.PROFILE))
_ANNOTATIONS = (*names.OWN_ANNOTATIONS, *names.FOREIGN_STALE_ANNOTATIONS)


def reduce_review(body: bytes, labels: Container[str]) -> bytes:
    """Return what is read of an AdmissionReview v1, for ``answer_reduced``. *labels*: the keys of labels by which profiles are chosen.

    Raises MalformedReview naming what is wrong, as ``answer_review`` does.
    """
    request = parse_review(body, in_part=len(body) > _WHOLE_BYTES)
    kept: Object = {key: request[key] for key in ("uid", "namespace", "name") if request.get(key)}
    kept["dryRun"] = bool(request.get("dryRun"))
    if not is_new_pod(request):
        return orjson.dumps({"request": kept})
    pod = request["object"]
    excess = bounds.excess(pod)
    seen = None
    if excess:
        seen = _kept(bounds.within(pod), _POD)
        pod = _rest(pod, labels)
    else:
        pod = _kept(pod, _POD)
    return orjson.dumps({"request": {**kept, "object": pod}, "excess": excess, "seen": seen})


def _kept(value: Any, read: Any) -> Any:
    """Return the part of *value* that the table *read* names; every item of a list stays at its place."""
    if read is _WHOLE or value is None:
        return value
    if read is _SOME:
        return bool(value)
    if isinstance(read, list) and isinstance(value, list):
        return [_kept(item, read[0]) for item in value]
    if not isinstance(read, dict) or not isinstance(value, dict):  # of another type: only where no type is checked
        return {} if isinstance(value, (dict, list)) or (isinstance(value, int) and not is_int64(value)) else value
    if _EACH in read:
        return {key: _kept(item, read[_EACH]) for key, item in value.items()}
    kept = {key: _kept(value[key], read[key]) for key in read if key in value}
    if len(kept) < len(value):  # null, as there, stands for nothing
        kept[_UNREAD] = True if any(value[key] is not None for key in value.keys() - read.keys()) else None
    return kept


def _rest(pod: Object, labels: Container[str]) -> Object:
    """Return what is read of a pod that exceeds the bounds, besides what is within them: its name, and the keys that are removed."""
    metadata = pod.get("metadata") or {}
    kept: Object = {key: metadata[key][: bounds.LONGEST_NAME] for key in ("name", "generateName") if metadata.get(key)}
    kept["labels"] = {
        key: value[: bounds.LONGEST_LABEL]
        for key, value in (metadata.get("labels") or {}).items()
        if key in _LABELS or key in labels
    }
    annotations = metadata.get("annotations") or {}
    kept["annotations"] = {key: "" for key in _ANNOTATIONS if key in annotations}
    return {"metadata": kept}
