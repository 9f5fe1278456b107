"""A webhook that lets every pod pass and keeps its AdmissionReview: after the operators' webhooks, before ours."""

import base64
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.client import Client
from tests.cluster.node.json_server import json_server
from tests.cluster.pki import Authority
from tests.cluster.webhook import CONFIGURATIONS, default_configuration
from webhook.core.model import Object

NAME = "zy-recorder"
"""Sorts after the operators' own configurations, and before ours."""


class Reviews:
    """The reviews so far, of pods that were really created."""

    def __init__(self) -> None:
        self._requests: list[Object] = []

    def answer(self, _: str, review: Any) -> Object:
        """Keep a review, and let its pod pass."""
        if not review["request"].get("dryRun"):
            self._requests.append(review["request"])
        response = {"uid": review["request"]["uid"], "allowed": True}
        kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return {**kind, "response": response}

    def pod(self, created: Object) -> Object:
        """Give the pod as it was asked for, of which *created* came; the last of its name."""
        name, namespace = created["metadata"]["name"], created["metadata"]["namespace"]
        for request in reversed(self._requests):
            pod: Object = request["object"]
            is_named = (
                request["namespace"] == namespace and pod["metadata"].get("name", name) == name
            )
            if is_named and pod["spec"].get("hostname") == created["spec"].get("hostname"):
                return pod
        raise AssertionError(f"no review of pod {name}")


@contextmanager
def recorder(api: Client, folder: Path) -> Iterator[Reviews]:
    """Run it; pods of all namespaces that carry a profile's label go through it."""
    reviews, authority = Reviews(), Authority("recorder of the tests")
    authority.write(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    with json_server(reviews.answer, context) as url:
        client = {"url": f"{url}/", "caBundle": base64.b64encode(authority.pem).decode()}
        configuration = default_configuration()
        (entry,) = configuration["webhooks"]
        entry |= {"name": "recorder.example.com", "clientConfig": client}
        entry["reinvocationPolicy"] = "Never"
        configuration["metadata"]["name"] = NAME
        api.expect("POST", CONFIGURATIONS, configuration)
        try:
            yield reviews
        finally:
            api.request("DELETE", f"{CONFIGURATIONS}/{NAME}")
