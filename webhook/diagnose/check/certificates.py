"""Compare what the webhook serves with what the API servers trust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from certs.faults import Fault, leaf_of, pair_faults, trust_faults, valid_authorities
from webhook.diagnose.codes import Code
from webhook.diagnose.finding import Finding
from webhook.kube.webhook_configuration import WebhookConfiguration

_REFUSED = "API servers refuse the webhook, and every pod of a labelled namespace"


def check_certificates(
    data: Mapping[str, bytes] | None, title: str, configuration: WebhookConfiguration, now: datetime
) -> Iterator[Finding]:
    """Look at the Secret *title*'s *data* beside the live caBundle; None: it cannot be read, or does not exist."""
    kept = f"; caBundle is kept by {configuration.keeper}" if configuration.keeper else ""
    found = []
    for entry in configuration.entries:
        if not valid_authorities(entry.ca_bundle, now):
            what = "holds no CA that is valid now" if entry.ca_bundle else "is empty"
            action = f"{_keeper(configuration.keeper)} fills it in within seconds: is it running?"
            subject = f"caBundle of {entry.name}"
            found.append(
                Finding("fail", Code.CA_BUNDLE_UNUSABLE, subject, f"{what}: {_REFUSED}", action)
            )
    if data is not None:
        for fault in pair_faults(data, now):
            subject = f"{title}, {fault.subject}"
            found.append(
                Finding("fail", Code.CERTIFICATE_UNUSABLE, subject, fault.message, fault.action)
            )
        known = {finding.subject for finding in found}
        for entry in configuration.entries:
            faults = trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now)
            fresh = (
                fault for fault in faults if fault.subject not in known
            )  # an empty caBundle is told once
            found += [_distrusted(fault, title, configuration.keeper) for fault in fresh]
    if found:
        yield from found
        return
    leaf = leaf_of(data) if data is not None else None
    if leaf is not None:
        ends = f"{leaf.not_valid_after_utc:%Y-%m-%d}"
        yield Finding(
            "ok",
            Code.CERTIFICATE_VALID,
            title,
            f"is valid until {ends}, and caBundle trusts it{kept}",
        )
    else:
        yield Finding(
            "ok",
            Code.CERTIFICATE_VALID,
            f"caBundle of {configuration.name}",
            f"holds a CA that is valid{kept}",
        )


def check_absent(title: str, *, keeper: str) -> Finding:
    """Say what it means that there is no Secret."""
    message = "does not exist: the webhook has no certificate"
    return Finding(
        "fail", Code.CERTIFICATE_MISSING, title, message, f"is {_keeper(keeper)} running?"
    )


def _distrusted(fault: Fault, title: str, keeper: str) -> Finding:
    subject = f"{title}, {fault.subject}" if fault.subject.startswith("tls") else fault.subject
    action = f"{_keeper(keeper)} repairs it within seconds: is it running?"
    return Finding(
        "fail", Code.CERTIFICATE_UNTRUSTED, subject, f"{fault.message}: {_REFUSED}", action
    )


def _keeper(keeper: str) -> str:
    return keeper or "the controller"
