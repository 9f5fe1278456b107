"""Answer ``POST /dry-run`` on a loopback port as admission would answer about each pod, by the same profiles and cluster.

The only module of this process that loads Flask and the dry run, and only with the first request.
"""

from __future__ import annotations

import gc
import io
import json
import logging
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, cast

import waitress

from webhook.core.model import World
from webhook.core.profiles import Profiles
from webhook.http.listener import ListenAddress
from webhook.http.refusal import Refused

if TYPE_CHECKING:
    from flask import Flask, Response

    from webhook.dry_run import DryRun

MOST_BYTES = 256 << 10
MOST_PODS = 50
MOST_VALUES = 100_000
"""Values of the manifest, aliases counted as often as they are used: some 60 MB, and admission has little memory to spare."""
PARAMETERS = ("namespace", "profile")
_CONNECTIONS = 8
_IDLE_SECONDS = 5
"""After which a connection is closed whose client sends nothing: so few of them would keep others out for two minutes."""
_MOST_CHARACTERS = 8 << 20
"""Of an answer: that of 50 ordinary pods has 1.3 million. Several may wait for clients that do not read."""
_READ_BYTES = 1 << 20
"""Longest body that waitress reads: a longer one it refuses itself, without a word about what to do."""
_ANSWER_BYTES = 4 * _MOST_CHARACTERS
"""More than any answer: waitress would write what is beyond into a file, and there is none that may be written."""
_SWITCH_SECONDS = 0.0001
"""How long admission waits for the interpreter each time: with Python's 5 ms it would not keep up with 300 requests a second."""
_WORK_SECONDS, _REST_SECONDS = 0.002, 0.008
"""How long a dry run works, and then leaves the interpreter to admission: each time that they take turns costs admission more."""
_ELSEWHERE = "give fewer objects at once, or run fabric-injector dry-run -f FILE"


class DryRuns:
    """Serve the listening socket *sock*, one manifest at a time. *world* gives the cluster for one."""

    def __init__(
        self, sock: socket.socket, profiles: Callable[[], Profiles], world: Callable[[], World]
    ) -> None:
        self.url = f"http://{ListenAddress(*sock.getsockname()[:2])}"
        self._socket, self._profiles, self._world = sock, profiles, world
        self._app: Flask | None = None

    def start(self) -> None:
        """Start to accept connections, in a thread that ends with the process."""
        sys.setswitchinterval(_SWITCH_SECONDS)
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)  # it warns of each request
        server = waitress.create_server(
            self._call,
            sockets=[self._socket],
            threads=1,
            connection_limit=_CONNECTIONS,
            channel_timeout=_IDLE_SECONDS,
            cleanup_interval=_IDLE_SECONDS,
            max_request_body_size=_READ_BYTES,
            inbuf_overflow=_READ_BYTES,
            outbuf_overflow=_ANSWER_BYTES,
            ident=None,
        )
        threading.Thread(target=server.run, name="dry-run-server", daemon=True).start()

    def _call(self, environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        if self._app is None:
            self._app = self._make_app()
        return self._app(environ, start_response)

    def _make_app(self) -> Flask:
        from flask import Response, request

        from webhook.dry_run import judge as judge_pods
        from webhook.dry_run.templates import find_templates, parse_documents
        from webhook.http.loopback_app import body_text, make_loopback_app

        app = make_loopback_app(__name__)

        def judge(text: str, namespace: str | None, profile: str | None) -> str:
            pause = _Pause()
            documents = parse_documents(text, most=MOST_VALUES, pause=pause)
            found = find_templates(documents, namespace, most_pods=MOST_PODS + 1)
            if not (found.pods or found.ignored):
                raise Refused(
                    400,
                    "empty",
                    "expected a manifest, found nothing; send it: curl --data-binary @job.yaml",
                )
            if len(found.pods) > MOST_PODS:
                raise Refused(
                    413,
                    "too-many",
                    f"the manifest makes more than {MOST_PODS} pods, and no more are judged: {_ELSEWHERE}",
                )
            world = cast("World", _PausingWorld(self._world(), pause))
            run = judge_pods(found, profile=profile, profiles=self._profiles(), world=world)
            return _written(run, pause)

        @app.post("/dry-run")
        def answer() -> Response:
            if unknown := sorted(request.args.keys() - set(PARAMETERS)):
                raise Refused(
                    400,
                    "parameter",
                    f"{unknown[0]} is not a parameter: use {', '.join(PARAMETERS)}",
                )
            if (length := request.content_length or 0) > MOST_BYTES:
                found = f"the manifest has {length} bytes, and at most {MOST_BYTES} are taken"
                raise Refused(413, "too-large", f"{found}: {_ELSEWHERE}")
            text = body_text()
            named = [request.args.get(name) for name in PARAMETERS]
            with _without_collector():
                return Response(judge(text, *named), content_type="application/json")

        return app


@contextmanager
def _without_collector() -> Iterator[None]:
    """Leave cycles alone: to look through all that a manifest makes would stop admission for 0.1 s."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class _Pause:
    """Rest, when it is called, once there was work for _WORK_SECONDS."""

    def __init__(self) -> None:
        self._until = time.perf_counter() + _WORK_SECONDS

    def __call__(self) -> None:
        if time.perf_counter() >= self._until:
            time.sleep(_REST_SECONDS)
            self._until = time.perf_counter() + _WORK_SECONDS


class _PausingWorld:
    """Answer as *world* does, after a pause: each pod asks for its namespace."""

    def __init__(self, world: World, pause: _Pause) -> None:
        self._world, self._pause = world, pause

    def __getattr__(self, name: str) -> Any:
        self._pause()
        return getattr(self._world, name)


def _written(run: DryRun, pause: Callable[[], None]) -> str:
    """Write the JSON document part by part, since admission's memory would not hold that of an alias bomb. Raises Refused."""
    text = io.StringIO()
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(run.as_json()):
        pause()
        if text.tell() + len(part) > _MOST_CHARACTERS:
            raise Refused(
                413,
                "too-large",
                f"the answer has more than {_MOST_CHARACTERS} characters: {_ELSEWHERE}",
            )
        text.write(part)
    return text.getvalue() + "\n"
