"""Serve TLS from certificate files that may be replaced at any moment.

A changed pair is built into a fresh context, tried in memory, and only then handed to new connections. A context in
use is never reconfigured: that loses handshakes, and has crashed interpreters. Nor is it exchanged by ``sni_callback``, which would
not carry whether a client must show a certificate, and would resume sessions of clients that are no longer trusted.
"""

from __future__ import annotations

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

CERTIFICATE = "tls.crt"
KEY = "tls.key"
AUTHORITY = "ca.crt"

_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL's x509_vfy.h, which Python does not name."""


class CertificateError(Exception):
    """Reject certificate files; the message names the file, what was found and what to do."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold a pair that works: its context, and when it ends."""

    context: ssl.SSLContext
    not_after: datetime


class ServingCertificate:
    """Keep the newest usable pair of a directory, in :attr:`context`.

    The directory holds ``tls.crt`` and ``tls.key`` (PEM, leaf first) and may hold ``ca.crt``, which must then have signed the
    leaf. It may be a mounted Secret, whose files change together behind its ``..data`` link.
    """

    def __init__(self, directory: Path) -> None:
        """Load the pair. Raises CertificateError; an expired pair is taken, for :meth:`problem` to tell."""
        self._directory = directory
        self._seen = _read(directory)
        self._current = _load(_resolve(directory))

    @property
    def context(self) -> ssl.SSLContext:
        """Return what to serve a new connection with. It is never changed, only replaced: ask anew for each connection."""
        return self._current.context

    @property
    def not_after(self) -> datetime:
        """Return when the served certificate ends."""
        return self._current.not_after

    def problem(self, now: datetime) -> str:
        """Say why the certificate cannot be served at *now*; empty if it can."""
        if self.not_after <= now:
            return f"{self._directory / CERTIFICATE} expired at {self.not_after.isoformat()}; replace it"
        return ""

    def distrust(self, ca_bundle: bytes, host: str) -> str:
        """Say why a client that trusts only *ca_bundle* (PEM) refuses this server as *host*; empty if it does not.

        An empty *ca_bundle* means the client's own authorities: refused only where ``ca.crt`` says that another one signed.
        """
        if not ca_bundle.strip():
            private = (_resolve(self._directory) / AUTHORITY).exists()
            return "caBundle is empty; put ca.crt into it" if private else ""
        try:
            _shake_hands(
                self._current.context, lambda client: client.load_verify_locations(cadata=_text(ca_bundle)), host
            )
        except (OSError, ValueError) as error:
            return f"the certificate is not what caBundle trusts ({_reason(error)}); is another CA in caBundle?"
        return ""

    def poll(self, now: datetime) -> bool:
        """Take the pair in the files if it has changed; tell whether it was taken.

        Raises CertificateError where it cannot be used (half written, foreign key, expired): the old pair is then kept, and the
        next call looks again.
        """
        found = _read(self._directory)
        if found == self._seen:
            return False
        loaded = _load(_resolve(self._directory))
        if loaded.not_after <= now:
            raise CertificateError(
                f"{self._directory / CERTIFICATE}: expired at {loaded.not_after.isoformat()}; the old pair is kept"
            )
        self._current, self._seen = loaded, found
        return True


def _resolve(directory: Path) -> Path:
    """Follow a mounted volume's ``..data`` link once, so that all files are of one generation."""
    data = directory / "..data"
    return data.resolve() if data.is_symlink() else directory


def _read(directory: Path) -> tuple[bytes, ...]:
    directory = _resolve(directory)
    authority = directory / AUTHORITY
    paths = [directory / CERTIFICATE, directory / KEY, *([authority] if authority.exists() else [])]
    contents = []
    for path in paths:
        try:
            contents.append(path.read_bytes())
        except OSError as error:
            raise CertificateError(f"{path}: {error.strerror or error}; give a readable PEM file") from None
    return tuple(contents)


def _load(directory: Path) -> Loaded:
    certificate, key, authority = directory / CERTIFICATE, directory / KEY, directory / AUTHORITY
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        context.load_cert_chain(certificate, key, password="")  # an encrypted key is refused, not asked for
    except OSError as error:
        mismatch = getattr(error, "reason", None) == "KEY_VALUES_MISMATCH"
        found = "the key belongs to another certificate" if mismatch else error
        raise CertificateError(f"{certificate}, {key}: {found}; give a PEM pair without passphrase") from None
    return Loaded(context, _try(context, certificate, authority if authority.exists() else None))


def _try(context: ssl.SSLContext, certificate: Path, authority: Path | None) -> datetime:
    """Shake hands with *context* in memory as a client of *authority* would; return when the leaf ends.

    Raises CertificateError where a client would refuse.
    """
    try:
        peer = _shake_hands(context, lambda client: client.load_verify_locations(authority or certificate))
    except (OSError, ValueError) as error:
        signer = f" with {authority}" if authority else ""
        raise CertificateError(
            f"{certificate}: a client{signer} refuses it: {_reason(error)}; issue it again"
        ) from None
    if not peer:
        raise CertificateError(f"{certificate}: holds no certificate that a client accepts; issue it again")
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(peer["notAfter"])), UTC)


def _shake_hands(
    context: ssl.SSLContext, trust: Callable[[ssl.SSLContext], None], host: str = ""
) -> Mapping[str, object] | None:
    """Shake hands in memory, with a client that trusts what *trust* loads; return the certificate that it was shown.

    The clock is not asked, and without *host* no name. Raises OSError or ValueError where a client would refuse.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = bool(host)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trust(client)
    near = client.wrap_bio(to_client, to_server, server_hostname=host or None)
    far = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far, near, far):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return near.getpeercert()


def _reason(error: Exception) -> str:
    return str(getattr(error, "verify_message", None) or error)


def _text(pem: bytes) -> str:
    """Return the PEM as text: ssl takes ASCII only, and people write names between certificates."""
    return pem.decode("ascii", "replace").replace("\ufffd", "?")
