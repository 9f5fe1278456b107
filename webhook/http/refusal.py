"""Turn every failure into one answer: a status code, a metric label and a sentence."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from http import HTTPStatus

from webhook.core.errors import InputError, MalformedReview, Unavailable

RETRY_AFTER_SECONDS = "1"
"""A 503 with Retry-After is asked again by the API server, within its own deadline; one without it is final."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Describe an answer that holds no decision: *code* for the client, *reason* for the metric, *message* for people."""

    code: int
    reason: str
    message: str
    extra_headers: dict[str, str] = field(default_factory=dict)

    @property
    def decision(self) -> str:
        """Return the metric label beside *reason*: ``error`` is our fault, ``refused`` is not."""
        return "error" if self.code == HTTPStatus.INTERNAL_SERVER_ERROR else "refused"

    @property
    def headers(self) -> dict[str, str]:
        """Return the headers that belong to the answer."""
        headers = {"Content-Type": "application/json", **self.extra_headers}
        if self.code == HTTPStatus.SERVICE_UNAVAILABLE:
            headers["Retry-After"] = RETRY_AFTER_SECONDS
        return headers

    @property
    def body(self) -> bytes:
        """Return a Kubernetes ``Status``: the API server shows its message to the user."""
        status = {
            "apiVersion": "v1",
            "kind": "Status",
            "status": "Failure",
            "message": self.message,
            "reason": HTTPStatus(self.code).phrase.replace(" ", ""),
            "code": self.code,
        }
        return json.dumps(status).encode()


TOO_SLOW = Refusal(408, "too-slow", "the request body did not arrive in time")
TOO_LARGE = Refusal(413, "too-large", "the request body is too large")
TOO_DEEP = Refusal(400, "too-deep", "the request body is nested too deeply")
STRANGER = Refusal(
    403,
    "client-name",
    "the client certificate carries no allowed name; the log of fabric-injector says which it carries",
)
INTERNAL = Refusal(500, "internal", "internal error; the log of fabric-injector has the details")
OVERLOADED = Refusal(503, "overloaded", "too many requests are waiting; ask again")
NO_MEMORY = Refusal(503, "no-memory", "not enough memory for this request now; ask again")
UNAVAILABLE = Refusal(
    503,
    "unavailable",
    "the cluster cannot be asked; ask again; the log of fabric-injector says why",
)
STARTING = Refusal(503, "starting", "not ready yet, /readyz says why; ask again")


class Refused(Exception):
    """End a request with the answer ``refusal``."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.refusal = Refusal(code, reason, message)


def refusal_for(error: BaseException) -> Refusal:
    """Map an exception to the answer that it means; any that is not raised on purpose is INTERNAL."""
    match error:
        case Refused():
            return error.refusal
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
    return INTERNAL
