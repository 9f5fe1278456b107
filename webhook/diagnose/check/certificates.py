"""Compare what the webhook serves with what the API servers trust."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime

from certs.faults import Fault, leaf_of, pair_faults, trust_faults, valid_authorities
from webhook.core.finding import Finding
from webhook.kube.webhook_configuration import WebhookConfiguration

TOPIC = "certificates"


def check_certificates(
    data: Mapping[str, bytes] | None, title: str, configuration: WebhookConfiguration, now: datetime
) -> Iterator[Finding]:
    """Look at the Secret *title*'s *data* beside the live caBundle; None: it cannot be read, or does not exist."""
    kept = f"; caBundle is kept by {configuration.keeper}" if configuration.keeper else ""
    found = []
    for entry in configuration.entries:
        if not valid_authorities(entry.ca_bundle, now):
            what = "holds no CA that is valid now" if entry.ca_bundle else "is empty"
            found.append(_untrusting(f"caBundle of {entry.name}", what, configuration.keeper))
    if data is not None:
        found += [_finding(fault, title) for fault in pair_faults(data, now)]
        known = {finding.subject for finding in found}
        for entry in configuration.entries:
            for fault in trust_faults(leaf_of(data), entry.name, entry.ca_bundle, entry.host, now):
                if fault.subject not in known:  # an empty caBundle is told once
                    found.append(_distrusted(fault, title, configuration.keeper))
    if found:
        yield from found
        return
    leaf = leaf_of(data) if data is not None else None
    if leaf is not None:
        ends = f"{leaf.not_valid_after_utc:%Y-%m-%d}"
        yield Finding("ok", TOPIC, title, f"is valid until {ends}, and caBundle trusts it{kept}")
    else:
        yield Finding("ok", TOPIC, f"caBundle of {configuration.name}", f"holds a CA that is valid{kept}")


def check_absent(title: str, *, keeper: str) -> Finding:
    """Say what it means that there is no Secret."""
    who = keeper or "the controller"
    return Finding("fail", TOPIC, title, "does not exist: the webhook has no certificate", f"is {who} running?")


def _finding(fault: Fault, title: str) -> Finding:
    return Finding("fail", TOPIC, f"{title}, {fault.subject}", fault.message, fault.action)


def _untrusting(subject: str, what: str, keeper: str) -> Finding:
    message = f"{what}: API servers refuse the webhook, and every pod of a labelled namespace"
    return Finding(
        "fail", TOPIC, subject, message, f"{keeper or 'the controller'} fills it in within seconds: is it running?"
    )


def _distrusted(fault: Fault, title: str, keeper: str) -> Finding:
    subject = f"{title}, {fault.subject}" if fault.subject.startswith("tls") else fault.subject
    return Finding(
        "fail",
        TOPIC,
        subject,
        f"{fault.message}: API servers refuse the webhook, and every pod of a labelled namespace",
        f"{keeper or 'the controller'} repairs it within seconds: is it running?",
    )
