"""Compare what the webhook serves with what the API servers trust."""

from __future__ import annotations

from collections.abc import Iterator

from certs.faults import leaf_of, pair_faults, trust_faults, valid_authorities
from webhook.core import names
from webhook.diagnose.check.needs import configuration
from webhook.diagnose.finding import Code, Finding, ok
from webhook.diagnose.snapshot import Snapshot
from webhook.kube.catalogue import SECRETS
from webhook.kube.tls_secret import read_tls_secret
from webhook.kube.webhook_configuration import read_webhook_configuration

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
