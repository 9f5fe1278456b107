"""Look at the ValidatingWebhookConfiguration: whether mistakes in labels and profiles are told to who makes them.

It fails open, so that nothing of it is a failure, but for an entry that does not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

from certs.faults import leaf_of, trust_faults, valid_authorities
from webhook.core import names
from webhook.core.model import Object
from webhook.diagnose.check.configuration import entries_of
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.kube.webhook_configuration import read_webhook_configuration

_RESOURCES = ("namespaces", "fabricprofiles", "configmaps")


def check_validation(
    configuration: Object | None,
    name: str,
    own_namespace: str,
    services: Sequence[str] | None,
    data: Mapping[str, bytes] | None,
    now: datetime,
) -> Iterator[Finding]:
    """Say what differs from what is shipped; *services* and *data*, the Secret's, are None where they cannot be seen."""
    subject = f"ValidatingWebhookConfiguration {name}"
    if configuration is None:
        yield Finding("warn", Code.VALIDATION_MISSING, subject, "does not exist")
        return
    found = [*_rules(configuration, subject)]
    for entry in entries_of(configuration):
        found += _entry(entry, f"{subject}, webhook {entry.get('name')}", own_namespace, services)
    found += _trust(configuration, subject, data, now)
    yield from found or [Finding("ok", Code.VALIDATION_AS_SHIPPED, subject, "tells mistakes to who makes them")]


def _rules(configuration: Object, subject: str) -> Iterator[Finding]:
    rules = [rule for entry in entries_of(configuration) for rule in entry.get("rules") or ()]
    seen = {resource for rule in rules for resource in rule.get("resources") or ()}
    for resource in _RESOURCES:
        if not {resource, "*"} & seen:
            yield Finding("warn", Code.VALIDATION_INCOMPLETE, subject, f"has no rule for {resource}")


def _entry(entry: Object, subject: str, own_namespace: str, services: Sequence[str] | None) -> Iterator[Finding]:
    if entry.get("failurePolicy") != "Ignore":
        message = f"failurePolicy is {entry.get('failurePolicy')}: while the webhook is away, nobody changes what it is called for"
        yield Finding("fail", Code.VALIDATION_FAILS_CLOSED, subject, message)
    client = entry.get("clientConfig") or {}
    service = client.get("service")
    if not service:
        path = "/" + str(client.get("url") or "").partition("://")[2].partition("/")[2]
    else:
        path = service.get("path")
        named = f"{service.get('namespace')}/{service.get('name')}"
        if service.get("namespace") != own_namespace or (services is not None and service.get("name") not in services):
            message = f"calls Service {named}, which is not one of namespace {own_namespace}"
            yield Finding("warn", Code.VALIDATION_ELSEWHERE, subject, message)
    if path != names.VALIDATE_PATH:
        yield Finding("warn", Code.VALIDATION_ELSEWHERE, subject, f"calls path {path}, and not {names.VALIDATE_PATH}")


def _trust(configuration: Object, subject: str, data: Mapping[str, bytes] | None, now: datetime) -> Iterator[Finding]:
    for entry in read_webhook_configuration(configuration).entries:
        told = f"{subject}, webhook {entry.name}"
        if not valid_authorities(entry.ca_bundle, now):
            what = "caBundle holds no CA that is valid now" if entry.ca_bundle else "caBundle is empty"
            yield Finding("warn", Code.VALIDATION_DISTRUSTED, told, what)
        elif data is not None and leaf_of(data) is not None:
            for fault in trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now):
                yield Finding("warn", Code.VALIDATION_DISTRUSTED, told, fault.message)
