"""Another mutating webhook, which runs after ours and adds a container: it makes the API server call ours again."""

import base64
import json
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .client import Client
from .node.json_server import json_server
from .objects import made
from .pki import Authority
from .webhook import CONFIGURATIONS, calling

CONTAINER: dict[str, Any] = {
    "name": "late",
    "image": "registry.example.com/late:1",
    "env": [{"name": "MASTER_ADDR", "value": "bert-master-0"}],
}


RULE = {"resources": ["pods"], "operations": ["CREATE"]}


def _answer(_: str, review: Any) -> dict[str, Any]:
    patch = [{"op": "add", "path": "/spec/containers/0", "value": CONTAINER}]
    response = {
        "uid": review["request"]["uid"],
        "allowed": True,
        "patchType": "JSONPatch",
        "patch": base64.b64encode(json.dumps(patch).encode()).decode(),
    }
    return {"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response}


@contextmanager
def late_injector(api: Client, folder: Path, namespace: str) -> Iterator[None]:
    """Run the other webhook for one namespace; its configuration's name sorts after ours."""
    authority = Authority("late injector of the tests")
    authority.write(folder)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "tls.crt", folder / "tls.key")
    entry = {
        "name": "late.example.com",
        "rules": [{**RULE, "apiGroups": [""], "apiVersions": ["v1"]}],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
        "admissionReviewVersions": ["v1"],
        "sideEffects": "None",
        "reinvocationPolicy": "Never",
    }
    kind = "admissionregistration.k8s.io/v1 MutatingWebhookConfiguration"
    with json_server(_answer, context) as url:
        configuration = made(kind, "zzz-late-injector", webhooks=[entry])
        api.expect("POST", CONFIGURATIONS, calling(configuration, f"{url}/", authority))
        try:
            yield
        finally:
            api.request("DELETE", f"{CONFIGURATIONS}/zzz-late-injector")
