"""Hold the authorities that clients trust and the certificate that is served; read and write both as the data of a Secret.

Reading never fails: a part that is missing, cannot be parsed or does not fit the others counts as absent.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

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
"""Key of a Secret: the private key of the authority that signs. The webhook never needs it; do not mount it."""
RECORD = "rotation.json"
"""Key of a Secret: the fields of :class:`Bundle` that are in no certificate, as JSON:
``{"leavesEnd": {"<SHA-256 of an authority>": "<time>" or null}, "left": ["<SHA-256>"], "settled": true}``."""


@dataclass(frozen=True, slots=True)
class Authority:
    """Hold a trusted authority, and when the last leaf that it signed ends; None as long as it has signed none."""

    certificate: x509.Certificate
    leaves_end: datetime | None = None

    @property
    def fingerprint(self) -> str:
        """Return the SHA-256 by which it is known."""
        return fingerprint(self.certificate)


@dataclass(frozen=True, slots=True)
class Bundle:
    """Hold what is served and trusted: *signer* is one of *authorities*, and so is the issuer of *serving*.

    *settled*: every client trusts the signer, so that it may sign. *left*: fingerprints of authorities that are no longer trusted,
    but were still in the live ``caBundle`` when last seen.
    """

    serving: KeyPair | None = None
    signer: KeyPair | None = None
    authorities: tuple[Authority, ...] = ()
    settled: bool = False
    left: frozenset[str] = frozenset()

    @property
    def leaf(self) -> x509.Certificate | None:
        """Return the certificate that is served."""
        return x509.load_pem_x509_certificate(self.serving.certificate) if self.serving else None

    @property
    def signing(self) -> Authority | None:
        """Return the authority that signs."""
        if self.signer is None:
            return None
        wanted = fingerprint(x509.load_pem_x509_certificate(self.signer.certificate))
        return next(
            (authority for authority in self.authorities if authority.fingerprint == wanted), None
        )

    @property
    def ca_bundle(self) -> bytes:
        """Return the authorities as PEM, for ``caBundle`` and ``ca.crt``: first the one that signs, then by age, newest first."""
        signing = self.signing
        certificates = [each.certificate for each in self.authorities]
        certificates.sort(
            key=lambda each: (each.not_valid_before_utc, fingerprint(each)), reverse=True
        )
        certificates.sort(key=lambda each: signing is None or each != signing.certificate)
        return write_certificates(certificates)

    def data(self) -> dict[str, bytes]:
        """Return the data of the Secret; without a pair to serve, its keys are absent, so that a patch leaves them as they are."""
        ends = {
            each.fingerprint: each.leaves_end and each.leaves_end.isoformat()
            for each in self.authorities
        }
        record = {"leavesEnd": ends, "left": sorted(self.left), "settled": self.settled}
        data = {AUTHORITY: self.ca_bundle, RECORD: json.dumps(record, sort_keys=True).encode()}
        if self.signer is not None:
            data[SIGNING_KEY] = self.signer.key
        if self.serving is not None:
            data |= {CERTIFICATE: self.serving.certificate, KEY: self.serving.key}
        return data


def read_bundle(data: Mapping[str, bytes], published: bytes = b"") -> Bundle:
    """Read the data of a Secret; *published* is the live ``caBundle``, which may still hold an authority that ``ca.crt`` lost.

    An authority that the record lacks is taken to have signed leaves that live as long as itself, unless it is the signer.
    """
    own = read_authorities(data.get(AUTHORITY, b""))
    known = {fingerprint(each): each for each in (*own, *read_authorities(published))}
    signer = _pair(known.values(), data.get(SIGNING_KEY, b""))
    serving, issuer = _serving(data, known.values())
    kept = {*map(fingerprint, own), *(fingerprint(each) for each in (signer, issuer) if each)}
    record = _record(data.get(RECORD, b""))
    ends, left = _ends(record), record.get("left")
    authorities = tuple(
        Authority(each, _leaves_end(each, ends, issuer, serving, is_signer=each == signer))
        for key, each in sorted(
            known.items()
        )  # what is read is the same, in whatever order it was written
        if key in kept
    )
    return Bundle(
        None if serving is None else KeyPair(write_certificates([serving]), data[KEY]),
        None if signer is None else KeyPair(write_certificates([signer]), data[SIGNING_KEY]),
        authorities,
        signer is not None and record.get("settled") is True,
        frozenset(key for key in left if isinstance(key, str)) - kept
        if isinstance(left, list)
        else frozenset(),
    )


def _pair(certificates: Iterable[x509.Certificate], pem: bytes) -> x509.Certificate | None:
    """Return the newest certificate that the key belongs to."""
    key = read_key(pem)
    fitting = [each for each in certificates if key is not None and is_pair(each, key)]
    return max(fitting, key=lambda each: each.not_valid_after_utc, default=None)


def _serving(
    data: Mapping[str, bytes], authorities: Iterable[x509.Certificate]
) -> tuple[x509.Certificate | None, x509.Certificate | None]:
    """Return the leaf and the authority that signed it, or neither."""
    leaf = next(iter(read_certificates(data.get(CERTIFICATE, b""))), None)
    key = read_key(data.get(KEY, b""))
    if leaf is None or key is None or not is_pair(leaf, key) or not is_serving(leaf):
        return None, None
    issuer = next((each for each in authorities if is_signed_by(leaf, each)), None)
    return (None, None) if issuer is None else (leaf, issuer)


def _record(text: bytes) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def _ends(record: dict[str, Any]) -> Mapping[str, datetime | None]:
    """Return when the leaves of each authority end, without the entries that cannot be parsed."""
    listed = record.get("leavesEnd")
    ends: dict[str, datetime | None] = {}
    for key, end in listed.items() if isinstance(listed, dict) else ():
        try:
            ends[key] = None if end is None else datetime.fromisoformat(end).astimezone(UTC)
        except (ValueError, TypeError, OverflowError):
            continue
    return ends


def _leaves_end(
    authority: x509.Certificate,
    ends: Mapping[str, datetime | None],
    issuer: x509.Certificate | None,
    leaf: x509.Certificate | None,
    *,
    is_signer: bool,
) -> datetime | None:
    key = fingerprint(authority)
    end = ends.get(key, None if is_signer else authority.not_valid_after_utc)
    if leaf is None or authority != issuer:
        return end
    return max(end or leaf.not_valid_after_utc, leaf.not_valid_after_utc)
