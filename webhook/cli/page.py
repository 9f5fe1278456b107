"""Serve the page to the browser of the one person who runs ``fabric-injector page``.

Every user of this machine can connect to the port, and every web site in the browser can send
requests to it. `make_loopback_app` refuses the web sites, by Host and Origin. Other users have no
key: the printed address holds one after its ``#``, which no browser sends anywhere. The page
exchanges it, once, for a key of its own. Browsers would send a cookie to every port of this
machine.
"""

import os
import secrets
import signal
import sys
import threading
from pathlib import Path
from typing import NoReturn

import click
import waitress
from flask import Flask, Response, request

from webhook.cli.input_files import read_profiles_option
from webhook.cli.options import (
    CLUSTER_HELP,
    cluster_options,
    connect_to_cluster,
    option,
    profiles_in_place_option,
    workload_namespace_option,
)
from webhook.cli.page_answers import PageAnswers
from webhook.http.listener import ListenAddress, bind
from webhook.http.refusal import Refusal
from webhook.page.app import json_response, make_app

_THREADS = 4
"""So that a dry run gets its answer while another thread lists the cluster."""
_READ_BYTES = 16 << 20
"""Up to this, a body that is too long is read to its end: else browsers would not see why."""
_STRANGER = "this page is for whoever runs fabric-injector page: open the address that it printed"
_PORT = click.IntRange(0, 65535)


@click.command("page", epilog=CLUSTER_HELP)
@option("--port", type=_PORT, default=0, help="Port of 127.0.0.1; 0 takes a free one.")
@workload_namespace_option("Default namespace; else the kubeconfig's.")
@profiles_in_place_option
@option("--system-namespace", metavar="NS", help="Namespace of fabric-injector.")
@cluster_options
def command(
    port: int, namespace: str | None, profiles: Path | None, system_namespace: str | None
) -> None:
    """Show dry run, status and check in a browser, on this machine.

    The page reads with your rights and writes nothing. Only the browser that opens the printed
    address gets answers. The link works once; after use, a new one is printed. Ctrl-C ends it.

    \b
    Examples:
      fabric-injector page
      fabric-injector page --context research-cluster -n research
      fabric-injector page --profiles changed-profiles.yaml --port 8080
    """  # noqa: D301  # \\b is click's own mark
    read_profiles_option(profiles)  # a wrong path ends the command, before the page opens
    connection = connect_to_cluster()
    serve(PageAnswers(connection, namespace, profiles, system_namespace), port)


class Keys:
    """Hold the key of the printed address, which works once, and those of the opened pages."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._given_out: set[str] = set()
        self._printed = ""

    def print_next(self, text: str) -> None:
        """Print *text* and the address of the next page."""
        self._printed = secrets.token_urlsafe(32)
        click.echo(f"{text}\n\n  {self._url}/#key={self._printed}\n")

    def exchange(self, key: str) -> str:
        """Return a page's own key for the printed one, which is replaced; empty for any other."""
        with self._lock:
            if not _is_same(key, self._printed):
                return ""
            own = secrets.token_urlsafe(32)
            self._given_out.add(own)
            self.print_next("The page was opened. Another browser or tab takes a new address:")
            return own

    def opens(self, key: str) -> bool:
        """Tell whether a page has this key."""
        with self._lock:
            return any(_is_same(key, each) for each in self._given_out)


def _is_same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def make_page_app(answers: PageAnswers, keys: Keys) -> Flask:
    """Make the application; without a key, only the files of the page are to be had."""
    app = make_app(answers.judge, answers.state)

    @app.before_request
    def refuse() -> None:
        is_file = request.path == "/" or request.path.startswith("/page/")
        if not (is_file or request.path == "/session" or keys.opens(_sent_key())):
            raise Refusal(403, "key", _STRANGER)

    @app.post("/session")
    def session() -> Response:
        if own := keys.exchange(_sent_key()):
            return json_response({"key": own})
        raise Refusal(403, "key", _STRANGER)

    @app.get("/status")
    def status() -> Response:
        return json_response(answers.status(request.args.get("namespace")))

    @app.get("/explain")
    def explain() -> Response:
        asked = request.args
        return json_response(answers.explain(asked.get("namespace"), asked.get("job") or ""))

    @app.get("/check")
    def check() -> Response:
        return json_response(answers.check())

    return app


def _sent_key() -> str:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key if scheme == "Bearer" else ""


def serve(answers: PageAnswers, port: int) -> NoReturn:
    """Serve until SIGINT or SIGTERM, and end the process. Raises InputError for a taken port."""
    sock = bind(ListenAddress("127.0.0.1", port))
    keys = Keys(f"http://{ListenAddress(*sock.getsockname()[:2])}")
    server = waitress.create_server(
        make_page_app(answers, keys),
        sockets=[sock],
        threads=_THREADS,
        max_request_body_size=_READ_BYTES,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    where = f"{answers.title}; namespace {answers.namespace}"
    keys.print_next(f"{where}\nOpen in your browser, until Ctrl-C:")
    server.run()
    raise AssertionError("the server ended by itself")


def _end(*_: object) -> NoReturn:
    click.echo("ended")
    sys.stdout.flush()
    os._exit(0)  # a thread may wait half a minute for the cluster's answer
