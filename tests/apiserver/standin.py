"""A stand-in for the real server, to test the fixtures themselves: it marks every pod with an annotation.

It takes the command line of `fabric-injector serve`, and serves /mutate and /readyz.
"""

import argparse
import base64
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

MARK = "fabric-injector.test/stand-in"


def answer(review: dict[str, Any]) -> dict[str, Any]:
    """Allow the pod of the AdmissionReview, with a warning and a patch that adds the mark."""
    annotations = review["request"]["object"]["metadata"].get("annotations", {})
    patch = [{"op": "add", "path": "/metadata/annotations", "value": {**annotations, MARK: "seen"}}]
    response = {
        "uid": review["request"]["uid"],
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
        "warnings": ["stand-in"],
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


class Handler(BaseHTTPRequestHandler):
    """Answers GET with 200, and POST as an admission webhook does."""

    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        """Say that all is well."""
        self._send(b'"ok"')

    def do_POST(self) -> None:
        """Answer an AdmissionReview."""
        review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._send(json.dumps(answer(review)).encode())

    def _send(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def main() -> None:
    """Serve until the process is ended."""
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    for option in ("--profiles", "--tls-dir", "--listen", "--dry-run-listen", "--metrics-listen"):
        parser.add_argument(option, required=True)
    parser.add_argument("--webhook-configuration")
    options = parser.parse_args()
    admission = _listen(options.listen)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{options.tls_dir}/tls.crt", f"{options.tls_dir}/tls.key")
    admission.socket = context.wrap_socket(admission.socket, server_side=True)
    threading.Thread(target=admission.serve_forever, daemon=True).start()
    _listen(options.metrics_listen).serve_forever()


def _listen(address: str) -> ThreadingHTTPServer:
    host, _, port = address.rpartition(":")
    return ThreadingHTTPServer((host, int(port)), Handler)


if __name__ == "__main__":
    main()
