"""Turn every failure into one answer: a status code, a metric label and a sentence."""

import json
import logging
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any, NamedTuple, TypeVar

from webhook.core.errors import InputError, MalformedReview, Unavailable

T = TypeVar("T")
JSON = {"Content-Type": "application/json"}

log = logging.getLogger(__name__)


class Response(NamedTuple):
    """Hold an answer."""

    status: int
    content: bytes
    headers: Mapping[str, str] = JSON


class Refusal(Exception):
    """Describe an answer that holds no decision; it is returned, or raised.

    *code* is for the client, *reason* for the metric, *message* for people.
    """

    def __init__(
        self, code: int, reason: str, message: str, headers: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(message)
        self.code, self.reason, self.message = code, reason, message
        self.headers = headers or {}

    @property
    def decision(self) -> str:
        """Return the metric label beside *reason*: ``error`` is our fault, ``refused`` is not."""
        return "error" if self.code == HTTPStatus.INTERNAL_SERVER_ERROR else "refused"

    @property
    def response(self) -> Response:
        """Return a Kubernetes ``Status``, whose message the API server shows to the user.

        It asks again after a 503 that has Retry-After.
        """
        again = {"Retry-After": "1"} if self.code == HTTPStatus.SERVICE_UNAVAILABLE else {}
        status = {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "message": self.message,
            "reason": HTTPStatus(self.code).phrase.replace(" ", ""),
            "code": self.code,
        }
        content = json.dumps(status).encode()
        return Response(self.code, content, {**JSON, **again, **self.headers})


TOO_SLOW = Refusal(408, "too-slow", "the request body did not arrive in time")
TOO_LARGE = Refusal(413, "too-large", "the request body is too large")
TOO_DEEP = Refusal(400, "too-deep", "the request body is nested too deeply")
STRANGER = Refusal(
    403,
    "client-name",
    "the client certificate carries no allowed name; the log of fabric-injector says which it has",
)
INTERNAL = Refusal(500, "internal", "internal error; the log of fabric-injector has the details")
OVERLOADED = Refusal(503, "overloaded", "too many requests are waiting; ask again")
NO_MEMORY = Refusal(503, "no-memory", "not enough memory for this request now; ask again")
STARTING = Refusal(503, "starting", "not ready yet, /readyz says why; ask again")


def misdirected(
    path: str, method: str, paths: Sequence[str], methods: Sequence[str], what: str
) -> Refusal | None:
    """Refuse all but these *methods* on these *paths*; *what* is to be asked instead."""
    if path not in paths:
        return Refusal(404, "not-found", f"{path[:100]} is not found: {what}")
    if method not in methods:
        message = f"the method {method} is not answered: {what}"
        return Refusal(405, "method-not-allowed", message, {"Allow": ", ".join(methods)})
    return None


def answered(function: Callable[..., T], *arguments: Any) -> T | Refusal:
    """Return what *function* returns, or the refusal that its failure means.

    No thread may raise instead: asyncio takes no StopIteration from it, and nobody would answer.
    """
    try:
        return function(*arguments)
    except Exception as error:
        return refusal_for(error)


def refusal_for(error: Exception) -> Refusal:
    """Map an exception to its answer; log one that is not raised on purpose."""
    match error:
        case Refusal():
            return error
        case MalformedReview():
            return Refusal(400, "malformed", str(error))
        case InputError():
            return Refusal(400, "input", str(error))
        case Unavailable():
            return Refusal(503, "unavailable", str(error))
        case RecursionError():
            return TOO_DEEP
        case MemoryError():
            return NO_MEMORY
    log.error("internal error", exc_info=error)
    return INTERNAL
