"""Throw-away certificates: one authority, and serving certificates that it signs."""

import datetime
import ipaddress
from collections.abc import Sequence
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

LIFETIME = datetime.timedelta(days=2)


class Authority:
    """A certificate authority that lives as long as a test run."""

    def __init__(self, name: str) -> None:
        """Make a new key and its self-signed certificate."""
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = _name(name)
        builder = _builder(self._name, self._name, self._key.public_key(), self._key.public_key())
        builder = builder.add_extension(
            x509.BasicConstraints(ca=True, path_length=0), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=True), critical=True)
        self._certificate = builder.sign(self._key, hashes.SHA256())

    @property
    def pem(self) -> bytes:
        """Give the authority's certificate."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def write(self, folder: Path, names: Sequence[str] = ("localhost",)) -> Path:
        """Write ca.crt, tls.crt and tls.key for a server on 127.0.0.1 and the names and addresses into the folder; give it back."""
        alternatives = [*map(_alternative, names), _alternative("127.0.0.1")]
        return self._write(folder, names[0], alternatives, ExtendedKeyUsageOID.SERVER_AUTH)

    def write_client(self, folder: Path, common_name: str, *dns_names: str) -> Path:
        """Write ca.crt, tls.crt and tls.key of a client into the folder; give it back."""
        return self._write(
            folder, common_name, [*map(x509.DNSName, dns_names)], ExtendedKeyUsageOID.CLIENT_AUTH
        )

    def _write(
        self,
        folder: Path,
        common_name: str,
        alternatives: list[x509.GeneralName],
        usage: x509.ObjectIdentifier,
    ) -> Path:
        key = ec.generate_private_key(ec.SECP256R1())
        builder = _builder(_name(common_name), self._name, key.public_key(), self._key.public_key())
        if alternatives:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(alternatives), critical=False
            )
        builder = builder.add_extension(
            x509.BasicConstraints(ca=False, path_length=None), critical=True
        )
        builder = builder.add_extension(_usage(signs_certificates=False), critical=True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        leaf = builder.sign(self._key, hashes.SHA256())
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "ca.crt").write_bytes(self.pem)
        (folder / "tls.crt").write_bytes(leaf.public_bytes(serialization.Encoding.PEM))
        write_private(folder / "tls.key", _pem(key))
        return folder


def new_key_pem() -> bytes:
    """Give a new private key, which Kubernetes can sign the tokens of service accounts with too."""
    return _pem(ec.generate_private_key(ec.SECP256R1()))


def write_private(path: Path, content: bytes) -> Path:
    """Write the file so that only its owner may read it; give its path back."""
    path.touch(mode=0o600)
    path.write_bytes(content)
    return path


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.TraditionalOpenSSL,
        serialization.NoEncryption(),
    )


def _alternative(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    issuer_key: ec.EllipticCurvePublicKey,
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - datetime.timedelta(minutes=5))
        .not_valid_after(now + LIFETIME)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(issuer_key), critical=False
        )
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )
