"""A webhook that lets every pod pass and writes its AdmissionReview down, as it comes from its operator and before ours sees it."""

import base64
import json
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from tests.cluster.client import Client
from tests.cluster.pki import Authority
from tests.cluster.webhook import CONFIGURATIONS, default_configuration
from webhook.core.model import Object

NAME = "zy-recorder"
"""Sorts after the operators' own configurations, and before ours."""


class Reviews:
    """The reviews so far."""

    def __init__(self) -> None:
        self._found: list[Object] = []

    def add(self, review: Object) -> None:
        """Keep a review."""
        self._found.append(review)

    def of(self, namespace: str) -> list[Object]:
        """Give the reviews of a namespace's pods that were really created, in the order in which they came."""
        return [
            one
            for one in self._found
            if one["request"]["namespace"] == namespace and not one["request"].get("dryRun")
        ]

    def pod(self, created: Object) -> Object:
        """Give the pod as it was asked for, of which *created* came; the last where its name was used before."""
        metadata = created["metadata"]
        for review in reversed(self.of(metadata["namespace"])):
            pod: Object = review["request"]["object"]
            asked = pod["metadata"]
            same_name = asked.get("name", metadata["name"]) == metadata["name"]
            if same_name and pod["spec"].get("hostname") == created["spec"].get("hostname"):
                return pod
        raise AssertionError(f"no review of pod {metadata['name']}")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    reviews: Reviews

    def do_POST(self) -> None:
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.reviews.add(review)
        response = {"uid": review["request"]["uid"], "allowed": True}
        answer = {
            "apiVersion": "admission.k8s.io/v1",
            "kind": "AdmissionReview",
            "response": response,
        }
        body = json.dumps(answer).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep the output clean."""


@contextmanager
def recorder(api: Client, folder: Path) -> Iterator[Reviews]:
    """Run it; pods of all namespaces that carry a profile's label go through it."""
    reviews = Reviews()
    authority = Authority("recorder of the tests")
    authority.write(folder)
    server = ThreadingHTTPServer(
        ("127.0.0.1", 0), type("Handler", (_Handler,), {"reviews": reviews})
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    configuration = default_configuration()
    client = {
        "url": f"https://127.0.0.1:{server.server_port}/",
        "caBundle": base64.b64encode(authority.pem).decode(),
    }
    (entry,) = configuration["webhooks"]
    entry |= {"name": "recorder.example.com", "clientConfig": client, "reinvocationPolicy": "Never"}
    configuration["metadata"]["name"] = NAME
    api.expect("POST", CONFIGURATIONS, configuration)
    try:
        yield reviews
    finally:
        api.request("DELETE", f"{CONFIGURATIONS}/{NAME}")
        server.shutdown()
        server.server_close()
