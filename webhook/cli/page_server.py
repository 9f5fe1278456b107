"""Serve the page on a loopback port to the browser of the one person who runs the command, and to nobody else.

Every user of this machine can connect to the port, and every web site in the browser can send requests to it. The guard of the page
refuses the web sites, by Host and Origin. Other users are refused for they have no key: the address that is printed holds one after its
``#``, which no browser sends anywhere. The page exchanges it, once, for a key of its own, which it sends with each question. A cookie
would not do: browsers send it to every port of this machine.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

import click
import waitress
from flask import Flask, Response, request

from webhook.cli.page_answers import PageAnswers
from webhook.http.listener import ListenAddress, bind
from webhook.http.refusal import Refused
from webhook.page.app import json_response, make_app

_THREADS = 4
"""A dry run is answered while the cluster is being listed."""
_READ_BYTES = 16 << 20
"""What is longer than the application takes, and not longer than this, is read to its end: else browsers would not see the answer."""
_STRANGER = (
    "this page is for the one who runs fabric-injector page: open the address that it printed last"
)


class Keys:
    """Hold the key of the printed address, which is good once, and those of the pages that were opened by one."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._printed = secrets.token_urlsafe(32)
        self._given_out: set[str] = set()

    @property
    def printed(self) -> str:
        """Return the key that the next page is opened by."""
        return self._printed

    def exchange(self, key: str) -> str:
        """Return a page's own key for the printed one, which is replaced; an empty text for any other."""
        with self._lock:
            if not _is_same(key, self._printed):
                return ""
            own, self._printed = secrets.token_urlsafe(32), secrets.token_urlsafe(32)
            self._given_out.add(own)
            return own

    def opens(self, key: str) -> bool:
        """Tell whether a page has this key."""
        with self._lock:
            return any(_is_same(key, each) for each in self._given_out)


def _is_same(one: str, other: str) -> bool:
    return secrets.compare_digest(one.encode(), other.encode())


def make_page_app(answers: PageAnswers, keys: Keys, on_opened: Callable[[], None]) -> Flask:
    """Make the application: the dry run's page, with ``/status``, ``/explain`` and ``/check``, for those who have a key.

    The files of the page are for everybody: they hold nothing of the cluster. *on_opened* is called when the printed key was used.
    """
    app = make_app(answers.judge, answers.state)

    @app.before_request
    def refuse() -> None:
        is_file = request.path == "/" or request.path.startswith("/page/")
        if not (is_file or request.path == "/session" or keys.opens(_sent_key())):
            raise Refused(403, "key", _STRANGER)

    @app.post("/session")
    def session() -> Response:
        own = keys.exchange(_sent_key())
        if not own:
            raise Refused(403, "key", _STRANGER)
        on_opened()
        return json_response({"key": own})

    @app.get("/status")
    def status() -> Response:
        return json_response(answers.status(request.args.get("namespace")))

    @app.get("/explain")
    def explain() -> Response:
        return json_response(
            answers.explain(request.args.get("namespace"), request.args.get("job") or "")
        )

    @app.get("/check")
    def check() -> Response:
        return json_response(answers.check())

    return app


def _sent_key() -> str:
    scheme, _, key = request.headers.get("Authorization", "").partition(" ")
    return key if scheme == "Bearer" else ""


def serve(answers: PageAnswers, port: int) -> NoReturn:
    """Serve until SIGINT or SIGTERM, and end the process. Raises InputError where the port is taken."""
    sock = bind(ListenAddress("127.0.0.1", port))
    keys = Keys()
    url = f"http://{ListenAddress(*sock.getsockname()[:2])}/#key="

    def tell_next() -> None:
        click.echo(
            f"The page was opened. Another browser, or a new tab, takes a new address:\n\n  {url}{keys.printed}\n"
        )

    server = waitress.create_server(
        make_page_app(answers, keys, tell_next),
        sockets=[sock],
        threads=_THREADS,
        max_request_body_size=_READ_BYTES,
    )
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, _end)
    click.echo(
        f"{answers.title}; namespace {answers.namespace}\nOpen in your browser, until Ctrl-C:\n\n  {url}{keys.printed}\n"
    )
    server.run()
    raise AssertionError("the server ended by itself")


def _end(*_: object) -> NoReturn:
    click.echo("ended")
    sys.stdout.flush()
    os._exit(0)  # a thread may still wait for the cluster's answer, half a minute long
