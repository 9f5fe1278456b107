"""Find what is wrong with a serving certificate, its key and the CAs that clients trust."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from cryptography import x509

from certs import AUTHORITY, CERTIFICATE, KEY
from certs.pem import (
    hosts,
    is_pair,
    is_signed_by,
    is_valid,
    read_authorities,
    read_certificates,
    read_key,
    renewal_due,
)

LATE = timedelta(hours=1)
"""How long after its time a renewal counts as missed."""


class Fault(NamedTuple):
    """Name what is wrong with *subject* (``tls.crt``), and what to do about it."""

    subject: str
    message: str
    action: str = ""

    def __str__(self) -> str:
        return f"{self.subject}: {self.message}{f'; {self.action}' if self.action else ''}"


def leaf_of(data: Mapping[str, bytes]) -> x509.Certificate | None:
    """Return the certificate that is served, from ``tls.crt``."""
    return next(iter(read_certificates(data.get(CERTIFICATE, b""))), None)


def pair_faults(data: Mapping[str, bytes], now: datetime) -> Iterator[Fault]:
    """Yield what is wrong with the files of a Secret or a directory."""
    leaf = leaf_of(data)
    if leaf is None:
        action = "the controller issues one"
        yield Fault(CERTIFICATE, "holds no certificate", action)
        return
    key = read_key(data.get(KEY, b""))
    if key is None or not is_pair(leaf, key):
        action = "ask for a new pair with `certs rotate`"
        yield Fault(KEY, f"is not the key of {CERTIFICATE}", action)
    if not is_valid(leaf, now):
        yield Fault(CERTIFICATE, "is not valid now", "is the controller running?")
    elif now >= renewal_due(leaf) + LATE:
        due = f"{renewal_due(leaf):%Y-%m-%d %H:%M}"
        yield Fault(CERTIFICATE, f"should have been renewed at {due}", "is the controller running?")
    authorities = read_authorities(data.get(AUTHORITY, b""))
    if authorities and not any(is_signed_by(leaf, each) for each in authorities):
        action = "ask for a new one with `certs rotate`"
        yield Fault(CERTIFICATE, f"no CA of {AUTHORITY} signed it", action)


def trust_faults(
    leaf: x509.Certificate | None, client: str, ca_bundle: bytes, host: str, now: datetime
) -> Iterator[Fault]:
    """Yield why *client*, which calls *host* and trusts *ca_bundle*, would refuse the *leaf*."""
    if leaf is None:
        return
    if not any(is_signed_by(leaf, each) for each in valid_authorities(ca_bundle, now)):
        yield Fault(f"caBundle of {client}", f"trusts no CA that signed {CERTIFICATE}")
    if host and host not in hosts(leaf):
        yield Fault(CERTIFICATE, f"lacks {host}, which {client} calls")


def valid_authorities(ca_bundle: bytes, now: datetime) -> tuple[x509.Certificate, ...]:
    """Return the authorities of a caBundle that are valid at *now*."""
    return tuple(each for each in read_authorities(ca_bundle) if is_valid(each, now))
