"""An API server that shows the webhook a client certificate."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from tests.cluster.controlplane import ControlPlane
from tests.cluster.objects import pod
from tests.cluster.pki import Authority, write_private
from tests.cluster.webhook import Webhook
from tests.profiles import as_text

NAME = "kube-apiserver-of-the-tests"
PROFILES = as_text("train: {pods: all}")


@pytest.fixture(scope="module")
def clients() -> Authority:
    return Authority()


def demands(folder: Path, clients: Authority) -> dict[str, str]:
    """Write the profiles and the clients' authority; give the options that let only NAME be served."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "profiles.yaml").write_text(PROFILES)
    (folder / "clients.crt").write_bytes(clients.pem)
    return {
        "FABRIC_INJECTOR_SERVE_CLIENT_CA": str(folder / "clients.crt"),
        "FABRIC_INJECTOR_SERVE_CLIENT_NAME": NAME,
    }


def admission_configuration(folder: Path, clients: Authority, host: str) -> Path:
    """Tell an API server what to show to the webhook at *host*; for a Service that is `fabric-injector.fabric-injector.svc`."""
    shown = clients.write_client(folder / "client", NAME)
    user = {"client-certificate": str(shown / "tls.crt"), "client-key": str(shown / "tls.key")}
    kubeconfig = {"apiVersion": "v1", "kind": "Config", "users": [{"name": host, "user": user}]}
    webhooks = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "WebhookAdmissionConfiguration",
        "kubeConfigFile": str(
            write_private(folder / "webhooks.kubeconfig", yaml.safe_dump(kubeconfig).encode())
        ),
    }
    configuration = {
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AdmissionConfiguration",
        "plugins": [{"name": "MutatingAdmissionWebhook", "configuration": webhooks}],
    }
    return write_private(folder / "admission.yaml", yaml.safe_dump(configuration).encode())


def test_serves_an_api_server_that_shows_its_certificate_and_refuses_another_name(
    programs: None, clients: Authority, tmp_path: Path
) -> None:
    file = tmp_path / "admission.yaml"
    plane = ControlPlane(tmp_path / "plane", f"--admission-control-config-file={file}")
    folder = tmp_path / "webhook"
    webhook = Webhook(plane, folder, folder / "profiles.yaml")
    webhook.environment |= demands(folder, clients)
    admission_configuration(tmp_path, clients, urlsplit(webhook.url).netloc)
    with plane, webhook:
        where = plane.create_namespace("mutual", {"fabric-injector.io/profile": "train"})
        answer = plane.api.create(pod(), where)
        assert answer.status == 201, answer.message
        assert answer.json["metadata"]["annotations"]["fabric-injector.io/status"]
        webhook.stop()
        webhook.environment["FABRIC_INJECTOR_SERVE_CLIENT_NAME"] = "somebody-else"
        webhook.start()
        answer = plane.api.create(pod(), where)
        assert answer.status == 500
        assert "the client certificate carries no allowed name" in answer.message
        assert f"carries {NAME}, and none of the allowed somebody-else" in webhook.output()
        assert webhook.status("/readyz") == 200, "probes show no certificate"
