"""Serve only clients whose verified certificate carries an allowed name."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import Any

from uvicorn.config import Config

from webhook.http.bridge import Bridge
from webhook.http.connection import Connections, HttpConnection
from webhook.http.logs import log_fields

log = logging.getLogger(__name__)


class NamedConnection(HttpConnection):
    """Pass requests of clients without an allowed name to the app *strangers*; the certificate is looked at once per connection."""

    def __init__(self, config: Config, connections: Connections, *, names: frozenset[str], strangers: Bridge) -> None:
        super().__init__(config, connections)
        self._names, self._strangers = names, strangers

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]  # uvicorn narrows it too
        """Set the connection up, and choose who answers by the certificate, which is known once the handshake is done."""
        super().connection_made(transport)
        found = names_of(transport.get_extra_info("peercert") or {})
        if self._names.isdisjoint(found):
            self.app = self._strangers
            carried, allowed = ", ".join(found) or "no name", ", ".join(sorted(self._names))
            message = f"client refused: its certificate carries {carried}, and none of the allowed {allowed}"
            log_fields(log, logging.WARNING, message, {"peer": self.client[0] if self.client else ""})


def names_of(certificate: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the common names and DNS names of a certificate as ``ssl.SSLSocket.getpeercert`` shows it."""
    common = [value for part in certificate.get("subject", ()) for key, value in part if key == "commonName"]
    dns = [value for kind, value in certificate.get("subjectAltName", ()) if kind == "DNS"]
    return tuple(dict.fromkeys([*common, *dns]))
