"""A Secret and two webhook configurations as the API server keeps them, without sockets; time is moved by the test."""

import base64
import copy
import json
from collections.abc import Callable
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

import jsonpatch

from tests.certs.simulation import NOW
from webhook.control.certificates.sync import CertificateSettings, CertificateSync
from webhook.kube.connection import Connection, RequestFailed, Response
from webhook.kube.credentials import Credentials

SECRET = "/api/v1/namespaces/fabric-injector/secrets/fabric-injector-tls"
CONFIGURATION = (
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/zz-fabric-injector"
)


class Cluster:
    """Objects by path. `requests` are all that came; `before` is called with each, and may change objects or raise."""

    def __init__(self) -> None:
        self.now = NOW
        self.clock_error = timedelta()
        self.objects: dict[str, dict[str, Any]] = {}
        self.requests: list[tuple[str, str]] = []
        self.before: Callable[[str, str], None] = lambda _method, _path: None
        self._version = 0

    def put(self, path: str, obj: dict[str, Any]) -> None:
        """Write an object, whoever wrote it last."""
        self._version += 1
        metadata = {
            "name": path.rsplit("/", 1)[1],
            **obj.get("metadata", {}),
            "resourceVersion": str(self._version),
        }
        self.objects[path] = {**copy.deepcopy(obj), "metadata": metadata}

    def configure(self, *ca_bundles: bytes, **annotations: str) -> None:
        """Write a configuration with an entry for each caBundle."""
        service = {
            "name": "fabric-injector",
            "namespace": "fabric-injector",
            "path": "/mutate",
            "port": 443,
        }
        entries = [
            {
                "name": f"{number}.fabric-injector.io",
                "clientConfig": {"service": service, **_encoded(each)},
            }
            for number, each in enumerate(ca_bundles)
        ]
        self.put(CONFIGURATION, {"metadata": {"annotations": annotations}, "webhooks": entries})

    @property
    def secret(self) -> dict[str, bytes]:
        """The data of the Secret."""
        return {key: base64.b64decode(value) for key, value in self.objects[SECRET]["data"].items()}

    @property
    def ca_bundles(self) -> list[bytes]:
        """The caBundle of each entry."""
        clients = [each["clientConfig"] for each in self.objects[CONFIGURATION]["webhooks"]]
        return [base64.b64decode(client.get("caBundle", "")) for client in clients]

    def change_secret(self, **changes: bytes | None) -> None:
        """Change keys of the Secret (``_`` for ``.``), or remove them."""
        data = {**self.secret, **{key.replace("_", "."): value for key, value in changes.items()}}
        encoded = {
            key: base64.b64encode(value).decode()
            for key, value in data.items()
            if value is not None
        }
        self.put(SECRET, {**self.objects[SECRET], "data": encoded})

    def annotate(self, path: str, **annotations: str) -> None:
        """Add annotations (the key's name after its prefix)."""
        obj = self.objects[path]
        kept = {**obj["metadata"].get("annotations", {}), **annotations}
        self.put(path, {**obj, "metadata": {**obj["metadata"], "annotations": kept}})

    def answer(self, method: str, path: str, body: Any, headers: Any) -> tuple[int, Any]:
        """Answer as the API server does."""
        self.requests.append((method, path))
        self.before(method, path)
        if method == "POST":
            path = f"{path}/{body['metadata']['name']}"
            if path in self.objects:
                return 409, {"message": "already exists"}
            self.put(path, body)
            return 201, self.objects[path]
        if path not in self.objects:
            return 404, {"message": "not found"}
        if method == "PATCH":
            current = self.objects[path]
            is_merge = headers["Content-Type"] == "application/merge-patch+json"
            patched = _merged(current, body) if is_merge else jsonpatch.apply_patch(current, body)
            if patched["metadata"]["resourceVersion"] != current["metadata"]["resourceVersion"]:
                return 409, {"message": "the object has been modified"}
            self.put(path, patched)
        return 200, self.objects[path]


class FakeConnection(Connection):
    """Send requests to a `Cluster`; those longer than a leader may write for are refused."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__(Credentials("test", "http://127.0.0.1:9"))
        self._cluster = cluster

    def request(self, method: str, path: str, **options: Any) -> Response:
        assert options["timeout"] <= 4
        status, body = self._cluster.answer(
            method, path, options.get("body"), options.get("headers")
        )
        if status >= 500:
            raise RequestFailed(f"{method} {path} answered {status}", status)
        date = format_datetime(self._cluster.now + self._cluster.clock_error, usegmt=True)
        return Response(f"{method} {path}", status, {"Date": date}, json.dumps(body).encode())


class Replica:
    """A controller without a thread, on a cluster's clock."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.leads = True
        self.ends: dict[str, datetime] = {}
        self.sync = CertificateSync(
            FakeConnection(cluster),
            CertificateSettings("fabric-injector"),
            lambda: self.leads,
            on_end=lambda kind, end: self.ends.update({kind: end}),
            monotonic=lambda: (cluster.now - NOW).total_seconds(),
            now=lambda: cluster.now,
        )

    def turn(self) -> float:
        """Work once."""
        return self.sync.turn()

    def run(self, duration: timedelta, period: timedelta = timedelta(seconds=10)) -> None:
        """Work again and again."""
        end = self.cluster.now + duration
        while self.cluster.now < end:
            self.turn()
            self.cluster.now += period
        self.turn()


def _encoded(ca_bundle: bytes) -> dict[str, str]:
    return {"caBundle": base64.b64encode(ca_bundle).decode()} if ca_bundle else {}


def _merged(target: Any, patch: Any) -> Any:
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
