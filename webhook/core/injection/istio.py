"""Keep Istio's redirection off the secondary networks: its proxy cannot carry RDMA, nor NCCL's sockets."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from webhook.core import names, podspec
from webhook.core.draft import Draft
from webhook.core.model import Decision, Object, Outcome, Reason
from webhook.core.plan import Plan
from webhook.core.podspec import containers, init_containers, labels

STEP: Final = "istio"

_TRUE: Final = frozenset({"y", "yes", "true", "on"})
_LONGEST: Final = 4
_PARTS: Final = re.compile(r"[^,\s][^,]*")
"""What stands between commas, if anything does."""


def inject(draft: Draft, plan: Plan) -> Iterable[Decision]:
    """Name the pod's secondary interfaces in Istio's excludeInterfaces annotation, where its sidecar is asked for."""
    has_rules = any(
        container.get("name") == names.ISTIO_INIT_CONTAINER
        for container in init_containers(draft.pod)
    )
    if not has_rules and not _is_asked(draft.pod, plan):
        message = "neither namespace nor pod asks for Istio's sidecar"
        return [Decision(STEP, Outcome.SKIPPED, Reason.NO_SIDECAR, message)]
    interfaces = [attachment.interface for attachment in plan.attachments if not attachment.default]
    interfaces += plan.other_interfaces
    if not interfaces:
        return [
            Decision(STEP, Outcome.SKIPPED, Reason.NOT_ASKED, "the pod has no secondary interface")
        ]
    text = podspec.annotations(draft.pod).get(names.ISTIO_EXCLUDE_INTERFACES) or ""
    there = [part.rstrip() for part in _PARTS.findall(text)]
    excluded = frozenset(there)
    missing = [interface for interface in dict.fromkeys(interfaces) if interface not in excluded]
    if not missing:
        message = f"annotation {names.ISTIO_EXCLUDE_INTERFACES} has {', '.join(interfaces)} already"
        return [Decision(STEP, Outcome.KEPT, Reason.ALREADY_THERE, message)]
    value = ",".join([*there, *missing])
    if has_rules:
        message = (
            f"pod {plan.pod_name}: {names.ISTIO_INIT_CONTAINER} is there already and its rules are fixed; "
            f"put annotation {names.ISTIO_EXCLUDE_INTERFACES}: {value} into the pod's template"
        )
        return [Decision(STEP, Outcome.WARNED, Reason.ISTIO_INIT, message)]
    draft.set_key(("metadata", "annotations"), names.ISTIO_EXCLUDE_INTERFACES, value)
    message = f"Istio's redirection leaves {', '.join(missing)} alone"
    return [Decision(STEP, Outcome.INJECTED, Reason.ADDED, message)]


def _is_asked(pod: Object, plan: Plan) -> bool:
    """Tell whether Istio injects its sidecar: the pod's label, else its annotation, else the namespace.

    Source: istio pkg/kube/inject/inject.go injectRequired; selectors of the istiod chart's mutatingwebhook.yaml.
    """
    pod_labels = labels(pod)
    own = pod_labels.get(names.ISTIO_INJECT)
    if own is None:
        own = podspec.annotations(pod).get(names.ISTIO_INJECT)
    if own and (len(own) > _LONGEST or own.lower() not in _TRUE):
        return _has_proxy(pod)
    namespace = plan.namespace.labels
    injection = namespace.get(names.ISTIO_INJECTION)
    if injection is not None:
        return injection == "enabled" or _has_proxy(pod)
    return (
        bool(own)
        or names.ISTIO_REVISION in namespace
        or names.ISTIO_REVISION in pod_labels
        or _has_proxy(pod)
    )


def _has_proxy(pod: Object) -> bool:
    found = (*containers(pod), *init_containers(pod))
    return any(container.get("name") == names.ISTIO_PROXY_CONTAINER for container in found)
