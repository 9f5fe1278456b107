"""Read of a configuration of mutating webhooks whom it calls, and what it trusts."""

import base64
import binascii
from dataclasses import dataclass
from ipaddress import ip_address
from urllib.parse import urlsplit

from webhook.core.model import Object

KEEPERS = {
    "cert-manager.io/inject-ca-from": "cert-manager",
    "cert-manager.io/inject-ca-from-secret": "cert-manager",
    "cert-manager.io/inject-apiserver-ca": "cert-manager",
    "service.beta.openshift.io/inject-cabundle": "OpenShift's service CA",
}
"""Annotations of a configuration by which somebody else keeps its caBundle."""


@dataclass(frozen=True, slots=True)
class WebhookEntry:
    """Hold one webhook: *host* as its certificate must name it, empty where it calls nobody."""

    name: str
    host: str
    ca_bundle: bytes


@dataclass(frozen=True, slots=True)
class WebhookConfiguration:
    """Hold what was read; *keeper* names who else keeps the caBundle, empty if nobody."""

    name: str
    resource_version: str
    entries: tuple[WebhookEntry, ...]
    keeper: str = ""


def read_webhook_configuration(configuration: Object) -> WebhookConfiguration:
    """Read an object."""
    metadata = configuration["metadata"]
    annotations = metadata.get("annotations") or {}
    return WebhookConfiguration(
        metadata["name"],
        str(metadata.get("resourceVersion", "")),
        tuple(map(_entry, configuration.get("webhooks") or ())),
        next((keeper for key, keeper in KEEPERS.items() if annotations.get(key)), ""),
    )


def service_host(service: str, namespace: str) -> str:
    """Return the name by which the API server calls a Service."""
    return f"{service}.{namespace}.svc"


def _entry(webhook: Object) -> WebhookEntry:
    client = webhook.get("clientConfig") or {}
    if service := client.get("service"):
        host = service_host(service.get("name", ""), service.get("namespace", ""))
    else:
        host = _host(str(client.get("url") or ""))
    return WebhookEntry(str(webhook.get("name", "")), host, decode(client.get("caBundle")))


def decode(text: object) -> bytes:
    """Decode base64; empty for anything else."""
    try:
        return base64.b64decode(text, validate=True) if isinstance(text, str) else b""
    except (binascii.Error, ValueError):
        return b""


def _host(url: str) -> str:
    """Return the DNS name or the IP address of a URL, empty where no certificate can name it."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return ""
    try:
        return str(ip_address(host))
    except ValueError:
        return host if host.isascii() else ""
