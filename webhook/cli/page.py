"""Serve the page to the browser of the one person who runs ``fabric-injector page``.

Every user of this machine can connect to the port, and every web site in the browser can send
requests to it. `refuse_foreign` refuses the web sites, by Host and Origin. Other users have no key:
the printed address holds one after its ``#``, which no browser sends anywhere. The page exchanges
it, once, for a key of its own. Browsers would send a cookie to every port of this machine.
"""

import secrets
import signal
from pathlib import Path

import click
import waitress
from flask import Flask, Response, request
from werkzeug.exceptions import HTTPException

import webhook.page
from webhook.cli import options
from webhook.cli.cluster import ClusterCommand, connect_to_cluster, with_cluster
from webhook.cli.inputs import read_profiles
from webhook.cli.options import option
from webhook.cli.page_answers import PageAnswers
from webhook.core.errors import Unavailable
from webhook.core.model import Object
from webhook.core.yaml_reader import decode
from webhook.diagnose.snapshot import Unread
from webhook.dry_run import fit, render_page
from webhook.http.listener import ListenAddress, bind
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
MOST_BYTES = 3 << 20
"""Of a manifest."""
_EMPTY = "expected a manifest, found nothing; paste it, drop a file, or start from a sample"
_STRANGER = "this page is for whoever runs fabric-injector page: open the address that it printed"


@click.command("page", cls=ClusterCommand)
@option("--port", type=click.IntRange(0, 65535), default=0, help="Of 127.0.0.1; 0: a free one.")
@options.namespace(help="Default namespace; else the kubeconfig's.")
@options.profiles
@options.system_namespace
def command(port: int, namespace: str | None, profiles: Path | None, system_namespace: str) -> None:
    """Show dry run, status and check in a browser, on this machine.

    The page reads with your rights and writes nothing. Only the browser that opens the printed
    address gets answers. The link works once; after use, a new one is printed. Ctrl-C ends it.

    \b
    Examples:
      fabric-injector page
      fabric-injector page --context research-cluster -n research
      fabric-injector page --profiles changed-profiles.yaml --port 8080
    """  # noqa: D301  # \\b is click's own mark
    read_profiles(profiles)  # a wrong path ends the command, before the page opens
    serve(PageAnswers(connect_to_cluster(), namespace, profiles, system_namespace), port)


class Keys:
    """Hold the key of the printed address, which works once, and those of the opened pages.

    They are found by hash, so that the time of an answer says nothing of a key that is guessed.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._printed: set[str] = set()
        self._given_out: set[str] = set()

    def print_next(self, text: str) -> None:
        """Print *text* and the address of the next page."""
        key = secrets.token_urlsafe(32)
        self._printed = {key}
        click.echo(f"{text}\n\n  {self._url}/#key={key}\n")

    def exchange(self, key: str) -> str:
        """Return a page's own key for the printed one, which is replaced; empty for any other."""
        try:
            self._printed.remove(key)  # of several at once, one succeeds
        except KeyError:
            return ""
        own = secrets.token_urlsafe(32)
        self._given_out.add(own)
        self.print_next("The page was opened. Another browser or tab takes a new address:")
        return own

    def opens(self, key: str) -> bool:
        """Tell whether a page has this key."""
        return key in self._given_out


def make_app(answers: PageAnswers, keys: Keys) -> Flask:
    """Make the application, which sends HEADERS with each answer.

    Without a key, only the files of the page are to be had. The traceback of an internal error goes
    to the log only.
    """
    folder = Path(webhook.page.__file__).parent
    app = Flask(__name__, static_folder=folder, static_url_path="/page")
    app.config["MAX_CONTENT_LENGTH"] = MOST_BYTES
    app.json.sort_keys = False  # type: ignore[attr-defined]  # the page shows them in our order
    app.before_request(lambda: _refuse_strangers(keys))

    @app.errorhandler(Exception)
    def refuse(error: Exception) -> Response:
        refusal = refusal_for(Unavailable(str(error)) if isinstance(error, Unread) else error)
        if isinstance(error, HTTPException):
            refusal = Refusal(error.code or 500, "http", error.description or "")
        refusal.message = fit(with_cluster(refusal.message, answers.title))
        status, content, headers = refusal.response
        return Response(content, status, dict(headers))

    @app.after_request
    def bind_browsers(response: Response) -> Response:
        response.headers.update(HEADERS)
        return response

    app.get("/", endpoint="/")(lambda: app.send_static_file("index.html"))
    app.get("/state")(answers.state)
    app.get("/check")(answers.check)
    app.get("/status", endpoint="status")(lambda: answers.status(request.args.get("namespace")))
    app.get("/explain", endpoint="explain")(
        lambda: answers.explain(*map(request.args.get, ("namespace", "job")))
    )
    app.post("/dry-run", endpoint="dry-run")(lambda: _dry_run(answers))
    app.post("/session", endpoint="session")(lambda: _session(keys))
    return app


def _refuse_strangers(keys: Keys) -> None:
    """Raise Refusal for other web sites and users.

    A link on another site may open ``/``, which tells nothing to that site.
    """
    sent = request.headers
    host, origin, site = (sent.get(each, "") for each in ("Host", "Origin", "Sec-Fetch-Site"))
    if request.path == "/" and sent.get("Sec-Fetch-Mode") == "navigate":
        origin = site = ""
    if refusal := refuse_foreign(host, origin, site):
        raise refusal
    is_open = request.path in ("/", "/session") or request.path.startswith("/page/")
    if not (is_open or keys.opens(_sent_key())):
        raise Refusal(403, "key", _STRANGER)


def _sent_key() -> str:
    sent = request.authorization
    return (sent and sent.token) or ""


def _session(keys: Keys) -> Object:
    if own := keys.exchange(_sent_key()):
        return {"key": own}
    raise Refusal(403, "key", _STRANGER)


def _dry_run(answers: PageAnswers) -> Object:
    text = decode(request.get_data(cache=False))
    run = answers.judge(text, *map(request.args.get, ("namespace", "profile")))
    if not (run.pods or run.ignored):
        raise Refusal(400, "empty", _EMPTY)
    return render_page(run)


def serve(answers: PageAnswers, port: int) -> None:
    """Serve until SIGINT or SIGTERM. Raises InputError for a taken port."""
    sock = bind(ListenAddress("127.0.0.1", port))
    keys = Keys(f"http://{ListenAddress(*sock.getsockname()[:2])}")
    server = waitress.create_server(make_app(answers, keys), sockets=[sock])
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    where = f"{answers.title}; namespace {answers.namespace}"
    keys.print_next(f"{where}\nOpen in your browser, until Ctrl-C:")
    server.run()
    click.echo("ended")
