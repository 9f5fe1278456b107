"""Read and write the Secret that holds authorities, serving certificate and keys."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from datetime import datetime

from webhook.core import names
from webhook.core.model import Object
from webhook.kube.catalogue import SECRETS
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.lease import WRITE_SECONDS
from webhook.kube.reader import Reader
from webhook.kube.tls_secret import TlsSecret, read_tls_secret


class SecretStore:
    """Read and write one Secret; each request is bounded."""

    def __init__(self, connection: Connection, namespace: str, name: str) -> None:
        self.title = f"Secret {namespace}/{name}"
        self._connection = connection
        self._reader = Reader(connection, WRITE_SECONDS)
        self._key = (namespace, name)
        self._path = SECRETS.object_path(self._key)
        self._collection = SECRETS.path_in(namespace)

    def read(self) -> TlsSecret:
        """Ask for it. Raises RequestFailed."""
        return self._reader.find(SECRETS, self._key, read_tls_secret) or TlsSecret()

    @property
    def answered(self) -> datetime | None:
        """Give the API server's time when it was read; None where it told none."""
        return self._reader.answered

    def write(self, known: TlsSecret, data: Mapping[str, bytes]) -> bool:
        """Write the keys of *data*, and that nothing is asked for any more; False where somebody else wrote meanwhile.

        Other keys stay. Raises RequestFailed.
        """
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if known.exists:
            metadata: Object = {"resourceVersion": known.resource_version}
            if known.asked:
                metadata["annotations"] = {names.ROTATE: None}
            method, path, headers = (
                "PATCH",
                self._path,
                {"Content-Type": "application/merge-patch+json"},
            )
            body: Object = {"metadata": metadata, "data": encoded}
        else:
            method, path, headers = "POST", self._collection, {}
            metadata = {
                "name": self._key[1],
                "labels": {"app.kubernetes.io/name": "fabric-injector"},
            }
            body = {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": metadata,
                "type": "Opaque",
                "data": encoded,
            }
        return written(self._connection, method, path, body, headers)

    def ask(self, what: str) -> bool:
        """Ask the controller for a renewal; False where there is no such Secret. Raises RequestFailed."""
        body = {"metadata": {"annotations": {names.ROTATE: what}}}
        headers = {"Content-Type": "application/merge-patch+json"}
        return written(self._connection, "PATCH", self._path, body, headers)


def written(
    connection: Connection,
    method: str,
    path: str,
    body: Object | list[Object],
    headers: Mapping[str, str],
) -> bool:
    """Send a write; False where the object is not, or no more, as it was known. Raises RequestFailed for any other refusal."""
    response = connection.request(method, path, body=body, headers=headers, timeout=WRITE_SECONDS)
    if response.status in (404, 409) and not _is_lacking_namespace(method, response.status):
        return False
    if response.status not in (200, 201):
        raise RequestFailed(response.problem, response.status)
    return True


def _is_lacking_namespace(method: str, status: int) -> bool:
    return (method, status) == ("POST", 404)
