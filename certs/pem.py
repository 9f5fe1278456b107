"""Read PEM that anybody may have written: what is no certificate or no key is left out."""

import re
import warnings
from collections.abc import Iterable
from datetime import datetime, timedelta

from cryptography import x509
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

from certs.issue import CLOCK_SKEW

MOST_BYTES = 1 << 20
"""Most bytes that are read: a Secret cannot hold more."""
_CERTIFICATE = re.compile(rb"-----BEGIN CERTIFICATE-----[^-]{1,100000}-----END CERTIFICATE-----")


def read_certificates(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Return each certificate that can be parsed, in order and once, whatever is around them."""
    found: dict[str, x509.Certificate] = {}
    for match in _CERTIFICATE.finditer(pem[:MOST_BYTES]):
        try:
            # odd serial numbers and the like do no harm
            with warnings.catch_warnings(action="ignore"):
                certificate = x509.load_pem_x509_certificate(match[0])
                _ = certificate.extensions, certificate.subject, certificate.public_key()
        except (ValueError, TypeError, x509.DuplicateExtension, UnsupportedAlgorithm):
            continue
        found.setdefault(fingerprint(certificate), certificate)
    return tuple(found.values())


def read_authorities(pem: bytes) -> tuple[x509.Certificate, ...]:
    """Return the certificates that may sign others."""
    return tuple(filter(_is_authority, read_certificates(pem)))


def read_key(pem: bytes) -> ec.EllipticCurvePrivateKey | None:
    """Return the private key if it is an EC key without a passphrase; None for anything else."""
    try:
        key = serialization.load_pem_private_key(pem, None)
    except (ValueError, TypeError, UnsupportedAlgorithm):
        return None
    return key if isinstance(key, ec.EllipticCurvePrivateKey) else None


def is_pair(certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey) -> bool:
    """Return whether the key belongs to the certificate."""
    return certificate.public_key() == key.public_key()


def is_signed_by(certificate: x509.Certificate, authority: x509.Certificate) -> bool:
    """Return whether the authority signed the certificate; either may have expired."""
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature, UnsupportedAlgorithm):
        return False
    return True


def is_serving(certificate: x509.Certificate) -> bool:
    """Return whether the certificate is one for servers."""
    try:
        usages = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    except x509.ExtensionNotFound:
        return False
    return not _is_authority(certificate) and x509.oid.ExtendedKeyUsageOID.SERVER_AUTH in usages


def hosts(certificate: x509.Certificate) -> frozenset[str]:
    """Return the DNS names and IP addresses that the certificate is for."""
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        return frozenset()
    addresses = map(str, names.get_values_for_type(x509.IPAddress))
    return frozenset([*names.get_values_for_type(x509.DNSName), *addresses])


def is_valid(certificate: x509.Certificate, now: datetime) -> bool:
    """Return whether the certificate is valid at *now*."""
    return certificate.not_valid_before_utc <= now < certificate.not_valid_after_utc


def issued(certificate: x509.Certificate) -> datetime:
    """Return when a certificate of ours was issued."""
    return certificate.not_valid_before_utc + CLOCK_SKEW


def renewal_due(certificate: x509.Certificate) -> datetime:
    """Return when two thirds of the certificate's life are over, counted from its issue."""
    life = max(timedelta(0), certificate.not_valid_after_utc - issued(certificate))
    return issued(certificate) + life * 2 / 3


def fingerprint(certificate: x509.Certificate) -> str:
    """Return the certificate's SHA-256 in hexadecimal digits."""
    return certificate.fingerprint(hashes.SHA256()).hex()


def write_certificates(certificates: Iterable[x509.Certificate]) -> bytes:
    """Return the certificates as PEM, one below the other."""
    return b"".join(each.public_bytes(serialization.Encoding.PEM) for each in certificates)


def _is_authority(certificate: x509.Certificate) -> bool:
    try:
        return certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except x509.ExtensionNotFound:
        return False
