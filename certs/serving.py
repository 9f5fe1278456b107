"""Serve TLS from certificate files that may be replaced at any moment.

A changed pair is built into a fresh context, tried in memory, and only then given to new
connections. A context in use is never reconfigured: that loses handshakes, and has crashed
interpreters. Nor is it exchanged by ``sni_callback``. That would not carry whether a client must
show a certificate, and would resume sessions of clients that are no longer trusted.
"""

import ssl
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from certs import AUTHORITY, CERTIFICATE, KEY
from certs.handshake import CertificateError, Requirements, make_context, reason, shake_hands

_NO_REQUIREMENTS = Requirements()


class ServingCertificate:
    """Keep the newest usable pair of a directory.

    It holds ``tls.crt`` and ``tls.key`` (PEM, leaf first) and may hold ``ca.crt``, which must then
    have signed the leaf. It may be a mounted Secret, whose files change together behind its
    ``..data`` link. The clients' authorities that *requirements* names are followed too.
    ``context`` serves a new connection: it is only ever replaced, ask for it each time.
    ``not_after``: when the leaf ends.

    Raises CertificateError; an expired pair is loaded, and :meth:`problem` then says so.
    """

    def __init__(self, directory: Path, requirements: Requirements = _NO_REQUIREMENTS) -> None:
        self._directory, self._requirements = directory, requirements
        self._seen = self._read()
        self.context, self._open_context, self.not_after = self._load()

    def problem(self, now: datetime) -> str:
        """Return why the certificate cannot be served at *now*; empty if it can."""
        return "" if now < self.not_after else f"{self._expired(self.not_after)}; replace it"

    def distrust(self, ca_bundle: bytes, host: str) -> str:
        """Return why a client that trusts only *ca_bundle* (PEM) refuses this server as *host*.

        Empty if it does not. An empty *ca_bundle* means the client's own authorities: refused only
        where ``ca.crt`` says that another one signed.
        """
        if not ca_bundle.strip():
            private = (_resolve(self._directory) / AUTHORITY).exists()
            return "caBundle is empty; put ca.crt into it" if private else ""
        # ssl takes ASCII only, and people write names between certificates
        trusted = ca_bundle.decode("ascii", "replace").replace("\ufffd", "?")
        try:
            shake_hands(
                self._open_context,
                lambda client: client.load_verify_locations(cadata=trusted),
                host,
            )
        except (OSError, ValueError) as error:
            problem = f"the certificate is not what caBundle trusts ({reason(error)})"
            return f"{problem}; is another CA in caBundle?"
        return ""

    def poll(self, now: datetime) -> bool:
        """Load the pair in the files if it has changed; return whether it has.

        Raises CertificateError where it cannot be used (half written, foreign key, expired): the
        old pair is then kept, and the next call looks again.
        """
        found = self._read()
        if found == self._seen:
            return False
        context, open_context, not_after = self._load()
        if not_after <= now:
            raise CertificateError(f"{self._expired(not_after)}; the old pair is kept")
        self.context, self._open_context, self.not_after = context, open_context, not_after
        self._seen = found
        return True

    def _expired(self, not_after: datetime) -> str:
        return f"{self._directory / CERTIFICATE}: expired at {not_after.isoformat()}"

    def _read(self) -> list[bytes]:
        directory, client_ca = _resolve(self._directory), self._requirements.client_ca
        paths = [directory / CERTIFICATE, directory / KEY]
        if (authority := directory / AUTHORITY).exists():
            paths.append(authority)
        if client_ca:
            paths.append(client_ca)
        return list(map(_read_bytes, paths))

    def _load(self) -> tuple[ssl.SSLContext, ssl.SSLContext, datetime]:
        """Return the context, the same without a demand for clients' certificates, and the end."""
        directory, required = _resolve(self._directory), self._requirements
        certificate, key = directory / CERTIFICATE, directory / KEY
        context = open_context = make_context(certificate, key, required)
        if required.client_ca:
            open_context = make_context(certificate, key, replace(required, client_ca=None))
        authority = directory / AUTHORITY
        not_after = _try(open_context, certificate, authority if authority.exists() else None)
        return context, open_context, not_after


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        problem = f"{path}: {error.strerror or error}; give a readable PEM file"
        raise CertificateError(problem) from None


def _resolve(directory: Path) -> Path:
    """Follow a mounted volume's ``..data`` link once, so that all files are of one generation."""
    data = directory / "..data"
    return data.resolve() if data.is_symlink() else directory


def _try(context: ssl.SSLContext, certificate: Path, authority: Path | None) -> datetime:
    """Shake hands with *context* as a client of *authority* would; return when the leaf ends.

    Raises CertificateError where a client would refuse.
    """
    trusted = authority or certificate
    try:
        peer = shake_hands(context, lambda client: client.load_verify_locations(trusted))
    except (OSError, ValueError) as error:
        signer = f" with {authority}" if authority else ""
        problem = f"{certificate}: a client{signer} refuses it: {reason(error)}; issue it again"
        raise CertificateError(problem) from None
    if not peer:
        problem = f"{certificate}: holds no certificate that a client accepts; issue it again"
        raise CertificateError(problem)
    return datetime.fromtimestamp(ssl.cert_time_to_seconds(str(peer["notAfter"])), UTC)
