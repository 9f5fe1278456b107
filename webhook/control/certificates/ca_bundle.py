"""Read from the live configuration which CAs its callers trust, and write those that they are to trust."""

from __future__ import annotations

import base64
from collections.abc import Iterable

from certs.pem import fingerprint, read_authorities
from webhook.control.certificates.secret import written
from webhook.core.model import Object
from webhook.kube.catalogue import WEBHOOK_CONFIGURATIONS
from webhook.kube.connection import Connection
from webhook.kube.webhook_configuration import WebhookConfiguration, WebhookEntry


def trusted_everywhere(entries: Iterable[WebhookEntry]) -> set[str]:
    """Return the fingerprints of the authorities that every entry trusts."""
    trusted = [
        {fingerprint(each) for each in read_authorities(entry.ca_bundle)} for entry in entries
    ]
    return set.intersection(*trusted) if trusted else set()


def ca_bundle_patch(configuration: WebhookConfiguration, ca_bundle: bytes) -> list[Object]:
    """Return the JSON patch for the entries that trust something else; empty if none does. It fits this version of the object only."""
    value = base64.b64encode(ca_bundle).decode()
    changes: list[Object] = [
        {"op": "add", "path": f"/webhooks/{index}/clientConfig/caBundle", "value": value}
        for index, entry in enumerate(configuration.entries)
        if entry.ca_bundle != ca_bundle
    ]
    version = {
        "op": "add",
        "path": "/metadata/resourceVersion",
        "value": configuration.resource_version,
    }
    return [version, *changes] if changes else []


def publish(
    connection: Connection, configuration: WebhookConfiguration, patch: list[Object]
) -> bool:
    """Send the patch; False where somebody else changed the configuration meanwhile. Raises RequestFailed."""
    path = WEBHOOK_CONFIGURATIONS.object_path(("", configuration.name))
    return written(
        connection, "PATCH", path, patch, {"Content-Type": "application/json-patch+json"}
    )
