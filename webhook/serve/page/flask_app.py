"""Make Flask applications that answer failures alike."""

from __future__ import annotations

import logging
from collections.abc import Callable
from http import HTTPStatus

from flask import Flask, Response
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from webhook.http.refusal import INTERNAL, Refusal, refusal_for

log = logging.getLogger(__name__)


def make_app(name: str, on_refused: Callable[[Refusal], None] = lambda refusal: None) -> Flask:
    """Make an application without routes, where each exception becomes the answer that ``refusal`` names for it.

    *on_refused* gets each of them; the traceback of an internal error goes to the log, never into the answer.
    """
    app = Flask(name, static_folder=None)

    def refuse(error: Exception) -> Response:
        refusal = _of_http(error) if isinstance(error, HTTPException) else refusal_for(error)
        if refusal is INTERNAL:
            log.error("internal error", exc_info=error)
        on_refused(refusal)
        return Response(refusal.body, refusal.code, refusal.headers)

    app.register_error_handler(Exception, refuse)
    return app


def _of_http(error: HTTPException) -> Refusal:
    code = error.code or HTTPStatus.INTERNAL_SERVER_ERROR
    headers = {"Allow": ", ".join(sorted(error.valid_methods or ()))} if isinstance(error, MethodNotAllowed) else {}
    return Refusal(code, HTTPStatus(code).phrase.lower().replace(" ", "-"), error.description or "", headers)
