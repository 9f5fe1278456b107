"""Compare the live MutatingWebhookConfiguration with the shipped one, and its CA by who serves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from certs.faults import leaf_of, pair_faults, trust_faults, valid_authorities
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.needs import configuration, webhooks_of
from webhook.diagnose.common import APPLY, selects
from webhook.diagnose.finding import Code, Finding, Level, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import SECRETS, SERVICES
from webhook.kube.reader import whole
from webhook.kube.tls_secret import read_tls_secret
from webhook.kube.webhook_configuration import read_webhook_configuration

CONFIGURATION_MISSING = Code(
    "configuration/configuration-missing",
    "The MutatingWebhookConfiguration does not exist, so no pod is sent to the webhook.",
    f"apply the manifests: {APPLY}; the configuration comes last",
)
CONFIGURATION_CHANGED = Code(
    "configuration/configuration-changed",
    "The webhook configuration differs from the shipped one.",
    f"apply the shipped configuration again, unless that was chosen: {APPLY}",
)
MOST_SECONDS = 10
"""Longest timeout that is no fault: a webhook that hangs holds up every pod for so long."""
NAME_LABEL = "kubernetes.io/metadata.name"
"""Label that the API server puts on every namespace."""
_LABELLED = {names.PROFILE: "a", NAME_LABEL: "training"}
_UNLABELLED = {NAME_LABEL: "training"}
_SHIPPED: Mapping[str, tuple[tuple[str, ...], Level, str]] = {
    "failurePolicy": (("Fail",), "warn", "during an outage pods train over the pod network"),
    "reinvocationPolicy": (("IfNeeded",), "warn", "containers added later get no devices"),
    "matchPolicy": (("Equivalent",), "warn", "pods of other API versions are not sent"),
    "sideEffects": (("None", "NoneOnDryRun"), "fail", "dry runs of pods are refused"),
}

_Change = tuple[Level, str]


def check_configuration(snapshot: Snapshot) -> Iterator[Finding]:
    """Say what differs from what is shipped."""
    subject = f"MutatingWebhookConfiguration {snapshot.configuration}"
    live = configuration(snapshot)
    if live is None:
        yield CONFIGURATION_MISSING.fail(subject, "does not exist: no pod is sent to the webhook")
        return
    entries = webhooks_of(live)
    changes = [*_reach(entries, snapshot.system_namespace)]
    for entry in entries:
        changes += _fields(entry)
    for level, message in changes:
        yield Finding(level, CONFIGURATION_CHANGED, subject, message)
    services = [one for each in entries for one in _service(snapshot, each, subject)]
    yield from services
    if not changes and not services:
        yield ok("configuration", subject, "selects and behaves as shipped")


def _reach(entries: list[Object], own_namespace: str) -> Iterator[_Change]:
    def called(namespace: Mapping[str, str], pod: Mapping[str, str] | None = None) -> bool:
        return any(reaches(entry, namespace, pod or {}) for entry in entries)

    if not called(_LABELLED):
        yield "fail", f"is not called for pods of a namespace with label {names.PROFILE}"
    if called(_UNLABELLED):
        yield "fail", "is called for every pod of unlabelled namespaces: an outage stops them too"
    if called(_LABELLED, {names.PROFILE: names.PROFILE_NONE}):
        out = f"{names.PROFILE}: {names.PROFILE_NONE}"
        yield "warn", f"is called for pods that opted out (label {out})"
    for namespace in ("kube-system", own_namespace):
        if called({names.PROFILE: "a", NAME_LABEL: namespace}):
            yield "warn", f"does not exclude {namespace}: once labelled, it could stop itself"


def _fields(entry: Object) -> Iterator[_Change]:
    for field, (right, level, consequence) in _SHIPPED.items():
        if (value := entry.get(field)) not in right:
            yield level, f"{field} is {value}, not {right[0]}: {consequence}"
    seconds = entry.get("timeoutSeconds")
    if isinstance(seconds, int) and seconds > MOST_SECONDS:
        yield "warn", f"timeoutSeconds is {seconds}: a webhook that hangs holds up each pod so long"
    if "v1" not in (entry.get("admissionReviewVersions") or ()):
        yield "fail", "admissionReviewVersions lacks v1, the only one answered"
    if "kubernetes.io/config.mirror" not in str(entry.get("matchConditions")):
        yield "warn", "matchConditions do not exclude mirror pods: static pods are sent"
    client = entry.get("clientConfig") or {}
    path = (client.get("service") or {}).get("path")
    if not client.get("service"):
        url = str(client.get("url") or "")
        path = "/" + url.partition("://")[2].partition("/")[2]
        yield "warn", f"calls {url}, not a Service: whoever answers there can change every pod"
    if path != names.MUTATE_PATH:
        yield "fail", f"calls path {path}, not {names.MUTATE_PATH}"


def _service(snapshot: Snapshot, entry: Object, subject: str) -> Iterator[Finding]:
    service = (entry.get("clientConfig") or {}).get("service") or {}
    namespace, name = str(service.get("namespace")), str(service.get("name"))
    own = snapshot.system_namespace
    if not service:
        return
    if namespace != own:
        message = f"calls Service {namespace}/{name}, and check looked at namespace {own}"
        action = f"give --system-namespace {namespace}"
        yield CONFIGURATION_CHANGED.warn(subject, message, action)
    elif snapshot.find(SERVICES, (namespace, name), whole) is None:
        message = f"calls Service {namespace}/{name}, which does not exist"
        yield CONFIGURATION_CHANGED.fail(subject, message)


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
    """Tell whether the webhook is called for a pod with these labels in such a namespace."""
    return (
        matches_pod_creation(entry)
        and selects(entry.get("namespaceSelector"), namespace)
        and selects(entry.get("objectSelector"), pod)
    )


def _covers(listed: object, wanted: str) -> bool:
    return isinstance(listed, list) and (wanted in listed or "*" in listed)


CERTIFICATE_UNUSABLE = Code(
    "certificates/certificate-unusable",
    "The webhook's certificate is missing, expired or not trusted, so API servers refuse pods.",
    "look at the controller's log, or at whoever keeps the certificates",
)
_REFUSED = "API servers refuse the webhook, and every pod of a labelled namespace"


def check_certificates(snapshot: Snapshot) -> Iterator[Finding]:
    """Look at the Secret beside the live caBundle."""
    live = configuration(snapshot)
    if live is None:
        return
    read, now = read_webhook_configuration(live), snapshot.now
    action = f"look at {read.keeper or 'the log of the controller'}, which keeps the certificates"
    faults: dict[str, str] = {}
    for entry in read.entries:
        if not valid_authorities(entry.ca_bundle, now):
            what = "holds no CA that is valid now" if entry.ca_bundle else "is empty"
            faults[f"caBundle of {entry.name}"] = f"{what}: {_REFUSED}"
    for subject, message in faults.items():
        yield CERTIFICATE_UNUSABLE.fail(subject, message, action)
    key = (snapshot.system_namespace, names.TLS_SECRET)
    title = f"Secret {'/'.join(key)}"
    secret = snapshot.find(SECRETS, key, read_tls_secret)
    if secret is None:
        yield CERTIFICATE_UNUSABLE.fail(title, "does not exist", action)
        return
    leaf = leaf_of(secret.data)
    found = [(each.subject, each.message) for each in pair_faults(secret.data, now)]
    for entry in read.entries:
        trust = trust_faults(leaf, entry.name, entry.ca_bundle, entry.host, now)
        known = [each for each in trust if each.subject not in faults]
        found += [(each.subject, f"{each.message}: {_REFUSED}") for each in known]
    for subject, message in found:
        where = f"{title}, {subject}" if subject.startswith("tls") else subject
        yield CERTIFICATE_UNUSABLE.fail(where, message, action)
    if leaf is not None and not found and not faults:
        ends = f"{leaf.not_valid_after_utc:%Y-%m-%d}"
        yield ok("certificates", title, f"is valid until {ends}, and caBundle trusts it")
