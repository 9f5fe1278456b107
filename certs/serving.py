"""Serve TLS from certificate files that may be replaced at any moment.

A changed pair is built into a fresh context, tried in memory, and only then handed to new connections. A context in
use is never reconfigured: that loses handshakes, and has crashed interpreters. Nor is it exchanged by ``sni_callback``, which would
not carry whether a client must show a certificate, and would resume sessions of clients that are no longer trusted.
"""

from __future__ import annotations

import ssl
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from certs import AUTHORITY, CERTIFICATE, KEY
from certs.handshake import CertificateError, Requirements, make_context, reason, shake_hands

_NO_REQUIREMENTS = Requirements()


@dataclass(frozen=True, slots=True)
class Loaded:
    """Hold a pair that works: its context, the same without a demand for clients' certificates, and when the leaf ends."""

    context: ssl.SSLContext
    open_context: ssl.SSLContext
    not_after: datetime


class ServingCertificate:
    """Keep the newest usable pair of a directory, in :attr:`context`.

    The directory holds ``tls.crt`` and ``tls.key`` (PEM, leaf first) and may hold ``ca.crt``, which must then have signed the
    leaf. It may be a mounted Secret, whose files change together behind its ``..data`` link.
    """

    def __init__(self, directory: Path, requirements: Requirements = _NO_REQUIREMENTS) -> None:
        """Load the pair, and the clients' authorities that *requirements* names: they are followed as the pair is.

        Raises CertificateError; an expired pair is loaded, and :meth:`problem` then says so.
        """
        self._directory, self._requirements = directory, requirements
        self._seen = self._read()
        self._current = _load(_resolve(directory), requirements)

    @property
    def context(self) -> ssl.SSLContext:
        """Return what to serve a new connection with. It is never changed, only replaced: ask anew for each connection."""
        return self._current.context

    @property
    def not_after(self) -> datetime:
        """Return when the served certificate ends."""
        return self._current.not_after

    def problem(self, now: datetime) -> str:
        """Return why the certificate cannot be served at *now*; empty if it can."""
        if self.not_after <= now:
            return f"{self._directory / CERTIFICATE} expired at {self.not_after.isoformat()}; replace it"
        return ""

    def distrust(self, ca_bundle: bytes, host: str) -> str:
        """Return why a client that trusts only *ca_bundle* (PEM) refuses this server as *host*; empty if it does not.

        An empty *ca_bundle* means the client's own authorities: refused only where ``ca.crt`` says that another one signed.
        """
        if not ca_bundle.strip():
            private = (_resolve(self._directory) / AUTHORITY).exists()
            return "caBundle is empty; put ca.crt into it" if private else ""
        try:
            shake_hands(
                self._current.open_context,
                lambda client: client.load_verify_locations(cadata=_text(ca_bundle)),
                host,
            )
        except (OSError, ValueError) as error:
            return f"the certificate is not what caBundle trusts ({reason(error)}); is another CA in caBundle?"
        return ""

    def poll(self, now: datetime) -> bool:
        """Load the pair in the files if it has changed; return whether it has.

        Raises CertificateError where it cannot be used (half written, foreign key, expired): the old pair is then kept, and the
        next call looks again.
        """
        found = self._read()
        if found == self._seen:
            return False
        loaded = _load(_resolve(self._directory), self._requirements)
        if loaded.not_after <= now:
            raise CertificateError(
                f"{self._directory / CERTIFICATE}: expired at {loaded.not_after.isoformat()}; the old pair is kept"
            )
        self._current, self._seen = loaded, found
        return True

    def _read(self) -> tuple[bytes, ...]:
        directory, client_ca = _resolve(self._directory), self._requirements.client_ca
        authority = directory / AUTHORITY
        optional = [
            *([authority] if authority.exists() else []),
            *([client_ca] if client_ca else []),
        ]
        contents = []
        for path in (directory / CERTIFICATE, directory / KEY, *optional):
            try:
                contents.append(path.read_bytes())
            except OSError as error:
                raise CertificateError(
                    f"{path}: {error.strerror or error}; give a readable PEM file"
                ) from None
        return tuple(contents)


def _resolve(directory: Path) -> Path:
    """Follow a mounted volume's ``..data`` link once, so that all files are of one generation."""
    data = directory / "..data"
    return data.resolve() if data.is_symlink() else directory


def _load(directory: Path, requirements: Requirements) -> Loaded:
    certificate, key, authority = directory / CERTIFICATE, directory / KEY, directory / AUTHORITY
    context = open_context = make_context(certificate, key, requirements)
    if requirements.client_ca:
        open_context = make_context(certificate, key, replace(requirements, client_ca=None))
    not_after = _try(open_context, certificate, authority if authority.exists() else None)
    if requirements.ciphers and requirements.minimum_version < ssl.TLSVersion.TLSv1_3:
        _try_ciphers(open_context, certificate, requirements.ciphers)
    return Loaded(context, open_context, not_after)


def _try(context: ssl.SSLContext, certificate: Path, authority: Path | None) -> datetime:
    """Shake hands with *context* in memory as a client of *authority* would; return when the leaf ends.

    Raises CertificateError where a client would refuse.
    """
    try:
        peer = shake_hands(
            context, lambda client: client.load_verify_locations(authority or certificate)
        )
    except (OSError, ValueError) as error:
        signer = f" with {authority}" if authority else ""
        raise CertificateError(
            f"{certificate}: a client{signer} refuses it: {reason(error)}; issue it again"
        ) from None
    if not peer:
        raise CertificateError(
            f"{certificate}: holds no certificate that a client accepts; issue it again"
        )
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(peer["notAfter"])), UTC)


def _try_ciphers(context: ssl.SSLContext, certificate: Path, ciphers: str) -> None:
    try:
        shake_hands(
            context,
            lambda client: client.load_verify_locations(certificate),
            version=ssl.TLSVersion.TLSv1_2,
        )
    except OSError:
        raise CertificateError(
            f"ciphers {ciphers!r}: none fits the kind of key of {certificate}; add one, such as ECDHE-ECDSA-AES128-GCM-SHA256"
        ) from None


def _text(pem: bytes) -> str:
    """Return the PEM as text: ssl takes ASCII only, and people write names between certificates."""
    return pem.decode("ascii", "replace").replace("\ufffd", "?")
