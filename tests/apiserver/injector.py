"""Another mutating webhook, which runs before or after ours and changes pods by a JSON patch."""

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cluster.client import Client
from tests.cluster.node.json_server import json_server
from tests.cluster.objects import made
from tests.cluster.pki import Authority
from tests.cluster.webhook import CONFIGURATIONS, calling
from webhook.core.model import Object

KIND = "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration"
RULE = {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}
BEFORE, AFTER = "aaa-injector", "zzz-injector"
"""Names of configurations: the API server calls webhooks in their order."""


@contextmanager
def other_injector(
    api: Client, folder: Path, namespace: str, name: str, patch: list[Object]
) -> Iterator[None]:
    """Run the other webhook for one namespace."""

    def answer(_: str, review: Any) -> Object:
        encoded = base64.b64encode(json.dumps(patch).encode()).decode()
        response = {"uid": review["request"]["uid"], "allowed": True}
        response |= {"patchType": "JSONPatch", "patch": encoded}
        kind = {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}
        return kind | {"response": response}

    authority = Authority()
    authority.write(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    entry = {
        "name": f"{name}.example.com",
        "rules": [RULE],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }
    with json_server(answer, context) as url:
        configuration = calling(made(KIND, name, webhooks=[entry]), f"{url}/", authority)
        api.expect("POST", CONFIGURATIONS, configuration)
        try:
            yield
        finally:
            api.request("DELETE", f"{CONFIGURATIONS}/{name}")
