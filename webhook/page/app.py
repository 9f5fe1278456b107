"""Answer what the page asks: its files, what is known of the cluster, and dry runs.

No web page of another origin gets an answer, and nothing is loaded from elsewhere.
"""

import json
from collections.abc import Callable, Iterable
from http import HTTPStatus
from importlib.resources import files
from pathlib import PurePath

from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException, MethodNotAllowed

from webhook import __version__
from webhook.core import names
from webhook.core.model import Namespace, Object
from webhook.core.profiles import Profiles
from webhook.dry_run import DryRun, render_page
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
CONTENT_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".yaml": "text/plain; charset=utf-8",
}
SAMPLES = {
    "samples/torchx.yaml": ("TorchX job", "dist.ddp on Volcano: two ranks, c10d"),
    "samples/pytorchjob.yaml": ("PyTorchJob", "a Kubeflow master and three workers"),
    "samples/jobset.yaml": ("JobSet", "an indexed Job that names its own rank 0"),
    "samples/web.yaml": ("A Deployment that does not train", "and stays as it is"),
    "samples/refused.yaml": ("A pod that could never start", "its network does not exist"),
    "demo/torchx-pods.yaml": ("The demo's pods", "as Volcano creates them"),
}
"""Manifests to start from, with title and what each is."""
MOST_BYTES = 3 << 20
"""Of a manifest."""
_EMPTY = "expected a manifest, found nothing; paste it, drop a file, or start from a sample"


def make_app(
    judge: Callable[[str, str | None, str | None], DryRun], state: Callable[[], Object]
) -> Flask:
    """Make the application: *judge* takes a manifest, a namespace and a profile."""
    app = make_loopback_app(__name__)
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    samples = [
        {"path": path, "title": title, "about": about, "namespace": "research" * ("demo" in path)}
        for path, (title, about) in SAMPLES.items()
    ]

    @app.get("/")
    def index() -> Response:
        return read_file("index.html")

    @app.get("/page/<path:path>")
    def file(path: str) -> Response:
        return read_file(path)

    @app.get("/state")
    def known() -> Response:
        return json_response({**state(), "samples": samples})

    @app.post("/dry-run")
    def dry_run() -> Response:
        run = judge(_body_text(), request.args.get("namespace"), request.args.get("profile"))
        if not (run.pods or run.ignored):
            raise Refusal(400, "empty", _EMPTY)
        return json_response(render_page(run))

    return app


def make_loopback_app(name: str) -> Flask:
    """Make an application without routes, which sends HEADERS with each answer.

    A link on another site may open ``/``, which tells nothing to that site. The traceback of an
    internal error goes to the log only.
    """
    app = Flask(name, static_folder=None)

    @app.before_request
    def guard() -> Response | None:
        headers = ("Host", "Origin", "Sec-Fetch-Site")
        host, origin, site = [request.headers.get(each, "") for each in headers]
        if request.path == "/" and request.headers.get("Sec-Fetch-Mode") == "navigate":
            origin = site = ""
        refusal = refuse_foreign(host, origin, site)
        return _answer(refusal) if refusal else None

    @app.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        return _answer(_of_http(error) if isinstance(error, HTTPException) else refusal_for(error))

    @app.after_request
    def bind(response: Response) -> Response:
        response.headers.update(HEADERS)
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


def read_file(path: str) -> Response:
    """Answer with a file of the page, or of the demo; raise Refused where there is no such file."""
    package, _, name = path.partition("/") if path.startswith("demo/") else ("page", "", path)
    file, kind = (
        files(f"webhook.{package}").joinpath(name),
        CONTENT_TYPES.get(PurePath(name).suffix),
    )
    if kind is None or ".." in path or not file.is_file():
        raise Refusal(404, "not-found", f"/page/{path} is not a file of the page")
    return Response(file.read_bytes(), content_type=kind)


def json_response(document: Object) -> Response:
    """Answer with a JSON document."""
    return Response(json.dumps(document, ensure_ascii=False), content_type="application/json")


def _body_text() -> str:
    """Return the body of the request as text; raise Refused where it is not UTF-8."""
    try:
        return request.get_data(cache=False).decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the body is not UTF-8; send text"
        raise Refusal(400, "encoding", problem) from None


def state_document(
    profiles: Profiles, namespaces: Iterable[Namespace], problems: Iterable[str] = ()
) -> Object:
    """Return what the form needs, by name. *problems*: what could not be read, and why.

    Shape: ``{"version", "problems": [text], "namespaces": [{"name", "profile", "observed"}],
    "profiles": [{"name"}]}``.
    """
    spaces = [
        {
            "name": space.name,
            "profile": space.labels.get(names.PROFILE, ""),
            "observed": space.labels.get(names.MODE) == names.MODE_OBSERVE,
        }
        for space in sorted(namespaces, key=lambda each: each.name)
    ]
    return {
        "version": __version__,
        "problems": list(problems),
        "namespaces": spaces,
        "profiles": [{"name": name} for name in sorted(profiles.profiles)],
    }
