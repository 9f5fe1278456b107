"""Issue certificate authorities and serving certificates: names and times in, PEM bytes out."""

import ipaddress
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

CLOCK_SKEW = timedelta(minutes=5)
"""How long before its issue a certificate begins to be valid, for clients whose clock is late."""


@dataclass(frozen=True, slots=True)
class KeyPair:
    """Hold a certificate and its private key, both PEM; the key is unencrypted PKCS #8."""

    certificate: bytes
    key: bytes


def issue_authority(common_name: str, *, now: datetime, lifetime: timedelta) -> KeyPair:
    """Issue a self-signed authority that may sign leaves; *common_name*: at most 64 characters."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = _name(common_name)
    builder = (
        _builder(name, key.public_key(), now).issuer_name(name).not_valid_after(now + lifetime)
    )
    certificate = (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
        .sign(key, hashes.SHA256())
    )
    return _encode(certificate, key)


def issue_serving(
    authority: KeyPair,
    common_name: str,
    *,
    dns_names: Iterable[str],
    ip_addresses: Iterable[str] = (),
    now: datetime,
    lifetime: timedelta,
) -> KeyPair:
    """Issue a serving certificate for the names and addresses; it ends with its authority at last.

    Clients compare the names and addresses only: *common_name* is for people. Raises ValueError
    where the authority has expired, or where a name or an address cannot be parsed.
    """
    issuer = x509.load_pem_x509_certificate(authority.certificate)
    issuer_key = serialization.load_pem_private_key(authority.key, None)
    if not isinstance(issuer_key, ec.EllipticCurvePrivateKey):
        raise ValueError(f"the authority's key is a {type(issuer_key).__name__}; give an EC key")
    if issuer.not_valid_after_utc <= now:
        ended = issuer.not_valid_after_utc.isoformat()
        raise ValueError(f"the authority expired at {ended}; issue a new one first")
    alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in dns_names]
    alternatives += [x509.IPAddress(ipaddress.ip_address(address)) for address in ip_addresses]
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = (
        _builder(_name(common_name), key.public_key(), now)
        .issuer_name(issuer.subject)
        .not_valid_after(min(now + lifetime, issuer.not_valid_after_utc))
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
        .add_extension(_authority_identifier(issuer, issuer_key.public_key()), critical=False)
        .sign(issuer_key, hashes.SHA256())
    )
    return _encode(certificate, key)


def _authority_identifier(
    issuer: x509.Certificate, key: ec.EllipticCurvePublicKey
) -> x509.AuthorityKeyIdentifier:
    """Return the issuer's own identifier; compute it where somebody else's authority has none."""
    try:
        own = issuer.extensions.get_extension_for_class(x509.SubjectKeyIdentifier).value
    except x509.ExtensionNotFound:
        return x509.AuthorityKeyIdentifier.from_issuer_public_key(key)
    return x509.AuthorityKeyIdentifier.from_issuer_subject_key_identifier(own)


def _name(common_name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)])


def _builder(
    subject: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - CLOCK_SKEW)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(*, signs_certificates: bool) -> x509.KeyUsage:
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


def _encode(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> KeyPair:
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    return KeyPair(certificate.public_bytes(serialization.Encoding.PEM), private)
