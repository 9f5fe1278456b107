"""Read the Secret in which the controller keeps authorities, serving certificate and keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from webhook.core import names
from webhook.core.model import Object
from webhook.kube.webhook_configuration import decode

_CERT_MANAGER = "cert-manager.io/"


@dataclass(frozen=True, slots=True)
class TlsSecret:
    """Hold what was read: *asked* by ``certs rotate``; *keeper* names who else keeps it."""

    resource_version: str = ""
    data: Mapping[str, bytes] = field(default_factory=dict)
    asked: str = ""
    keeper: str = ""

    @property
    def exists(self) -> bool:
        """Tell whether there is such a Secret."""
        return bool(self.resource_version)


def read_tls_secret(secret: Object) -> TlsSecret:
    """Read an object; a value that is not base64 counts as empty."""
    metadata, data = secret["metadata"], secret.get("data") or {}
    annotations = metadata.get("annotations") or {}
    return TlsSecret(
        str(metadata.get("resourceVersion", "")),
        {key: decode(value) for key, value in data.items()},
        annotations.get(names.ROTATE, ""),
        "cert-manager" if any(key.startswith(_CERT_MANAGER) for key in annotations) else "",
    )
