"""Make the pool of connections to the API server, and make it anew when its certificate files are replaced."""

from __future__ import annotations

import logging
import socket
import ssl
import threading
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import urllib3
from urllib3.connection import HTTPConnection
from urllib3.exceptions import InsecureRequestWarning

from webhook.core.errors import InputError
from webhook.kube.credentials import Credentials

SECONDS_BETWEEN_CHECKS = 60.0
"""How long a replaced certificate file may go unnoticed."""
IDLE_CONNECTIONS = 16
_log = logging.getLogger(__name__)


class Pool:
    """Hold the pool for one API server. Safe to share between threads."""

    def __init__(self, credentials: Credentials, monotonic: Callable[[], float]) -> None:
        """Make the first pool, without contacting anything; raise InputError where certificates or keys cannot be used."""
        self._credentials = credentials
        self._monotonic = monotonic
        self._lock = threading.Lock()
        self._checked = monotonic()
        self._files = _file_state(credentials)
        self._manager = _manager(credentials)

    def current(self) -> urllib3.PoolManager:
        """Give the pool to send through; the former one where replaced files are no good."""
        with self._lock:
            if self._monotonic() - self._checked >= SECONDS_BETWEEN_CHECKS:
                self._checked = self._monotonic()
                files = _file_state(self._credentials)
                if files != self._files:
                    self._files = files
                    self._renew()
            return self._manager

    def _renew(self) -> None:
        try:
            self._manager = _manager(self._credentials)
        except InputError as error:
            _log.warning("replaced certificate files are not used: %s", error)


def client_context(credentials: Credentials) -> ssl.SSLContext:
    """Build the TLS context; raise InputError naming what cannot be used."""
    part, advice = "certificate authority", "give a PEM file"
    try:
        context = ssl.create_default_context(cafile=credentials.ca)
        # Python 3.13 is strict here, and refuses the authorities of many clusters.
        context.verify_flags &= ~ssl.VERIFY_X509_STRICT
        if not credentials.verify:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        if credentials.certificate is not None:
            part = "client certificate and key"
            advice = "give a matching PEM pair, the key without a passphrase"
            pair = credentials.certificate, credentials.key
            context.load_cert_chain(*pair, password=_no_passphrase)
    except (OSError, ValueError) as error:
        problem = f"{credentials.source}: {part}: not usable ({error})"
        raise InputError(f"{problem}; {advice}") from None
    return context


def _manager(credentials: Credentials) -> urllib3.PoolManager:
    settings: dict[str, Any] = {"maxsize": IDLE_CONNECTIONS, "socket_options": _socket_options()}
    if credentials.server.startswith("https://"):
        settings["ssl_context"] = client_context(credentials)
        settings["server_hostname"] = credentials.server_name or None
        if not credentials.verify:
            urllib3.disable_warnings(InsecureRequestWarning)
            _log.warning(
                "%s: insecure-skip-tls-verify: the API server's identity is not checked",
                credentials.source,
            )
    if not credentials.proxy:
        return urllib3.PoolManager(**settings)
    user = urllib3.util.parse_url(credentials.proxy).auth
    headers = urllib3.make_headers(proxy_basic_auth=unquote(user)) if user else None
    return urllib3.ProxyManager(credentials.proxy, proxy_headers=headers, **settings)


def _socket_options() -> list[tuple[int, int, int]]:
    """Ask for TCP keep-alive, so that a connection whose other end is gone breaks within about a minute."""
    wanted = {"TCP_KEEPIDLE": 30, "TCP_KEEPINTVL": 10, "TCP_KEEPCNT": 3}
    known = [
        (socket.IPPROTO_TCP, getattr(socket, key), value)
        for key, value in wanted.items()
        if hasattr(socket, key)
    ]
    return [
        *HTTPConnection.default_socket_options,
        (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
        *known,
    ]


def _file_state(credentials: Credentials) -> object:
    """Give a value that changes when a certificate file, or a link on the way, is replaced."""
    named = (credentials.ca, credentials.certificate, credentials.key)
    try:
        found = [file.stat() for file in named if file is not None]
    except OSError:
        return None
    return [(stat.st_mtime_ns, stat.st_ino) for stat in found]


def _no_passphrase() -> str:
    raise ValueError("the key has a passphrase")
