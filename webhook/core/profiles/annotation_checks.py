"""Check the labels and annotations that profiles.yaml names; each raises ValueError with what was found and what is allowed."""

from __future__ import annotations

from webhook.core import names, qualified_name
from webhook.core.profiles.checks import check_label_key
from webhook.core.profiles.grammar import refused

_MAX_LENGTH = 262_144
"""Bytes of all annotations of an object together. Source: k8s.io/apimachinery pkg/api/validation TotalAnnotationSizeLimitB."""
_WRITTEN_ELSEWHERE = {
    names.NETWORKS: "the profile's networks are merged into it; write them under networks",
    names.NETWORK_STATUS: "Multus alone writes it; leave it out",
    names.NETWORKS_STATUS: "Multus alone writes it; leave it out",
}


def check_selecting_label(text: str) -> str:
    """Accept a label's key that is not our own."""
    if text.startswith(names.PREFIX):
        raise refused(text, f"labels of {names.PREFIX} choose for themselves; write another label of the pods")
    return check_label_key(text)


def check_annotation_key(text: str) -> str:
    """Accept an annotation's key, ``[domain/]name``."""
    if not qualified_name.is_label_key(text):
        raise refused(text, f"write an annotation's key: [domain/]name, such as {names.RESOURCE_NAME}")
    return text


def check_set_annotation(text: str) -> str:
    """Accept an annotation's key that neither we nor Multus write."""
    if text.startswith(names.PREFIX):
        raise refused(text, f"annotations of {names.PREFIX} are set by the injector itself; write another key")
    if text in _WRITTEN_ELSEWHERE:
        raise refused(text, _WRITTEN_ELSEWHERE[text])
    return check_annotation_key(text)


def check_annotation_value(text: str) -> str:
    """Accept text that the API server stores."""
    if len(text.encode()) > _MAX_LENGTH:
        raise refused(text, f"write at most {_MAX_LENGTH} bytes, which the API server takes")
    return text
