"""Certificates kept on a real API server, under the shipped privileges and policies, while pods are admitted without a break."""

import base64
import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from urllib.parse import urlsplit

import pytest

from certs.pem import is_signed_by, read_authorities, read_certificates
from certs.rotation import Policy
from tests.apiserver.mounts import SECRET, kubelet
from tests.apiserver.traffic import Traffic
from tests.cluster import jobs
from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT, own_token
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.nodes import again_and_again
from tests.cluster.webhook import CONFIGURATIONS, Webhook
from tests.profiles import as_text
from tests.waiting import wait_until
from webhook.control.certificates.sync import CertificateSettings, CertificateSync
from webhook.core import names

CONFIGURATION = f"{CONFIGURATIONS}/{names.WEBHOOK_CONFIGURATION}"
POLICY = Policy(settle=timedelta(seconds=2))
PROFILES = f"{jobs.PROFILES}---\n{as_text('all: {pods: all}')}"


@pytest.fixture
def clean(api: Client, control_plane: ControlPlane, webhook: Webhook) -> Iterator[None]:
    """Install the shipped account; begin without a Secret, with a certificate that is the test's own, and leave no Secret behind."""
    own_token(control_plane)
    api.request("DELETE", SECRET)
    set_ca_bundle(api, webhook.authority.pem)
    webhook.authority.write(webhook.tls_dir)
    written = ssl.PEM_cert_to_DER_cert((webhook.tls_dir / "tls.crt").read_text())
    wait_until(lambda: shown(webhook) == written, "the server to take its first certificate")
    wait_until(lambda: webhook.status("/readyz") == 200, "the server to be ready")
    yield
    api.request("DELETE", SECRET)


@pytest.fixture
def sync(clean: None, control_plane: ControlPlane) -> Iterator[CertificateSync]:
    """The controller's part, with the shipped account, and authorities that settle in two seconds."""
    settings = CertificateSettings(ACCOUNT[0], policy=POLICY)
    with control_plane.connection(own_token(control_plane)) as connection:
        kept = CertificateSync(connection, settings, lambda: True, period_seconds=0.5)
        kept.start()
        yield kept
        kept.stop()


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


@contextmanager
def connections(api: Client, webhook: Webhook) -> Iterator[list[str]]:
    """Open connections that trust the caBundle of that moment until the block is left; give how each ended."""
    ends: list[str] = []

    def open_connection() -> None:
        trusted = ca_bundle(api)
        try:
            shown(webhook, trusted)
            ends.append("")
        except OSError as error:
            ends.append(repr(error))

    with again_and_again(open_connection, 0.05):
        yield ends


def wait_for_another(webhook: Webhook, before: bytes, what: str) -> bytes:
    """Wait until the server shows another certificate than before; give it."""
    wait_until(lambda: shown(webhook) != before, what)
    return shown(webhook)


def test_rotates_twice_without_a_failed_admission(
    api: Client, webhook: Webhook, sync: CertificateSync, namespace: NamespaceFactory
) -> None:
    where = namespace("all")
    before = webhook.calls()
    with (
        kubelet(api, webhook.tls_dir, 0.5),
        Traffic(api, where, "all") as traffic,
        connections(api, webhook) as ends,
    ):
        leaf = wait_for_another(webhook, shown(webhook), "the controller's certificate")
        for _ in range(2):
            ask(api, "authority")
            leaf = wait_for_another(webhook, leaf, "a leaf of the new CA")
            (served,) = read_certificates(ssl.DER_cert_to_PEM_cert(leaf).encode())
            assert is_signed_by(served, read_authorities(ca_bundle(api))[0])
            ask(api, "serving")
            leaf = wait_for_another(webhook, leaf, "another leaf")
        api.expect("DELETE", SECRET)
        leaf = wait_for_another(webhook, leaf, "the repair of the deleted Secret")
        api.expect("PATCH", SECRET, {"data": {"tls.key": "Z2FyYmFnZQ=="}})
        wait_for_another(webhook, leaf, "the repair of the garbage key")
        admitted, connected = traffic.admitted, len(ends)
        wait_until(
            lambda: traffic.admitted > admitted + 5 and len(ends) > connected + 5,
            "admissions and connections by the last certificate",
        )
    assert traffic.failures == []
    assert set(ends) == {""}
    assert webhook.calls() - before >= traffic.admitted
    authorities = read_authorities(ca_bundle(api))
    assert len(authorities) == 5, "the test's own, the first, two more, the one after the loss"
    assert webhook.status("/readyz") == 200
