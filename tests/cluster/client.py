"""A small client for the Kubernetes API: kept-alive connections, plain values, no retries."""

import json
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import urllib3

from tests.waiting import wait_until


class Response(NamedTuple):
    """Status code, headers, and the decoded body (text where it is not JSON)."""

    status: int
    headers: urllib3.HTTPHeaderDict
    json: Any

    @property
    def message(self) -> str:
        """Give the message of a Status object, which an error is answered with."""
        return str(self.json.get("message", "")) if isinstance(self.json, dict) else str(self.json)

    @property
    def warnings(self) -> list[str]:
        """Give the texts of the Warning headers, each as ``299 - "text"``, in order."""
        return [json.loads(each.split(" ", 2)[2]) for each in self.headers.getlist("Warning")]


class RequestFailed(Exception):
    """The API server answered with an error where success was needed; `response` is the answer."""

    def __init__(self, method: str, path: str, response: Response) -> None:
        super().__init__(f"{method} {path}: {response.status} {response.message}")
        self.response = response


class Client:
    """Requests to one API server as one user. Safe to share between threads."""

    def __init__(self, url: str, ca: Path, token: str | None) -> None:
        """Prepare connections to the URL, whose certificate must be of the authority `ca`."""
        tls = ssl.create_default_context(cafile=ca)
        self._pool = urllib3.PoolManager(maxsize=16, retries=False, timeout=30, ssl_context=tls)
        self._url = url
        bearer = {"Authorization": f"Bearer {token}"} if token else {}
        self._headers = {"Accept": "application/json"} | bearer
        self._resources: dict[tuple[str, str], dict[str, Any]] = {}

    def request(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Response:
        """Send one request and give the answer, whatever its status.

        A body of str is sent as it is, any other as JSON; that of a PATCH is a merge patch.
        """
        kind = "application/merge-patch+json" if method == "PATCH" else "application/json"
        sent = {**self._headers, "Content-Type": kind, **(headers or {})}
        data = body if isinstance(body, str) or body is None else json.dumps(body)
        answer = self._pool.request(method, self._url + path, body=data, headers=sent)
        is_json = answer.headers.get("Content-Type", "").startswith("application/json")
        told = json.loads(answer.data) if is_json else answer.data.decode()
        return Response(answer.status, answer.headers, told)

    def expect(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> Any:
        """Send one request, and give the decoded body; RequestFailed unless the status is 2xx."""
        response = self.request(method, path, body, headers)
        if not 200 <= response.status < 300:
            raise RequestFailed(method, path, response)
        return response.json

    def answers(self, path: str) -> bool:
        """Tell whether a GET of the path is answered with 200."""
        try:
            return self.request("GET", path).status == 200
        except (urllib3.exceptions.HTTPError, json.JSONDecodeError):
            return False

    def create(
        self, manifest: Mapping[str, Any], namespace: str | None = None, *, dry_run: bool = False
    ) -> Response:
        """Create the object, in the namespace or in its own; give the answer."""
        path = self.path(manifest, namespace)
        return self.request("POST", f"{path}?dryRun=All" if dry_run else path, manifest)

    def ensure(self, manifest: Mapping[str, Any], namespace: str | None = None) -> None:
        """Create the object unless one of its name exists; RequestFailed on another refusal."""
        response = self.create(manifest, namespace)
        if response.status not in (201, 409):
            raise RequestFailed("POST", self.path(manifest, namespace), response)

    def path(self, manifest: Mapping[str, Any], namespace: str | None = None) -> str:
        """Give the path of the objects of this apiVersion and kind.

        A kind that was just defined is waited for: it answers before discovery names it.
        """
        version, kind = manifest["apiVersion"], manifest["kind"]
        root = f"/apis/{version}" if "/" in version else f"/api/{version}"
        wait_until(lambda: self._is_named(root, kind), f"discovery to name {kind} at {root}")
        resource = self._resources[root, kind]
        if not resource["namespaced"]:
            return f"{root}/{resource['name']}"
        namespace = namespace or manifest["metadata"].get("namespace", "default")
        return f"{root}/namespaces/{namespace}/{resource['name']}"

    def _is_named(self, root: str, kind: str) -> bool:
        if (root, kind) not in self._resources:
            answer = self.request("GET", root)
            for one in answer.json["resources"] if answer.status == 200 else ():
                if "/" not in one["name"]:
                    self._resources[root, one["kind"]] = one
        return (root, kind) in self._resources
