"""Serving certificates: what is served while files are replaced, torn, broken or expired."""

import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization

from certs.handshake import CertificateError
from certs.serving import ServingCertificate
from certs.throwaway import make_throwaway
from tests import ROOT

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(days=10)
LIFETIME = timedelta(days=30)


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    make_throwaway(tmp_path / "tls", now=NOW, lifetime=LIFETIME)
    return tmp_path / "tls"


@pytest.fixture
def renewed(tmp_path: Path) -> Path:
    make_throwaway(tmp_path / "renewed", now=LATER, lifetime=LIFETIME)
    return tmp_path / "renewed"


def served(certificate: ServingCertificate) -> bytes:
    """Shake hands in memory; return the certificate that the server showed."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.verify_mode = ssl.CERT_NONE
    client.set_alpn_protocols(["h2", "http/1.1"])
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    near = client.wrap_bio(back, there)
    far = certificate.context.wrap_bio(there, back, server_side=True)
    for side in (near, far, near, far):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    assert near.selected_alpn_protocol() == "http/1.1"
    shown = near.getpeercert(binary_form=True)
    assert shown
    return shown


def leaf(directory: Path) -> bytes:
    return ssl.PEM_cert_to_DER_cert((directory / "tls.crt").read_text())


def replace(directory: Path, source: Path, *names: str) -> None:
    for name in names or ("ca.crt", "tls.crt", "tls.key"):
        shutil.copy(source / name, directory / name)


def test_takes_a_new_pair_for_new_handshakes(directory: Path, renewed: Path) -> None:
    certificate = ServingCertificate(directory)
    in_use = certificate.context
    replace(directory, renewed)
    assert certificate.poll(LATER)
    assert certificate.context is not in_use
    assert served(certificate) == leaf(renewed)
    assert certificate.not_after == LATER + LIFETIME
    assert not certificate.poll(LATER)


def test_follows_a_mounted_secret(tmp_path: Path, directory: Path, renewed: Path) -> None:
    mount = tmp_path / "mount"
    mount.mkdir()
    (mount / "..data").symlink_to(directory)
    for name in ("ca.crt", "tls.crt", "tls.key"):
        (mount / name).symlink_to(f"..data/{name}")
    certificate = ServingCertificate(mount)
    (mount / "..data_tmp").symlink_to(renewed)
    (mount / "..data_tmp").rename(mount / "..data")
    assert certificate.poll(LATER)
    assert served(certificate) == leaf(renewed)


def test_keeps_the_old_pair_until_the_new_one_is_whole(directory: Path, renewed: Path) -> None:
    certificate = ServingCertificate(directory)
    old = leaf(directory)
    for name in ("tls.crt", "ca.crt"):
        replace(directory, renewed, name)
        with pytest.raises(
            CertificateError, match=r"tls\.key: the key belongs to another certificate"
        ):
            certificate.poll(LATER)
        assert served(certificate) == old
    replace(directory, renewed, "tls.key")
    assert certificate.poll(LATER)
    assert served(certificate) == leaf(renewed)


def _remove_key(directory: Path) -> None:
    (directory / "tls.key").unlink()


def _write_half(directory: Path) -> None:
    path = directory / "tls.crt"
    path.write_bytes(path.read_bytes()[:200])


def _lock_key(directory: Path) -> None:
    key = serialization.load_pem_private_key((directory / "tls.key").read_bytes(), None)
    encryption = serialization.BestAvailableEncryption(b"secret")
    pem = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, encryption
    )
    (directory / "tls.key").write_bytes(pem)


def _change_authority(directory: Path) -> None:
    other = directory.parent / "other"
    make_throwaway(other, now=NOW)
    replace(directory, other, "ca.crt")


BROKEN = [
    pytest.param(_remove_key, r"tls\.key: No such file", id="no key"),
    pytest.param(_write_half, r"tls\.crt", id="half a certificate"),
    pytest.param(_lock_key, "without passphrase", id="encrypted key"),
    pytest.param(_change_authority, r"a client with .*ca\.crt refuses it", id="another authority"),
]


@pytest.mark.parametrize(("damage", "message"), BROKEN)
def test_does_not_start_with_and_serves_on_after(
    directory: Path, damage: Callable[[Path], None], message: str
) -> None:
    certificate = ServingCertificate(directory)
    old = leaf(directory)
    damage(directory)
    with pytest.raises(CertificateError, match=message):
        ServingCertificate(directory)
    with pytest.raises(CertificateError, match=message):
        certificate.poll(NOW)
    assert served(certificate) == old


def test_tells_of_an_expired_pair_but_holds_it(directory: Path) -> None:
    certificate = ServingCertificate(directory)
    assert certificate.problem(NOW) == ""
    assert "expired at 2026-03-31" in certificate.problem(NOW + LIFETIME)


def test_does_not_take_an_expired_pair(directory: Path, renewed: Path) -> None:
    certificate = ServingCertificate(renewed)
    fresh = leaf(renewed)
    replace(renewed, directory)
    with pytest.raises(CertificateError, match="expired at 2026-03-31"):
        certificate.poll(NOW + LIFETIME)
    assert served(certificate) == fresh


def test_writes_a_key_that_only_its_owner_reads(directory: Path) -> None:
    assert (directory / "tls.key").stat().st_mode & 0o777 == 0o600


def test_loads_no_cryptography_library() -> None:
    script = "import sys, certs.serving; sys.exit('cryptography' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=False).returncode == 0


def test_is_trusted_by_its_authority_and_its_name(directory: Path, renewed: Path) -> None:
    certificate = ServingCertificate(directory)
    own, other = (path.read_bytes() for path in (directory / "ca.crt", renewed / "ca.crt"))
    for ca_bundle in (own, other + own, b"# \xc3\xa4 \xff\n" + own):
        assert certificate.distrust(ca_bundle, "localhost") == ""
        assert certificate.distrust(ca_bundle, "127.0.0.1") == ""
        assert certificate.distrust(ca_bundle, "") == ""


@pytest.mark.parametrize(
    ("ca_bundle", "host", "message"),
    [
        pytest.param("other", "localhost", "not what caBundle trusts", id="another authority"),
        pytest.param("own", "other.svc", "Hostname mismatch", id="another name"),
        pytest.param("own", "10.0.0.7", "IP address mismatch", id="another address"),
        pytest.param("", "localhost", "caBundle is empty; put ca.crt into it", id="stripped"),
        pytest.param("garbage", "localhost", "not what caBundle trusts", id="garbage"),
    ],
)
def test_tells_why_it_is_not_trusted(
    directory: Path, renewed: Path, ca_bundle: str, host: str, message: str
) -> None:
    pem = {"own": directory / "ca.crt", "other": renewed / "ca.crt"}
    content = pem[ca_bundle].read_bytes() if ca_bundle in pem else ca_bundle.encode()
    assert message in ServingCertificate(directory).distrust(content, host)


def test_needs_no_authority_file_and_trusts_an_empty_bundle_then(directory: Path) -> None:
    (directory / "ca.crt").unlink()
    certificate = ServingCertificate(directory)
    assert certificate.not_after == NOW + LIFETIME
    assert certificate.distrust(b"", "localhost") == ""


def test_judges_the_pair_that_is_served_and_not_the_files(directory: Path, renewed: Path) -> None:
    certificate = ServingCertificate(directory)
    own = (directory / "ca.crt").read_bytes()
    replace(directory, renewed)
    assert certificate.distrust(own, "localhost") == ""
    certificate.poll(LATER)
    assert "not what caBundle trusts" in certificate.distrust(own, "localhost")
