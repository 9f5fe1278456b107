"""Certificates kept on a real API server, under the shipped privileges and policies, while pods are admitted without a break."""

import base64
import os
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from certs.pem import is_signed_by, read_authorities, read_certificates
from certs.rotation import Policy
from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT, Controller, own_token
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.mounts import SECRET, again_and_again, kubelet, secret
from tests.cluster.pki import Authority
from tests.cluster.webhook import CONFIGURATIONS, Webhook
from tests.waiting import wait_until
from webhook.control.certificates.sync import CertificateSettings, CertificateSync
from webhook.core import names
from webhook.kube.connection import connect

CONFIGURATION = f"{CONFIGURATIONS}/{names.WEBHOOK_CONFIGURATION}"
POLICY = Policy(settle=timedelta(seconds=2))
POD = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"generateName": "train-"},
    "spec": {"containers": [{"name": "c", "image": "x"}]},
}


@pytest.fixture
def clean(api: Client, control_plane: ControlPlane, webhook: Webhook) -> Iterator[None]:
    """Install the shipped account; begin without a Secret, with a certificate that is the test's own, and leave no Secret behind."""
    own_token(control_plane)
    api.request("DELETE", SECRET)
    set_ca_bundle(api, webhook.authority.pem)
    webhook.authority.write(webhook.tls_dir)
    written = ssl.PEM_cert_to_DER_cert((webhook.tls_dir / "tls.crt").read_text())
    wait_until(lambda: shown(webhook) == written, "the server to take its first certificate", 20)
    wait_until(lambda: webhook.status("/readyz") == 200, "the server to be ready", 20)
    yield
    api.request("DELETE", SECRET)


@pytest.fixture
def sync(
    clean: None, control_plane: ControlPlane, webhook: Webhook, tmp_path: Path
) -> Iterator[CertificateSync]:
    """The controller's part, with the shipped account, and authorities that settle in two seconds."""
    kubeconfig = control_plane.kubeconfig(tmp_path / "kubeconfig", own_token(control_plane))
    connection = connect({"KUBECONFIG": str(kubeconfig)})
    kept = CertificateSync(
        connection, CertificateSettings(ACCOUNT[0], policy=POLICY), lambda: True, period_seconds=0.5
    )
    kept.start()
    yield kept
    kept.stop()
    connection.close()


def ca_bundle(api: Client) -> bytes:
    (entry,) = api.expect("GET", CONFIGURATION)["webhooks"]
    return base64.b64decode(entry["clientConfig"].get("caBundle", ""))


def set_ca_bundle(api: Client, value: bytes) -> None:
    patch = [
        {
            "op": "add",
            "path": "/webhooks/0/clientConfig/caBundle",
            "value": base64.b64encode(value).decode(),
        }
    ]
    api.expect("PATCH", CONFIGURATION, patch, {"Content-Type": "application/json-patch+json"})


def ask(api: Client, what: str) -> None:
    api.expect("PATCH", SECRET, {"metadata": {"annotations": {names.ROTATE: what}}})


