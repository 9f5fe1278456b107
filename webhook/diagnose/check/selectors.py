"""Tell which labels a Kubernetes label selector chooses."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def selects(selector: object, labels: Mapping[str, str]) -> bool:
    """Tell whether the LabelSelector chooses *labels*; one that is missing or empty chooses all.

    Source: k8s.io/apimachinery pkg/labels/selector.go, Requirement.Matches.
    """
    chosen: Mapping[str, Any] = selector if isinstance(selector, dict) else {}
    equal = (chosen.get("matchLabels") or {}).items() <= labels.items()
    return equal and all(_matches(each, labels) for each in chosen.get("matchExpressions") or ())


def _matches(requirement: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = requirement.get("key") or "", requirement.get("values") or ()
    match requirement.get("operator"):
        case "In":
            return key in labels and labels[key] in values
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False
