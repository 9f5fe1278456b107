"""Keep Istio's redirection off the secondary networks: its proxy carries neither RDMA nor NCCL."""

import re
from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.injection.row import Row
from webhook.core.model import Decision, Object, Reason
from webhook.core.plan import Plan

STEP: Final = Row("istio")
_TRUE: Final = ("y", "yes", "true", "on")
_PARTS: Final = re.compile(r"[^,\s][^,]*")
"""What stands between commas, if anything does."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Name the pod's secondary interfaces in Istio's excludeInterfaces annotation."""
    key = names.ISTIO_EXCLUDE_INTERFACES
    has_rules = _has(podspec.init_containers(draft.pod), names.ISTIO_INIT_CONTAINER)
    interfaces = [attachment.interface for attachment in plan.attachments if not attachment.default]
    interfaces += plan.other_interfaces
    if not interfaces or not (has_rules or _is_asked(draft.pod, plan)):
        return []
    text = podspec.annotations(draft.pod).get(key) or ""
    there = [part.rstrip() for part in _PARTS.findall(text)]
    excluded = frozenset(there)
    missing = [interface for interface in dict.fromkeys(interfaces) if interface not in excluded]
    if not missing:
        return [STEP.already_there(f"annotation {key} has {', '.join(interfaces)} already")]
    value = ",".join([*there, *missing])
    if has_rules:
        message = (
            f"{names.ISTIO_INIT_CONTAINER} is there already and its rules are fixed; "
            f"put annotation {key}: {value} into the pod's template"
        )
        return [STEP.warned(plan, Reason.ISTIO_INIT, message)]
    draft.set_key(("metadata", "annotations"), key, value)
    return [STEP.added(f"Istio's redirection leaves {', '.join(missing)} alone")]


def _is_asked(pod: Object, plan: Plan) -> bool:
    """Tell whether Istio injects its sidecar, or has: pod's label, its annotation, the namespace.

    Source: istio pkg/kube/inject/inject.go injectRequired; selectors of the istiod chart's
    mutatingwebhook.yaml.
    """
    if _has(podspec.every_container(pod), names.ISTIO_PROXY_CONTAINER):
        return True
    pod_labels, namespace = podspec.labels(pod), plan.namespace.labels
    own = pod_labels.get(names.ISTIO_INJECT)
    if own is None:
        own = podspec.annotations(pod).get(names.ISTIO_INJECT)
    if own and own.lower() not in _TRUE:
        return False
    injection = namespace.get(names.ISTIO_INJECTION)
    if injection is not None:
        return injection == "enabled"
    return bool(own) or names.ISTIO_REVISION in {*namespace, *pod_labels}


def _has(containers: Iterable[Object], name: str) -> bool:
    return any(container.get("name") == name for container in containers)
