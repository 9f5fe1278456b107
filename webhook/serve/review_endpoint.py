"""Answer AdmissionReviews at one path: what is refused, what a failure becomes and where it is worked on, whatever is reviewed."""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Awaitable, Callable
from typing import Protocol

from webhook.http.endpoint import Endpoint, Limits
from webhook.http.refusal import INTERNAL, OVERLOADED, Refusal, refusal_for
from webhook.http.request import Request, Response, header_lines, response_of
from webhook.http.threads import Threads, ThreadsBusy
from webhook.world.lookup import MustAsk

_JSON = header_lines({"content-type": "application/json"})

log = logging.getLogger(__name__)


class Recorder(Protocol):
    """Record what becomes of requests."""

    def refused(self, refusal: Refusal, received_at: float | None = None) -> None:
        """Record an answer that holds no review."""


class ReviewEndpoint(Endpoint):
    """Answer POSTs of AdmissionReviews to *path*. *refuse* says why none can be answered now, or None.

    Those that may have to wait for the cluster are answered in *threads* threads, and *waiting* more wait for these.
    """

    def __init__(
        self,
        path: str,
        record: Recorder,
        limits: Limits,
        refuse: Callable[[], Refusal | None],
        *,
        threads: int,
        waiting: int,
    ) -> None:
        super().__init__(limits, refuse=refuse, on_refused=record.refused)
        self._path, self._recorder = path, record
        self._threads = Threads(path.strip("/"), threads=threads, waiting=waiting)

    def stop(self) -> None:
        """Begin nothing more in the threads."""
        self._threads.stop()

    @abstractmethod
    def review(self, request: Request, body: bytes) -> Response | Awaitable[Response]:
        """Answer the review *body*, by `reviewed` or `reviewed_later`."""

    def answer(self, request: Request) -> Response | Awaitable[Response]:
        """Answer one request."""
        if refusal := _misdirected(request, self._path):
            return self._refused(request, refusal)
        return self.review(request, request.body.take())

    def reviewed(self, request: Request, work: Callable[[], bytes]) -> Response:
        """Answer with what *work* returns, or with what its failure means; only MustAsk is raised."""
        try:
            return Response(200, _JSON, work())
        except MustAsk:
            raise
        except BaseException as error:  # also StopIteration, which no future takes, and SystemExit
            refusal = refusal_for(error)
            if refusal is INTERNAL:
                log.error("internal error", exc_info=error)
            return self._refused(request, refusal)

    async def reviewed_later(self, request: Request, work: Callable[[], bytes]) -> Response:
        """Answer as `reviewed` does, in a thread."""
        try:
            return await self._threads.run(lambda: self.reviewed(request, work))
        except ThreadsBusy:
            return self._refused(request, OVERLOADED)

    def _refused(self, request: Request, refusal: Refusal) -> Response:
        self._recorder.refused(refusal, request.received_at)
        return response_of(refusal)


def _misdirected(request: Request, path: str) -> Refusal | None:
    """Say what is wrong with a request, apart from its body."""
    if request.path != path:
        return Refusal(
            404,
            "not-found",
            f"{request.path[:100]} is not found; an AdmissionReview goes to {path}",
        )
    if request.method != "POST":
        message = f"the method {request.method} is not answered: POST an AdmissionReview"
        return Refusal(405, "method-not-allowed", message, {"Allow": "POST"})
    content_type = request.headers.get(b"content-type", b"")
    if content_type != b"application/json":
        kind = content_type.partition(b";")[0].strip().lower().decode("latin-1")
        if kind not in ("application/json", ""):
            message = f"content type {kind[:100]}: an AdmissionReview is application/json"
            return Refusal(415, "content-type", message)
    return None
