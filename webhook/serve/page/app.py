"""Answer dry runs on a loopback port, with the code and the live state that admission uses."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Mapping

from flask import Flask, Response, request

from webhook.core.errors import InputError
from webhook.core.model import Object
from webhook.dry_run import RENDERERS, DryRun, render_page
from webhook.http.refusal import Refused
from webhook.serve.page import INDEX, SAMPLES, read_page
from webhook.serve.page.flask_app import make_app
from webhook.serve.page.guard import guard
from webhook.serve.page_process import ELSEWHERE

PARAMETERS = frozenset(("namespace", "output", "profile"))
FORM = "application/x-www-form-urlencoded"
"""The content type that ``curl`` gives every file that it sends with -d or --data-binary."""
JOINED = "the body is one line: curl's -d joins the lines of a file, --data-binary keeps them"
CONTENT_TYPES = frozenset(
    {
        "",
        "application/json",
        "application/yaml",
        "application/x-yaml",
        "text/yaml",
        "text/x-yaml",
        "text/plain",
        FORM,
    }
)
SEND = "send it: curl --data-binary @job.yaml"
HOW_TO_SEND = {"page": "paste it, drop a file, or start from a sample"}
USAGE = """fabric-injector: see what would be injected into your pods.

  curl --data-binary @job.yaml 'http://{host}/dry-run?output=diff'

Parameters: namespace=NS    namespace of objects that name none
            profile=NAME    instead of the labels
            output=json|diff|patch|pod
The body is YAML or JSON: pods, or anything that holds pod templates.
What this server knows: GET /state. In a browser, this address shows a page.
"""
TOO_MUCH = (
    f"the manifest needs more memory than the page has: give fewer objects at once, or ask elsewhere: {ELSEWHERE}"
)
OUTPUTS = {**RENDERERS, "page": ("application/json", render_page)}


def make_dry_run_app(
    judge: Callable[[str, str | None, str | None], DryRun],
    state: Callable[[], Object],
    on_exhausted: Callable[[], None] = lambda: None,
    renderers: Mapping[str, tuple[str, Callable[[DryRun], str]]] = OUTPUTS,
) -> Flask:
    """Make the application: *judge* takes a manifest, a namespace and a profile; *state* returns what the server knows.

    *on_exhausted* is called where a dry run needed more memory than there is.
    *renderers* has the content type and the writer of each ``output``.
    """
    app = make_app(__name__)
    guard(app)
    page = read_page()

    @app.get("/")
    def index() -> Response:
        if request.accept_mimetypes.best_match(["text/plain", "text/html"]) == "text/html":
            answer = Response(page[INDEX].content, content_type=page[INDEX].content_type)
        else:
            answer = Response(USAGE.format(host=request.headers["Host"]), content_type="text/plain; charset=utf-8")
        answer.vary.add("Accept")
        return answer

    @app.get("/page/<path:path>")
    def asset(path: str) -> Response:
        if path not in page:
            raise Refused(404, "not-found", f"/page/{path} is not a file of the page")
        return Response(page[path].content, content_type=page[path].content_type)

    @app.get("/state")
    def known() -> Response:
        document = {**state(), "samples": [sample._asdict() for sample in SAMPLES]}
        return Response(json.dumps(document, ensure_ascii=False), content_type="application/json")

    @app.post("/dry-run")
    def dry_run() -> Response:
        if request.mimetype not in CONTENT_TYPES:
            raise Refused(
                415, "content-type", f"content type {request.mimetype}: send application/yaml or application/json"
            )
        unknown = sorted(request.args.keys() - PARAMETERS)
        if unknown:
            raise Refused(400, "parameter", f"{unknown[0]} is not a parameter: use {', '.join(sorted(PARAMETERS))}")
        output = request.args.get("output", "json")
        if output not in renderers:
            raise Refused(400, "output", f"output={output}: choose one of {', '.join(renderers)}")
        try:
            text = request.get_data(cache=False).decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise Refused(400, "encoding", f"byte {error.start} of the body is not UTF-8; send text") from None
        with contextlib.suppress(MemoryError):  # outside of this block all that was made of the manifest is gone
            return answer(text, output)
        on_exhausted()
        raise Refused(503, "no-memory", TOO_MUCH)

    def answer(text: str, output: str) -> Response:
        try:
            run = judge(text, request.args.get("namespace"), request.args.get("profile"))
        except InputError as error:
            is_joined = request.mimetype == FORM and "\n" not in text
            raise InputError(f"{error}; {JOINED}" if is_joined else str(error)) from None
        if not (run.pods or run.ignored):
            raise Refused(400, "empty", f"expected a manifest, found nothing; {HOW_TO_SEND.get(output, SEND)}")
        content_type, render = renderers[output]
        return Response(render(run), content_type=content_type)

    return app
