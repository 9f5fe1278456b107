"""Make TLS contexts that demand what an administrator requires of clients; try them in memory."""

import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

_NO_CHECK_TIME = 0x200000
"""X509_V_FLAG_NO_CHECK_TIME of OpenSSL's x509_vfy.h, which Python does not name."""


class CertificateError(Exception):
    """Reject certificate files; the message names the file, what was found and what to do."""


@dataclass(frozen=True, slots=True)
class Requirements:
    """Hold what is required of clients; *client_ca*: a PEM file of who must have signed theirs."""

    minimum_version: ssl.TLSVersion = ssl.TLSVersion.TLSv1_2
    client_ca: Path | None = None


def make_context(certificate: Path, key: Path, requirements: Requirements) -> ssl.SSLContext:
    """Make a server's context; raise CertificateError where files cannot be used."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = requirements.minimum_version
    context.set_alpn_protocols(["http/1.1"])
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        # an encrypted key is refused, not asked for
        context.load_cert_chain(certificate, key, password="")
    except OSError as error:
        mismatch = getattr(error, "reason", None) == "KEY_VALUES_MISMATCH"
        found = "the key belongs to another certificate" if mismatch else error
        problem = f"{certificate}, {key}: {found}; give a PEM pair without passphrase"
        raise CertificateError(problem) from None
    if requirements.client_ca:
        _verify_clients(context, requirements.client_ca)
    return context


def _verify_clients(context: ssl.SSLContext, authorities: Path) -> None:
    context.verify_mode = ssl.CERT_REQUIRED
    # an intermediate authority may be trusted without its root, as in Go
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    try:
        context.load_verify_locations(authorities)
    except OSError as error:
        is_file = error.filename or not isinstance(error, ssl.SSLError)
        found = error.strerror if is_file else "no certificate in it"
        advice = "give a PEM file of the authorities of clients"
        raise CertificateError(f"{authorities}: {found}; {advice}") from None


def shake_hands(
    context: ssl.SSLContext, trust: Callable[[ssl.SSLContext], None], host: str = ""
) -> Mapping[str, object] | None:
    """Shake hands with a client that trusts what *trust* loads; return what certificate it saw.

    The clock is not asked, and without *host* no name. Raises OSError or ValueError where a client
    would refuse.
    """
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = bool(host)
    client.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN | _NO_CHECK_TIME
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    trust(client)
    near = client.wrap_bio(to_client, to_server, server_hostname=host or None)
    far = context.wrap_bio(to_server, to_client, server_side=True)
    for side in (near, far, near, far, near):
        try:
            side.do_handshake()
        except ssl.SSLWantReadError:
            continue
    return near.getpeercert()


def reason(error: Exception) -> str:
    """Return why a handshake failed, in OpenSSL's words."""
    return str(getattr(error, "verify_message", None) or error)
