"""Keep web pages of other origins from a loopback port: check who asks, and limit what browsers do with the answers."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from flask import Flask, Response, request

from webhook.http.refusal import Refused

OWN_SITES = ("", "none", "same-origin")
"""Values of Sec-Fetch-Site: absent outside browsers, ``none`` for an address that a person typed. Source: W3C Fetch Metadata."""
POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self'",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types 'none'",
    )
)
HEADERS = {
    "Content-Security-Policy": POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def guard(app: Flask) -> None:
    """Refuse requests under another name (421: DNS rebinding) or from another site (403), and send HEADERS with each answer.

    A link on another site may open ``/``, which tells nothing to that site.
    """

    @app.before_request
    def refuse() -> None:
        host = request.headers.get("Host", "")
        if not is_loopback(host):
            raise Refused(
                421, "host", "this port answers only http://localhost: a web page under another name must not read it"
            )
        is_opened = request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        if not is_opened and not is_own(
            host, request.headers.get("Origin", ""), request.headers.get("Sec-Fetch-Site", "")
        ):
            raise Refused(
                403, "cross-site", "the request comes from a web page of another origin: open this port's own"
            )

    @app.after_request
    def bind(response: Response) -> Response:
        for name, value in HEADERS.items():
            response.headers.setdefault(name, value)
        return response


def is_loopback(host: str) -> bool:
    """Return whether a Host header names this machine: ``localhost``, ``127.0.0.1:8081``, ``[::1]:8081``."""
    name = host.rpartition(":")[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False


def is_own(host: str, origin: str, site: str) -> bool:
    """Return whether a request comes from this origin or from no web page, by its headers Host, Origin and Sec-Fetch-Site."""
    if site not in OWN_SITES:
        return False
    if not origin:
        return True
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False
