"""cert-manager's own controllers and CA injector keep the certificates of overlay cert-manager: made, trusted, renewed.

They run from a small main around its packages (tools/certmanager), without its validating webhook.
"""

from collections.abc import Iterator
from typing import Any

import pytest
from cryptography import x509

from tests.apiserver.installation import CONFIGURATION, Installation, injected, remove
from tests.apiserver.mounts import SECRET, secret
from tests.cluster.assets import render
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.installation import MANIFESTS, NAMESPACE
from tests.cluster.objects import made
from tests.cluster.processes import Server
from tests.waiting import wait_until

from .conftest import PROFILES

CERTIFICATES = f"/apis/cert-manager.io/v1/namespaces/{NAMESPACE}/certificates"


@pytest.fixture(scope="module")
def cert_manager(
    extended: ControlPlane, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """Run cert-manager, with its kinds defined."""
    folder = tmp_path_factory.mktemp("cert-manager")
    log = folder / "log"
    command = [program("certmanager"), f"--cluster={extended.admin}"]
    with Server(command, log, lambda: "Starting workers" in log.read_text()) as running:
        yield running


@pytest.fixture(scope="module")
def kept(
    cluster: ControlPlane,
    cert_manager: Server,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Installation]:
    """Install the overlay and run it, once cert-manager has made its certificate trusted; remove it afterwards."""
    folder = tmp_path_factory.mktemp("kept")
    install = folder / "install.yaml"
    install.write_text(render(MANIFESTS / "overlays" / "cert-manager"))
    cluster.kubectl("apply", "--server-side", "--validate=strict", f"--filename={install}")
    try:
        wait_until(lambda: cluster.api.answers(SECRET), "cert-manager to make the certificate")
        with Installation(cluster, folder, PROFILES, install=install) as running:
            wait_until(
                lambda: running.ca_bundle() == authority(running),
                "its CA injector to make it trusted",
            )
            running.start_controller()
            running.start_webhook()
            wait_until(lambda: injected(running.api), "a pod to be injected by way of the Service")
            yield running
    finally:
        remove(cluster, install.read_text())


def certificate(installation: Installation) -> str:
    return secret(installation.api)["tls.crt"].decode()


def authority(installation: Installation) -> bytes:
    return secret(installation.api)["ca.crt"]


def renew(installation: Installation, name: str) -> None:
    """Have a certificate renewed, by the condition that `cmctl renew` sets."""
    path = f"{CERTIFICATES}/{name}"
    found: dict[str, Any] = installation.api.expect("GET", path)
    issuing = {
        "type": "Issuing",
        "status": "True",
        "reason": "ManuallyTriggered",
        "message": "test",
    }
    others = [each for each in found["status"]["conditions"] if each["type"] != "Issuing"]
    installation.api.expect(
        "PATCH", f"{path}/status", {"status": {"conditions": [*others, issuing]}}
    )
    revision = found["status"]["revision"]
    wait_until(
        lambda: installation.api.expect("GET", path)["status"]["revision"] > revision, "the renewal"
    )


def test_made_and_trusted_by_cert_manager_alone(kept: Installation) -> None:
    """The controller runs with --certificates=none and without the privileges."""
    leaf = x509.load_pem_x509_certificate(certificate(kept).encode())
    leaf.verify_directly_issued_by(x509.load_pem_x509_certificate(authority(kept)))
    names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["fabric-injector.fabric-injector.svc"]


def test_no_pod_is_refused_while_the_serving_certificate_is_renewed(kept: Installation) -> None:
    before, ca = certificate(kept), authority(kept)
    renew(kept, "fabric-injector-tls")
    assert certificate(kept) != before
    assert kept.ca_bundle() == ca
    assert injected(kept.api), "before the kubelet has brought the new files"
    mount(kept)
    assert injected(kept.api)


def test_a_renewed_authority_is_trusted_from_the_next_serving_certificate_on(
    kept: Installation,
) -> None:
    """The one before it stays trusted beside it, so that no pod is refused until the kubelets have brought the files."""
    ca = authority(kept)
    renew(kept, "fabric-injector-ca")
    assert (authority(kept), kept.ca_bundle()) == (ca, ca)
    assert injected(kept.api)
    renew(kept, "fabric-injector-tls")
    wait_until(lambda: kept.ca_bundle() == ca + authority(kept), "both authorities to be trusted")
    assert authority(kept) != ca
    assert injected(kept.api), "before the kubelet has brought the new files"
    mount(kept)
    assert injected(kept.api)


def mount(installation: Installation) -> None:
    """Bring the webhook the Secret's files, and wait until it serves them.

    The certificate itself is compared: two of one second end in the same second.
    """
    installation.mount_secret()
    new = certificate(installation)
    wait_until(lambda: installation.served() == new, "the webhook to serve the new certificate")


def test_the_controller_has_lost_the_privilege(kept: Installation, cluster: ControlPlane) -> None:
    """Nothing of Secret and configuration is left to its account, and its Lease stays."""
    client = cluster.client(cluster.service_account_token(NAMESPACE, "fabric-injector-controller"))
    lease = made("coordination.k8s.io/v1 Lease", "fabric-injector")
    assert client.create(lease, NAMESPACE, dry_run=True).status in (201, 409)
    created = made("v1 Secret", "fabric-injector-tls")
    assert client.create(created, NAMESPACE, dry_run=True).status == 403
    assert client.request("GET", SECRET).status == 403
    assert client.request("PATCH", CONFIGURATION, {}).status == 403
