"""Answer what the page asks: its files, what is known of the cluster, and dry runs."""

import json
from collections.abc import Callable

from flask import Flask, Response, request

from webhook.core.model import Object
from webhook.dry_run import DryRun, render_json, render_page
from webhook.http.refusal import Refusal
from webhook.page import INDEX, SAMPLES, Asset, read_page
from webhook.page.loopback_app import body_text, make_loopback_app

MOST_BYTES = 3 << 20
"""Of a manifest."""
OUTPUTS = {"json": render_json, "page": render_page}
_EMPTY = "expected a manifest, found nothing; paste it, drop a file, or start from a sample"


def make_app(
    judge: Callable[[str, str | None, str | None], DryRun], state: Callable[[], Object]
) -> Flask:
    """Make the application: *judge* takes a manifest, a namespace and a profile."""
    app = make_loopback_app(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    page = read_page()

    @app.get("/")
    def index() -> Response:
        return _file(page[INDEX])

    @app.get("/page/<path:path>")
    def asset(path: str) -> Response:
        if path not in page:
            raise Refusal(404, "not-found", f"/page/{path} is not a file of the page")
        return _file(page[path])

    @app.get("/state")
    def known() -> Response:
        return json_response({**state(), "samples": [sample._asdict() for sample in SAMPLES]})

    @app.post("/dry-run")
    def dry_run() -> Response:
        render = OUTPUTS.get(request.args.get("output", "json"))
        if render is None:
            raise Refusal(400, "output", f"output: choose one of {', '.join(OUTPUTS)}")
        run = judge(body_text(), request.args.get("namespace"), request.args.get("profile"))
        if not (run.pods or run.ignored):
            raise Refusal(400, "empty", _EMPTY)
        return Response(render(run), content_type="application/json")

    return app


def _file(asset: Asset) -> Response:
    return Response(asset.content, content_type=asset.content_type)


def json_response(document: Object) -> Response:
    """Answer with a JSON document."""
    return Response(json.dumps(document, ensure_ascii=False), content_type="application/json")
