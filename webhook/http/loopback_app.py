"""Make Flask applications for a loopback port: guarded against web pages of other origins, each failure an answer of ``refusal``."""

from __future__ import annotations

import ipaddress
import logging
from http import HTTPStatus
from urllib.parse import urlsplit

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from webhook.http.refusal import INTERNAL, Refusal, Refused, refusal_for

OWN_SITES = ("", "none", "same-origin")
"""Values of Sec-Fetch-Site: absent outside browsers, ``none`` for an address that a person typed. Source: W3C Fetch Metadata."""
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
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

log = logging.getLogger(__name__)


def body_text() -> str:
    """Return the body of the request as text; raise Refused where it is not UTF-8."""
    try:
        return request.get_data(cache=False).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the body is not UTF-8; send text"
        raise Refused(400, "encoding", problem) from None


def make_loopback_app(name: str) -> Flask:
    """Make an application without routes.

    It refuses requests under another name (421: DNS rebinding) or from another site (403), and sends HEADERS with each answer. A link
    on another site may open ``/``, which tells nothing to that site. The traceback of an internal error goes to the log only.
    """
    app = Flask(name, static_folder=None)

    @app.before_request
    def guard() -> None:
        host = request.headers.get("Host", "")
        if not is_loopback(host):
            advice = "a web page under another name must not read it"
            raise Refused(421, "host", f"this port answers only http://localhost: {advice}")
        is_opened = request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate"
        origin = request.headers.get("Origin", "")
        site = request.headers.get("Sec-Fetch-Site", "")
        if not is_opened and not is_own(host, origin, site):
            found = "the request comes from a web page of another origin"
            raise Refused(403, "cross-site", f"{found}: open this port's own")

    @app.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        refusal = _of_http(error) if isinstance(error, HTTPException) else refusal_for(error)
        if refusal is INTERNAL:
            log.error("internal error", exc_info=error)
        return Response(refusal.body, refusal.code, refusal.headers)

    @app.after_request
    def bind(response: Response) -> Response:
        for header, value in HEADERS.items():
            response.headers.setdefault(header, value)
        return response

    return app


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


def _of_http(error: HTTPException) -> Refusal:
    code = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {}
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    reason = HTTPStatus(code).phrase.lower().replace(" ", "-")
    return Refusal(code, reason, error.description or "", headers)
