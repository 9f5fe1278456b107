"""Make the Flask application of a loopback port: guarded against web pages of other origins."""

from http import HTTPStatus

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from webhook.http.loopback import refuse_foreign
from webhook.http.refusal import Refusal, refusal_for

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


def body_text() -> str:
    """Return the body of the request as text; raise Refusal where it is not UTF-8."""
    try:
        return request.get_data(cache=False).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the body is not UTF-8; send text"
        raise Refusal(400, "encoding", problem) from None


def make_loopback_app(name: str) -> Flask:
    """Make an application without routes, which sends HEADERS with each answer.

    A link on another site may open ``/``, which tells nothing to that site. The traceback of an
    internal error goes to the log only.
    """
    app = Flask(name, static_folder=None)

    @app.before_request
    def guard() -> Response | None:
        names = ("Host", "Origin", "Sec-Fetch-Site")
        host, origin, site = [request.headers.get(each, "") for each in names]
        if request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate":
            origin = site = ""
        refusal = refuse_foreign(host, origin, site)
        return _answer(refusal) if refusal else None

    @app.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        return _answer(_of_http(error) if isinstance(error, HTTPException) else refusal_for(error))

    @app.after_request
    def bind(response: Response) -> Response:
        for header, value in HEADERS.items():
            response.headers.setdefault(header, value)
        return response

    return app


def _answer(refusal: Refusal) -> Response:
    status, content, headers = refusal.response
    return Response(content, status, dict(headers))


def _of_http(error: HTTPException) -> Refusal:
    code = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {}
    if isinstance(error, MethodNotAllowed):
        headers["Allow"] = ", ".join(sorted(error.valid_methods or ()))
    reason = HTTPStatus(code).phrase.lower().replace(" ", "-")
    return Refusal(code, reason, error.description or "", headers)
