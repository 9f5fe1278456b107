"""Compare the live MutatingWebhookConfiguration with what is shipped, by what it does rather than by its text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding, Level

MOST_SECONDS = 10
"""Longest timeout that is not a fault: a webhook that hangs holds every pod of a labelled namespace up for so long."""
NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server puts on every namespace."""
_SHIPPED: Mapping[str, tuple[frozenset[str], Level, Code]] = {
    "failurePolicy": (frozenset({"Fail"}), "warn", Code.FAILURE_POLICY_CHANGED),
    "reinvocationPolicy": (frozenset({"IfNeeded"}), "warn", Code.REINVOCATION_POLICY_CHANGED),
    "matchPolicy": (frozenset({"Equivalent"}), "warn", Code.MATCH_POLICY_CHANGED),
    "sideEffects": (frozenset({"None", "NoneOnDryRun"}), "fail", Code.SIDE_EFFECTS_CHANGED),
}


def entries_of(configuration: Object) -> list[Object]:
    """Return its webhooks."""
    return [each for each in configuration.get("webhooks") or () if isinstance(each, dict)]


def matches_pod_creation(entry: Mapping[str, Any]) -> bool:
    """Tell whether a rule of the webhook covers CREATE of v1 pods."""
    return any(
        _covers(rule.get("apiGroups"), "")
        and _covers(rule.get("apiVersions"), "v1")
        and ({"pods", "*", "*/*"} & set(rule.get("resources") or ()))
        and _covers(rule.get("operations"), "CREATE")
        and rule.get("scope", "*") in ("*", "Namespaced")
        for rule in entry.get("rules") or ()
    )


def reaches(entry: Mapping[str, Any], namespace: Mapping[str, str], pod: Mapping[str, str]) -> bool:
    """Tell whether the webhook is called for a pod with labels *pod* in a namespace with labels *namespace*."""
    return (
        matches_pod_creation(entry)
        and selects(entry.get("namespaceSelector"), namespace)
        and selects(entry.get("objectSelector"), pod)
    )


def check_configuration(
    configuration: Object, own_namespace: str, services: Sequence[str] | None
) -> Iterator[Finding]:
    """Say what differs from what is shipped; *services*: names of the own namespace's, None where they cannot be seen."""
    name = (configuration.get("metadata") or {}).get("name") or ""
    subject = f"MutatingWebhookConfiguration {name}"
    found = [*_reach(configuration, subject, own_namespace)]
    for entry in entries_of(configuration):
        found += _fields(entry, f"{subject}, webhook {entry.get('name')}")
        found += _client(entry, f"{subject}, webhook {entry.get('name')}", own_namespace, services)
    yield from found or [
        Finding("ok", Code.CONFIGURATION_AS_SHIPPED, subject, "selects and behaves as shipped")
    ]


def is_called_for_opted_in_pods(configuration: Object) -> bool:
    """Tell whether a webhook of it is called for pods that carry the label themselves in namespaces that do not."""
    return any(
        reaches(entry, {NAME_LABEL: "training"}, {names.PROFILE: "a"})
        for entry in entries_of(configuration)
    )


def _reach(configuration: Object, subject: str, own_namespace: str) -> Iterator[Finding]:
    labelled = {names.PROFILE: "a", NAME_LABEL: "training"}
    entries = entries_of(configuration)

    def called(namespace: Mapping[str, str], pod: Mapping[str, str] | None = None) -> bool:
        return any(reaches(entry, namespace, pod or {}) for entry in entries)

    if not called(labelled):
        message = f"no webhook of it is called for pods of a namespace with label {names.PROFILE}"
        yield Finding("fail", Code.WEBHOOK_NEVER_CALLED, subject, message)
    if called({NAME_LABEL: "training"}):
        message = "is called for every pod of unlabelled namespaces too: a failure of the webhook stops them"
        yield Finding("fail", Code.UNLABELLED_CALLED, subject, message)
    if called(labelled, {names.PROFILE: names.PROFILE_NONE}):
        message = f"is called for pods that opted out (label {names.PROFILE}: {names.PROFILE_NONE})"
        yield Finding("warn", Code.OPTED_OUT_CALLED, subject, message)
    for namespace in ("kube-system", own_namespace):
        if called({names.PROFILE: "a", NAME_LABEL: namespace}):
            message = f"would be called for pods of {namespace} if somebody labelled it, and could then stop itself"
            action = f"exclude {NAME_LABEL} {namespace} in namespaceSelector"
            yield Finding("warn", Code.SYSTEM_CALLED, subject, message, action)


def _fields(entry: Object, subject: str) -> Iterator[Finding]:
    for field, (right, level, code) in _SHIPPED.items():
        value = entry.get(field)
        if value not in right:
            consequence = code.means[0].lower() + code.means[1:-1]
            yield Finding(level, code, subject, f"{field} is {value}: {consequence}")
    seconds = entry.get("timeoutSeconds")
    if isinstance(seconds, int) and seconds > MOST_SECONDS:
        message = f"timeoutSeconds is {seconds}: a webhook that hangs holds each pod up for so long"
        yield Finding("warn", Code.TIMEOUT_LONG, subject, message)
    if "v1" not in (entry.get("admissionReviewVersions") or ()):
        message = "admissionReviewVersions lacks v1, the only one answered"
        yield Finding("fail", Code.REVIEW_VERSION_MISSING, subject, message)
    if "kubernetes.io/config.mirror" not in str(entry.get("matchConditions")):
        message = "no matchCondition leaves mirror pods alone: a kubelet's static pods in labelled namespaces are sent"
        yield Finding("warn", Code.MIRROR_PODS_CALLED, subject, message)


def _client(
    entry: Object, subject: str, own_namespace: str, services: Sequence[str] | None
) -> Iterator[Finding]:
    client = entry.get("clientConfig") or {}
    service = client.get("service")
    if not service:
        url = client.get("url") or ""
        yield from _path("/" + url.partition("://")[2].partition("/")[2], subject, "url")
        message = f"calls {url}, not a Service: whoever answers there sees and changes every pod that is sent"
        yield Finding("warn", Code.WEBHOOK_BY_URL, subject, message)
        return
    named = f"{service.get('namespace')}/{service.get('name')}"
    if service.get("namespace") != own_namespace:
        message = f"calls Service {named}, and what was looked at is in namespace {own_namespace}"
        action = f"give --system-namespace {service.get('namespace')}"
        yield Finding("warn", Code.WEBHOOK_ELSEWHERE, subject, message, action)
    elif services is not None and service.get("name") not in services:
        yield Finding(
            "fail", Code.SERVICE_MISSING, subject, f"calls Service {named}, which does not exist"
        )
    yield from _path(service.get("path"), subject, "service.path")


def _path(path: object, subject: str, field: str) -> Iterator[Finding]:
    if path != names.MUTATE_PATH:
        action = f"let clientConfig.{field} end in /mutate"
        yield Finding("fail", Code.WEBHOOK_PATH_WRONG, subject, f"calls path {path}", action)


def _covers(listed: object, wanted: str) -> bool:
    return isinstance(listed, list) and (wanted in listed or "*" in listed)


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
