"""Hold the authorities that clients trust and the certificate that is served, as a Secret does.

Reading never fails: what is missing, cannot be parsed or does not fit the rest counts as absent.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from cryptography import x509

from certs import AUTHORITY, CERTIFICATE, KEY
from certs.issue import KeyPair
from certs.pem import (
    fingerprint,
    is_pair,
    is_serving,
    is_signed_by,
    read_authorities,
    read_certificates,
    read_key,
    write_certificates,
)

SIGNING_KEY = "ca.key"
"""Key of a Secret: the private key of the authority that signs. Mount it nowhere."""


@dataclass(frozen=True, slots=True)
class Bundle:
    """Hold what is served and trusted: *signer* and the issuer of *serving* are *authorities*."""

    serving: KeyPair | None = None
    signer: KeyPair | None = None
    authorities: tuple[x509.Certificate, ...] = ()

    @property
    def leaf(self) -> x509.Certificate | None:
        """Return the certificate that is served."""
        return x509.load_pem_x509_certificate(self.serving.certificate) if self.serving else None

    @property
    def signing(self) -> x509.Certificate | None:
        """Return the authority that signs."""
        return x509.load_pem_x509_certificate(self.signer.certificate) if self.signer else None

    @property
    def ca_bundle(self) -> bytes:
        """Return the authorities as PEM: first the one that signs, then by age, newest first."""
        signing = self.signing
        certificates = sorted(
            self.authorities,
            key=lambda each: (each == signing, each.not_valid_before_utc, fingerprint(each)),
            reverse=True,
        )
        return write_certificates(certificates)

    def data(self) -> dict[str, bytes]:
        """Return the data of the Secret; a pair that is unknown is absent, and a patch keeps it."""
        data = {AUTHORITY: self.ca_bundle}
        if self.signer is not None:
            data[SIGNING_KEY] = self.signer.key
        if self.serving is not None:
            data |= {CERTIFICATE: self.serving.certificate, KEY: self.serving.key}
        return data


def read_bundle(data: Mapping[str, bytes], published: bytes = b"") -> Bundle:
    """Read the data of a Secret; *published* is the live ``caBundle``, PEM.

    What clients trust there is an authority too: the Secret may have been lost, or restored.
    """
    found = read_authorities(data.get(AUTHORITY, b"") + b"\n" + published)
    authorities = tuple(sorted(found, key=fingerprint))  # the same, in whatever order it is written
    signer = _pair(authorities, data.get(SIGNING_KEY, b""))
    serving = _serving(data, authorities)
    return Bundle(
        None if serving is None else KeyPair(write_certificates([serving]), data[KEY]),
        None if signer is None else KeyPair(write_certificates([signer]), data[SIGNING_KEY]),
        authorities,
    )


def _pair(certificates: Iterable[x509.Certificate], pem: bytes) -> x509.Certificate | None:
    """Return the newest certificate that the key belongs to."""
    key = read_key(pem)
    fitting = [each for each in certificates if key is not None and is_pair(each, key)]
    return max(fitting, key=lambda each: each.not_valid_after_utc, default=None)


def _serving(
    data: Mapping[str, bytes], authorities: Iterable[x509.Certificate]
) -> x509.Certificate | None:
    """Return the leaf where it has its key, is for servers, and an authority signed it."""
    leaf = next(iter(read_certificates(data.get(CERTIFICATE, b""))), None)
    key = read_key(data.get(KEY, b""))
    if leaf is None or key is None or not is_pair(leaf, key) or not is_serving(leaf):
        return None
    return leaf if any(is_signed_by(leaf, each) for each in authorities) else None
