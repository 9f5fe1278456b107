"""Read and write the Secret that holds authorities, serving certificate and keys."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime

from webhook.core import names
from webhook.core.model import Object
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.resource import Resource
from webhook.kube.shape import misfit
from webhook.kube.webhook_configuration import decode

SECRETS = Resource("secrets", "/api/v1")
REQUEST_SECONDS = 4.0
"""Time of one request: it has ended before another leader may write."""
_CERT_MANAGER = "cert-manager.io/"


@dataclass(frozen=True, slots=True)
class StoredSecret:
    """Hold what was read: *asked* as ``certs rotate`` wrote it, *answered* the API server's own time, None if it told none."""

    resource_version: str = ""
    data: Mapping[str, bytes] = field(default_factory=dict)
    asked: str = ""
    keeper: str = ""
    answered: datetime | None = None

    @property
    def exists(self) -> bool:
        """Tell whether there is such a Secret."""
        return bool(self.resource_version)


class SecretStore:
    """Read and write one Secret; each request is bounded."""

    def __init__(self, connection: Connection, namespace: str, name: str) -> None:
        self.title = f"Secret {namespace}/{name}"
        self._connection = connection
        self._path = SECRETS.object_path((namespace, name))
        self._collection = SECRETS.path_in(namespace)
        self._name = name

    def read(self) -> StoredSecret:
        """Ask for it. Raises RequestFailed."""
        response = self._connection.request("GET", self._path, timeout=REQUEST_SECONDS)
        answered = _time(response.headers.get("Date", ""))
        if response.status == 404:
            return StoredSecret(answered=answered)
        if response.status != 200:
            raise RequestFailed(response.problem, response.status)
        secret = response.json()
        if problem := misfit("secrets", secret):
            raise RequestFailed(f"{response.request} answered with an object that cannot be read: {problem}")
        metadata, data = secret.get("metadata") or {}, secret.get("data") or {}
        annotations = metadata.get("annotations") or {}
        foreign = any(key.startswith(_CERT_MANAGER) for key in annotations)
        return StoredSecret(
            str(metadata.get("resourceVersion", "")),
            {key: decode(value) for key, value in data.items()},
            str(annotations.get(names.ROTATE, "")),
            "cert-manager" if foreign else "",
            answered,
        )

    def write(self, known: StoredSecret, data: Mapping[str, bytes]) -> bool:
        """Write the keys of *data*, and that nothing is asked for any more; False where somebody else wrote meanwhile.

        Other keys stay. Raises RequestFailed.
        """
        encoded = {key: base64.b64encode(value).decode() for key, value in data.items()}
        if known.exists:
            metadata: Object = {"resourceVersion": known.resource_version}
            if known.asked:
                metadata["annotations"] = {names.ROTATE: None}
            method, path, headers = "PATCH", self._path, {"Content-Type": "application/merge-patch+json"}
            body: Object = {"metadata": metadata, "data": encoded}
        else:
            method, path, headers = "POST", self._collection, {}
            metadata = {"name": self._name, "labels": {"app.kubernetes.io/name": "fabric-injector"}}
            body = {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "type": "Opaque", "data": encoded}
        return written(self._connection, method, path, body, headers)

    def ask(self, what: str) -> bool:
        """Ask the controller for a renewal; False where there is no such Secret. Raises RequestFailed."""
        body = {"metadata": {"annotations": {names.ROTATE: what}}}
        headers = {"Content-Type": "application/merge-patch+json"}
        return written(self._connection, "PATCH", self._path, body, headers)


def written(
    connection: Connection, method: str, path: str, body: Object | list[Object], headers: Mapping[str, str]
) -> bool:
    """Send a write; False where the object is not, or no more, as it was known. Raises RequestFailed for any other refusal."""
    response = connection.request(method, path, body=body, headers=headers, timeout=REQUEST_SECONDS)
    if response.status in (404, 409) and not _is_lacking_namespace(method, response.status):
        return False
    if response.status not in (200, 201):
        raise RequestFailed(response.problem, response.status)
    return True


def _is_lacking_namespace(method: str, status: int) -> bool:
    return (method, status) == ("POST", 404)


def _time(date: str) -> datetime | None:
    try:
        return parsedate_to_datetime(date).astimezone(UTC)
    except (ValueError, TypeError, OverflowError):
        return None
