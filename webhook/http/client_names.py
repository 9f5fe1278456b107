"""Serve only clients whose verified certificate carries an allowed name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from webhook.http.connection import Connections, HttpConnection
from webhook.http.endpoint import Endpoints
from webhook.http.logs import log_fields
from webhook.http.refusal import STRANGER

log = logging.getLogger(__name__)


class NamedConnection(HttpConnection):
    """Refuse every request of a client without one of *names*; the certificate is looked at once per connection."""

    __slots__ = ("_names",)

    def __init__(
        self, endpoints: Endpoints, connections: Connections, *, names: frozenset[str]
    ) -> None:
        super().__init__(endpoints, connections)
        self._names = names

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # as in HttpConnection
        """Judge the client by the certificate, which is known once the handshake is done."""
        super().connection_made(transport)
        found = names_of(transport.get_extra_info("peercert") or {})
        if self._names.isdisjoint(found):
            self.refusal = STRANGER
            carried, allowed = ", ".join(found) or "no name", ", ".join(sorted(self._names))
            message = f"client refused: its certificate carries {carried}, and none of the allowed {allowed}"
            peer = transport.get_extra_info("peername") or ("",)
            log_fields(log, logging.WARNING, message, {"peer": str(peer[0])})


def names_of(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the common names and DNS names of a certificate as ``ssl.SSLSocket.getpeercert`` shows it."""
    common = [
        value
        for part in certificate.get("subject", ())
        for key, value in part
        if key == "commonName"
    ]
    dns = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    return tuple(dict.fromkeys([*common, *dns]))
