"""Read and write one Lease at the API server."""

from __future__ import annotations

from webhook.core.model import Object
from webhook.kube.connection import Connection, RequestFailed
from webhook.kube.resource import Resource

_LEASES = Resource("leases", "/apis/coordination.k8s.io/v1")


class LeaseStore:
    """Keep the Lease *name* of *namespace*. Each method raises RequestFailed where nothing is known of what was done."""

    def __init__(self, connection: Connection, namespace: str, name: str) -> None:
        self._connection = connection
        self._folder = _LEASES.path_in(namespace)
        self._path = _LEASES.object_path((namespace, name))

    def read(self, timeout: float) -> Object | None:
        """Return the Lease; None where there is none."""
        response = self._connection.request("GET", self._path, timeout=timeout)
        if response.status == 404:
            return None
        if response.status != 200:
            raise RequestFailed(response.problem, response.status)
        return response.json()

    def write(self, lease: Object, timeout: float, *, new: bool = False) -> Object | None:
        """Create it where it is *new*, else replace it; return it as it was written, None where another was quicker."""
        method, path = ("POST", self._folder) if new else ("PUT", self._path)
        response = self._connection.request(method, path, body=lease, timeout=timeout)
        if response.status in (404, 409):
            return None
        if response.status not in (200, 201):
            raise RequestFailed(response.problem, response.status)
        return response.json()
