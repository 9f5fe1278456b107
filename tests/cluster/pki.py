"""Throw-away certificates: one authority, and certificates of servers and clients that it signs."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from certs.issue import KeyPair, issue_authority, issue_serving

LIFETIME = timedelta(days=2)


class Authority:
    """A certificate authority that lives as long as a test run."""

    def __init__(self, name: str) -> None:
        """Make a new key and its self-signed certificate."""
        self._pair = issue_authority(name, now=datetime.now(UTC), lifetime=LIFETIME)

    @property
    def pem(self) -> bytes:
        """Give the authority's certificate."""
        return self._pair.certificate

    def write(self, folder: Path, names: Sequence[str] = ("localhost",)) -> Path:
        """Write ca.crt, tls.crt and tls.key of a server on 127.0.0.1 and the names; give the folder."""
        addresses = [name for name in names if re.fullmatch(r"[\d.]+", name)]
        served = issue_serving(
            self._pair,
            names[0],
            dns_names=[name for name in names if name not in addresses],
            ip_addresses=[*addresses, "127.0.0.1"],
            now=datetime.now(UTC),
            lifetime=LIFETIME,
        )
        return self._write(folder, served)

    def write_client(self, folder: Path, common_name: str, *dns_names: str) -> Path:
        """Write ca.crt, tls.crt and tls.key of a client into the folder; give it back."""
        issuer = x509.load_pem_x509_certificate(self.pem)
        issuer_key = serialization.load_pem_private_key(self._pair.key, None)
        assert isinstance(issuer_key, ec.EllipticCurvePrivateKey)
        key = ec.generate_private_key(ec.SECP256R1())
        by = x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key.public_key())
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
            .issuer_name(issuer.subject)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(issuer.not_valid_before_utc)
            .not_valid_after(issuer.not_valid_after_utc)
            .add_extension(by, critical=False)
            .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.CLIENT_AUTH]), critical=False)
        )
        if dns_names:
            names = x509.SubjectAlternativeName(map(x509.DNSName, dns_names))
            builder = builder.add_extension(names, critical=False)
        certificate = builder.sign(issuer_key, hashes.SHA256())
        return self._write(folder, KeyPair(certificate.public_bytes(_PEM), _private(key)))

    def _write(self, folder: Path, pair: KeyPair) -> Path:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(self.pem)
        (folder / "tls.crt").write_bytes(pair.certificate)
        write_private(folder / "tls.key", pair.key)
        return folder


_PEM = serialization.Encoding.PEM


def new_key_pem() -> bytes:
    """Give a new private key, which Kubernetes can sign the tokens of service accounts with too."""
    return _private(ec.generate_private_key(ec.SECP256R1()))


def write_private(path: Path, content: bytes) -> Path:
    """Write the file so that only its owner may read it; give its path back."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def _private(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        _PEM, serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    )
