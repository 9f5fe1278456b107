"""Read and write the Secret that holds authorities, serving certificate and keys."""

import base64
from collections.abc import Mapping
from datetime import datetime

from webhook.core import names
from webhook.core.model import Object
from webhook.kube.catalogue import SECRETS
from webhook.kube.connection import WRITE_SECONDS, Connection, Response
from webhook.kube.reader import Reader
from webhook.kube.tls_secret import TlsSecret, read_tls_secret


class SecretStore:
    """Read and write one Secret; each request is bounded."""

    def __init__(self, connection: Connection, namespace: str, name: str) -> None:
        self.title = f"Secret {namespace}/{name}"
        self._connection = connection
        self._reader = Reader(connection, WRITE_SECONDS)
        self._key = (namespace, name)

    def read(self) -> TlsSecret:
        """Ask for it. Raises RequestFailed."""
        return self._reader.find(SECRETS, self._key, read_tls_secret) or TlsSecret()

    @property
    def answered(self) -> datetime | None:
        """Give the API server's time when it was read; None where it told none."""
        return self._reader.answered

    def write(self, known: TlsSecret, data: Mapping[str, bytes]) -> bool:
        """Write the keys of *data*, and that nothing is asked for any more; other keys stay.

        False where somebody else wrote meanwhile. Raises RequestFailed.
        """
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if known.exists:
            metadata: Object = {"resourceVersion": known.resource_version}
            if known.asked:
                metadata["annotations"] = {names.ROTATE: None}
            return self._patch({"metadata": metadata, "data": encoded})
        labels = {"app.kubernetes.io/name": "fabric-injector"}
        body: Object = {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": self._key[1], "labels": labels},
            "type": "Opaque",
            "data": encoded,
        }
        path = SECRETS.path_in(self._key[0])
        response = self._connection.request("POST", path, body=body, timeout=WRITE_SECONDS)
        return was_written(response)

    def ask(self, what: str) -> bool:
        """Ask the controller for a renewal; False where there is no such Secret.

        Raises RequestFailed.
        """
        return self._patch({"metadata": {"annotations": {names.ROTATE: what}}})

    def _patch(self, body: Object) -> bool:
        return was_written(self._connection.patch(SECRETS.object_path(self._key), body))


def was_written(response: Response) -> bool:
    """Return whether a write was done; False where the object is no more as it was known.

    Raises RequestFailed for any refusal that does not say so.
    """
    return response.expect(200, 201, 404, 409).status < 400
