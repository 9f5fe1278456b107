"""Read the request of an AdmissionReview: bytes in, what was asked out, its structure checked."""

from __future__ import annotations

from typing import Any, Final

import orjson

from webhook.core.errors import MalformedReview
from webhook.core.model import Object
from webhook.core.pod_check import check_pod
from webhook.core.pod_types import LONGEST_NAME
from webhook.core.printable import printable

_LONGEST_NAMESPACE: Final = 63
_LONGEST_UID: Final = 256
_POD: Final = {"group": "", "version": "v1", "resource": "pods"}


def parse_review(body: bytes) -> Object:
    """Return the request of an AdmissionReview v1, the structure of its pod checked.

    Raises MalformedReview naming what is wrong, never anything else.
    """
    try:
        review = orjson.loads(body)
    except ValueError as error:
        raise MalformedReview(f"the body is not JSON: {printable(str(error))}") from None
    request = _request_of(review)
    if is_new_pod(request):
        if not request.get("namespace"):
            raise MalformedReview("request.namespace: expected the pod's namespace")
        check_pod(request.get("object"), "request.object")
    return request


def is_new_pod(request: Object) -> bool:
    """Tell whether a request is about a pod that is to be made: nothing else is decided."""
    return (
        request.get("operation") == "CREATE"
        and request.get("resource") == _POD
        and not request.get("subResource")
    )


def _request_of(review: Any) -> Object:
    """Return the request of an AdmissionReview v1; what it is about is not checked."""
    if not isinstance(review, dict):
        raise MalformedReview("expected an AdmissionReview object")
    if review.get("kind") != "AdmissionReview" or review.get("apiVersion") != "admission.k8s.io/v1":
        raise MalformedReview("expected apiVersion admission.k8s.io/v1 and kind AdmissionReview")
    request = review.get("request")
    if not isinstance(request, dict):
        raise MalformedReview("request: expected an object")
    for key in ("uid", "namespace", "name", "operation", "subResource"):
        value = request.get(key)
        if not isinstance(value, str) and (key == "uid" or value is not None):
            raise MalformedReview(f"request.{key}: expected a string")
    if not request["uid"]:
        raise MalformedReview("request.uid: expected a string that is not empty")
    for key, longest in (
        ("uid", _LONGEST_UID),
        ("namespace", _LONGEST_NAMESPACE),
        ("name", LONGEST_NAME),
    ):
        if len(request.get(key) or "") > longest:
            raise MalformedReview(
                f"request.{key}: expected at most {longest} characters, found {len(request[key])}"
            )
    return request
