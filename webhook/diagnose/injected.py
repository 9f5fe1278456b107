"""Tell what was injected into a pod, and which pods lack injection: live, not injected, and not left alone on purpose."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from webhook.core import names, podspec
from webhook.core.model import Object


def is_injected(pod: Object) -> bool:
    """Tell whether the webhook has seen the pod, and injected what its profile says."""
    return names.STATUS in podspec.annotations(pod)


def read_injection(pod: Object) -> Mapping[str, Any]:
    """Return what annotation fabric-injector.io/status says; empty where it is missing or unreadable."""
    return _read(podspec.annotations(pod).get(names.STATUS) or "{}")


@lru_cache(maxsize=64)
def _read(text: str) -> Mapping[str, Any]:
    """Read it once for all pods that have the same: it is asked for by each topic."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def lacks_injection(pod: Object) -> bool:
    """Tell a live pod that was not injected and did not opt out."""
    return (
        not is_injected(pod)
        and not podspec.is_ending(pod)
        and podspec.labels(pod).get(names.PROFILE) != names.PROFILE_NONE
    )


def is_out_of_reach(pod: Object, namespace: Mapping[str, str] | None) -> bool:
    """Tell a pod that asks for a profile in a namespace whose labels do not, where the webhook may never be called for it.

    *namespace*: its labels, None for one that is unknown or carries none of ours.
    """
    return names.PROFILE not in (namespace or {}) and names.PROFILE in podspec.labels(pod)