def shown(webhook: Webhook, trusted: bytes | None = None) -> bytes:
    """Return the certificate that a new connection is shown; a client that trusts only *trusted* accepts it or raises."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = trusted is not None
    context.verify_mode = ssl.CERT_NONE if trusted is None else ssl.CERT_REQUIRED
    if trusted is not None:
        context.load_verify_locations(cadata=trusted.decode())
    parts = urlsplit(webhook.url)
    with (
        socket.create_connection((str(parts.hostname), int(parts.port or 0)), 5) as raw,
        context.wrap_socket(raw, server_hostname="127.0.0.1") as connection,
    ):
        found = connection.getpeercert(binary_form=True)
    assert found
    return found


@dataclass
class Traffic:
    """What happened while pods were created and connections opened all the time."""

    admitted: int = 0
    connected: int = 0
    failures: list[str] = field(default_factory=list)


@contextmanager
def traffic(api: Client, webhook: Webhook, namespace: str) -> Iterator[Traffic]:
    """Create pods, and open connections that trust the caBundle of that moment, until the block is left."""
    seen = Traffic()

    def admit() -> None:
        answer = api.create(POD, namespace, dry_run=True)
        seen.admitted += answer.status == 201
        if answer.status != 201:
            seen.failures.append(answer.message)

    def open_connection() -> None:
        trusted = ca_bundle(api)
        try:
            shown(webhook, trusted)
            seen.connected += 1
        except OSError as error:
            seen.failures.append(repr(error))

    with again_and_again(admit, 0.02), again_and_again(open_connection, 0.05):
        yield seen


def test_rotates_three_times_without_a_failed_admission(
    api: Client, webhook: Webhook, sync: CertificateSync, namespace: NamespaceFactory
) -> None:
    where = namespace("shared")
    before = webhook.calls()
    with kubelet(api, webhook.tls_dir, 0.5), traffic(api, webhook, where) as seen:
        first = shown(webhook)
        wait_until(
            lambda: shown(webhook) != first, "the server to take the controller's certificate", 20
        )
        for _ in range(3):
            leaf = shown(webhook)
            ask(api, "authority")
            wait_until(lambda leaf=leaf: shown(webhook) != leaf, "a leaf of the new CA", 20)  # type: ignore[misc]
            (served,) = read_certificates(ssl.DER_cert_to_PEM_cert(shown(webhook)).encode())
            assert is_signed_by(served, read_authorities(ca_bundle(api))[0])
            leaf = shown(webhook)
            ask(api, "serving")
            wait_until(lambda leaf=leaf: shown(webhook) != leaf, "another leaf", 20)  # type: ignore[misc]
        api.expect("DELETE", SECRET)
        leaf = shown(webhook)
        wait_until(lambda: shown(webhook) != leaf, "the repair of the deleted Secret", 20)
        leaf = shown(webhook)
        api.expect("PATCH", SECRET, {"data": {"tls.key": "Z2FyYmFnZQ=="}})
        wait_until(lambda: shown(webhook) != leaf, "the repair of the garbage key", 20)
        time.sleep(1)
    assert seen.failures == []
    assert seen.admitted > 100
    assert seen.connected > 50
    assert webhook.calls() - before >= seen.admitted
    assert (
        len(read_authorities(ca_bundle(api))) == 6
    )  # the test's own, the first, three more, and the one after the loss
    assert webhook.status("/readyz") == 200


def test_repairs_a_stripped_ca_bundle_and_is_not_ready_meanwhile(
    api: Client, webhook: Webhook, sync: CertificateSync
) -> None:
    with kubelet(api, webhook.tls_dir, 0):
        wait_until(
            lambda: len(read_authorities(ca_bundle(api))) == 2,
            "the controller's CA in caBundle",
            20,
        )
        wanted = ca_bundle(api)
        sync.stop()
        set_ca_bundle(api, b"")
        wait_until(lambda: webhook.status("/readyz") == 503, "the server to be not ready", 20)
        wait_until(lambda: "caBundle is empty" in webhook.output(), "the reason", 20)
        set_ca_bundle(api, Authority("nobody").pem)
        wait_until(
            lambda: "is not what caBundle trusts" in webhook.output(), "the other reason", 20
        )
        set_ca_bundle(api, wanted)
        wait_until(lambda: webhook.status("/readyz") == 200, "the server to be ready", 20)


def test_leaves_a_configuration_of_cert_manager_alone(
    api: Client, webhook: Webhook, sync: CertificateSync
) -> None:
    wait_until(lambda: bool(secret(api).get("ca.crt")), "the Secret", 20)
    annotations = {"cert-manager.io/inject-ca-from": "fabric-injector/fabric-injector"}
    api.expect("PATCH", CONFIGURATION, {"metadata": {"annotations": annotations}})
    own = webhook.authority.pem
    time.sleep(1)  # what is on its way is written
    set_ca_bundle(api, own)
    api.expect("DELETE", SECRET)
    time.sleep(7)
    assert (ca_bundle(api), secret(api)) == (own, {})
    api.expect(
        "PATCH",
        CONFIGURATION,
        {"metadata": {"annotations": {"cert-manager.io/inject-ca-from": None}}},
    )


def test_two_controllers_keep_one_set(
    clean: None,
    api: Client,
    control_plane: ControlPlane,
    webhook: Webhook,
    webhook_command: list[str],
    tmp_path: Path,
) -> None:
    """The real processes, and the commands that people use beside them."""
    first = Controller(
        control_plane, tmp_path / "first", webhook_command, ACCOUNT[0], "--certificates=self"
    )
    second = Controller(
        control_plane, tmp_path / "second", webhook_command, ACCOUNT[0], "--certificates=self"
    )
    with first, second:
        wait_until(lambda: len(read_authorities(ca_bundle(api))) == 2, "the CA in caBundle", 30)
        leader = first if first.leads() else second
        wait_until(
            lambda: leader.metric("fabric_injector_certificate_not_after_timestamp_seconds") > 0,
            "the metric",
            10,
        )
        assert leader.metric("fabric_injector_certificate_writes_total", result="error") == 0
        follower = second if leader is first else first
        assert follower.metric("fabric_injector_certificate_writes_total") == 0
        version = api.expect("GET", SECRET)["metadata"]["resourceVersion"]
        time.sleep(6)
        assert api.expect("GET", SECRET)["metadata"]["resourceVersion"] == version
        environment = {
            **os.environ,
            "KUBECONFIG": str(control_plane.kubeconfig(tmp_path / "admin")),
        }
        asked = run([*webhook_command, "certs", "rotate", "--authority"], environment)
        assert asked.returncode == 0, asked.stderr
        wait_until(
            lambda: names.ROTATE not in annotations(api), "the controller to take the request", 20
        )
        told = run([*webhook_command, "certs", "show"], environment)
        assert told.returncode == 1
        assert "WRONG  tls.crt: holds no certificate" in told.stdout
        assert "caBundle   pods.fabric-injector.io: 2 CA, calls 127.0.0.1" in told.stdout
        leader.stop(force=True)
        follower.wait_until_leading()
        api.expect("DELETE", SECRET)
        wait_until(
            lambda: bool(secret(api).get("ca.crt")), "the other controller to repair the Secret", 20
        )


def annotations(api: Client) -> Mapping[str, str]:
    found: Mapping[str, str] = api.expect("GET", SECRET)["metadata"].get("annotations", {})
    return found


def run(command: list[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=60, check=False
    )


def test_tells_once_what_it_may_not(
    clean: None, control_plane: ControlPlane, webhook_command: list[str], tmp_path: Path
) -> None:
    """A controller that may not read the configuration goes on publishing addresses."""
    options = ("--certificates=self", "--webhook-configuration=somebody-else")
    with Controller(control_plane, tmp_path, webhook_command, ACCOUNT[0], *options) as controller:
        controller.wait_until_leading()
        time.sleep(6)
        assert controller.output().count("certificates are not kept") == 1
        assert controller.is_ready()
