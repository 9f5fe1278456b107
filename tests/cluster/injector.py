"""Another mutating webhook, which runs after ours and adds a container: it makes the API server call ours again."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from .client import Client
from .objects import made
from .pki import Authority
from .webhook import CONFIGURATIONS

CONTAINER: dict[str, Any] = {
    "name": "late",
    "image": "registry.example.com/late:1",
    "env": [{"name": "MASTER_ADDR", "value": "bert-master-0"}],
}


RULE = {"resources": ["pods"], "operations": ["CREATE"]}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        patch = [{"op": "add", "path": "/spec/containers/0", "value": CONTAINER}]
        response = {
            "uid": review["request"]["uid"],
            "allowed": True,
            "patchType": "JSONPatch",
            "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        }
        body = json.dumps(
            {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}
        ).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the output clean."""


@contextmanager
def late_injector(api: Client, folder: Path, namespace: str) -> Iterator[None]:
    """Run the other webhook for one namespace; its configuration's name sorts after ours."""
    authority = Authority("late injector of the tests")
    authority.write(folder)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    entry = {
        "name": "late.example.com",
        "clientConfig": {
            "url": f"https://127.0.0.1:{server.server_port}/",
            "caBundle": base64.b64encode(authority.pem).decode(),
        },
        "rules": [{**RULE, "apiGroups": [""], "apiVersions": ["v1"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }
    kind = "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration"
    configuration = made(kind, "zzz-late-injector", webhooks=[entry])
    api.expect("POST", CONFIGURATIONS, configuration)
    try:
        yield
    finally:
        api.request("DELETE", f"{CONFIGURATIONS}/zzz-late-injector")
        server.shutdown()
        server.server_close()
