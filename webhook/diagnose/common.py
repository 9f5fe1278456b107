"""Hold what both `check` and `explain` need: codes, selectors, who leads, and refusals."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from webhook.core.cluster.nodes import Shortage
from webhook.core.model import Object
from webhook.diagnose.finding import Code
from webhook.diagnose.wording import duration, seconds_since
from webhook.kube.lease import LeaseRecord

APPLY = "kubectl apply --server-side -f install.yaml (Helm: helm upgrade … --reuse-values)"
"""How an administrator applies the manifests again."""

RESOURCE_NOWHERE = Code(
    "devices/resource-nowhere",
    "No node offers the resource that pods request, so they stay Pending.",
    "start the device plugin that offers it, or correct the resource's name",
)
RESOURCE_TOO_SMALL = Code(
    "devices/resource-too-small",
    "No node offers as much of the resource as one pod requests, so pods stay Pending.",
    "request less in a pod or its profile, or restart a device plugin that has lost devices",
)
RESOURCE_UNLABELLED = Code(
    "devices/resource-unlabelled",
    "No node with enough of the resource has the labels of the pods' nodeSelector.",
    "label the nodes, or correct nodeSelector of the pod, the profile or the network",
)
SHORTAGES: Mapping[Shortage, Code] = {
    Shortage.NOWHERE: RESOURCE_NOWHERE,
    Shortage.TOO_SMALL: RESOURCE_TOO_SMALL,
    Shortage.UNLABELLED: RESOURCE_UNLABELLED,
}
"""The code of each way in which a resource is not offered."""
DRIVER_SILENT = Code(
    "devices/driver-silent",
    "No driver that the DeviceClass names has published a ResourceSlice, so nobody gets a device.",
    "start the driver on the nodes; kubectl get resourceslices shows what is published",
)
NETWORK_MISSING = Code(
    "networks/network-missing",
    "The NetworkAttachmentDefinition does not exist.",
    "create the NetworkAttachmentDefinition, or correct the name",
)
CLAIM_TEMPLATE_MISSING = Code(
    "claims/claim-template-missing",
    "A ResourceClaimTemplate that pods name does not exist, so they stay Pending.",
    "create it or correct the name; for a profile's template, look at the controller's log",
)
NAMESPACE_OBSERVES = Code(
    "namespaces/namespace-observes",
    "The namespace only observes: its pods are neither changed nor denied.",
    "remove label fabric-injector.io/mode to inject pods, then restart the jobs",
)
WEBHOOK_UNREACHABLE = Code(
    "reachability/webhook-unreachable",
    "The API servers cannot reach the webhook, so no pod of a labelled namespace is created.",
    "look at the webhook's pods, Service, certificates, and the API servers' way to its nodes",
)
WEBHOOK_MISSED = Code(
    "injection/webhook-missed",
    "A training pod was created without injection, though it would be injected today.",
    "restart the job; if that does not help, run fabric-injector check",
)
WEBHOOK_OUT_OF_REACH = Code(
    "injection/webhook-out-of-reach",
    "A pod was not injected, since its namespace does not carry the profile label.",
    "label the namespace and restart the job, or add component pod-opt-in",
)
LEASE_STALE = Code(
    "lease/lease-stale",
    "No controller holds the Lease and renews it, so no address is published.",
    "look at the controller's pods and their logs",
)
GRACE_SECONDS = 15
"""How much longer than it lasts a Lease counts as held: a renewal may be on its way."""


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


class LeaseState(NamedTuple):
    """Say whether a controller *leads*, in a *message* without a subject."""

    leads: bool
    message: str


def judge_lease(lease: Object | None, now: datetime) -> LeaseState:
    """Judge a Lease as leader election does: stale once it was not renewed for as long as it lasts.

    None or empty: there is none.
    """
    if not lease:
        return LeaseState(False, "does not exist")
    record = LeaseRecord.of(lease)
    if not record.holder:
        return LeaseState(False, "is held by no controller")
    seconds = seconds_since(record.renewed, now)
    if seconds is None:
        return LeaseState(False, f"is held by {record.holder}, and its renewTime cannot be read")
    if seconds > record.seconds + GRACE_SECONDS:
        ago, lasting = duration(seconds), duration(record.seconds)
        message = f"was last renewed {ago} ago, by {record.holder}, and lasts {lasting}"
        return LeaseState(False, message)
    return LeaseState(True, f"is held by {record.holder}")


# errors of the API server where a webhook has blocked the creation of a pod

_DENIED = re.compile(r'admission webhook "([^"]*)" denied the request: ?(.*)', re.DOTALL)
_NOT_CALLED = re.compile(r'failed calling webhook "([^"]*)": ?(.*)', re.DOTALL)
_STATUS_ERROR = "StatusError{"
_GO_MESSAGE = re.compile(r'\bMessage:"((?:[^"\\]|\\.)*+)(")?', re.DOTALL)
_CUT = "…"


class WebhookRefusal(NamedTuple):
    """Name the *webhook*, and what it answered, or, where it was not *called*, what went wrong."""

    webhook: str
    called: bool
    message: str


def read_refusal(text: str) -> WebhookRefusal | None:
    """Read an API server's message; None for one of something else.

    Source: apiserver pkg/admission/plugin/webhook/errors.
    """
    if denied := _DENIED.search(text):
        return WebhookRefusal(denied[1], True, denied[2])
    if failed := _NOT_CALLED.search(text):
        return WebhookRefusal(failed[1], False, failed[2])
    return None


def api_messages(text: str) -> list[str]:
    """Return the API server's messages in the text of a client, else the *text* itself.

    Volcano prints the errors of all pods at once, as ``&errors.StatusError{… Message:"…", …}``.
    Of one that the end of the Event cuts off, what is there counts where no other is whole, and
    ends in ``…``. Source: fmt's ``%#v`` of apimachinery's StatusError.
    """
    if _STATUS_ERROR not in text:
        return [text]
    found = list(_GO_MESSAGE.finditer(text))
    whole = [_unquoted(each[1]) for each in found if each[2]]
    return whole or [_unquoted(each[1]) + _CUT for each in found] or [text]


def _unquoted(text: str) -> str:
    """Return what Go quoted; it escapes as Python does."""
    plain = text.rstrip("\\").encode("latin-1", "backslashreplace")
    return plain.decode("unicode_escape", "replace").encode("utf-8", "replace").decode()
