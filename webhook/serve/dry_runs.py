"""Answer ``POST /dry-run`` on a loopback port as admission would answer about each pod.

Profiles and cluster are the same. The only module of this process that loads the dry run, with the
first request.
"""

import asyncio
import io
import json
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, cast
from urllib.parse import parse_qsl

from webhook.core.model import World
from webhook.core.profiles import Profiles
from webhook.http.connection import Endpoint, Request
from webhook.http.loopback import refuse_foreign
from webhook.http.refusal import Refusal, Response, answered, misdirected
from webhook.world.lookup import InTime

if TYPE_CHECKING:
    from webhook.dry_run import DryRun

PATH = "/dry-run"
MOST_BYTES = 256 << 10
MOST_PODS = 50
MOST_VALUES = 100_000
"""Values of the manifest, aliases counted as often as they are used: some 60 MB of memory."""
PARAMETERS = ("namespace", "profile")
_MOST_CHARACTERS = 8 << 20
"""Of an answer: that of 50 ordinary pods has 1.3 million."""
_ASKS = f"POST a manifest to {PATH}"
_ELSEWHERE = "give fewer objects at once, or run fabric-injector dry-run -f FILE"


class DryRuns(Endpoint):
    """Judge one manifest at a time, in a thread. *world* is the cluster."""

    most_bytes = read_bytes = MOST_BYTES

    def __init__(self, profiles: Callable[[], Profiles], world: World) -> None:
        self._profiles, self._world = profiles, world
        self._executor = ThreadPoolExecutor(1, thread_name_prefix="dry-run")

    def stop(self) -> None:
        """Begin nothing more."""
        self._executor.shutdown(wait=False, cancel_futures=True)

    def answer(self, request: Request) -> Refusal | Awaitable[Response | Refusal]:
        """Answer one request."""
        sent = [request.headers.get(each, "") for each in ("host", "origin", "sec-fetch-site")]
        if refusal := refuse_foreign(*sent) or _refusal(request):
            return refusal
        loop = asyncio.get_running_loop()
        return loop.run_in_executor(self._executor, answered, self._judge, request)

    def _judge(self, request: Request) -> Response:
        from webhook.dry_run import judge
        from webhook.dry_run.templates import find_templates, parse_documents

        asked = dict(parse_qsl(request.query))
        documents = parse_documents(_text(request), most=MOST_VALUES)
        found = find_templates(documents, asked.get("namespace"), most_pods=MOST_PODS + 1)
        if not (found.pods or found.ignored):
            advice = "send it: curl --data-binary @job.yaml"
            raise Refusal(400, "empty", f"expected a manifest, found nothing; {advice}")
        if len(found.pods) > MOST_PODS:
            many = f"the manifest makes more than {MOST_PODS} pods, and no more are judged"
            raise Refusal(413, "too-many", f"{many}: {_ELSEWHERE}")
        world = cast("World", InTime(self._world, time.perf_counter()))
        run = judge(found, profile=asked.get("profile"), profiles=self._profiles(), world=world)
        return Response(200, _written(run).encode())


def _refusal(request: Request) -> Refusal | None:
    if refusal := misdirected(request.path, request.method, (PATH,), ("POST",), _ASKS):
        return refusal
    names = {name for name, _ in parse_qsl(request.query, keep_blank_values=True)}
    if unknown := sorted(names - {*PARAMETERS}):
        message = f"{unknown[0][:100]} is not a parameter: use {', '.join(PARAMETERS)}"
        return Refusal(400, "parameter", message)
    return None


def _text(request: Request) -> str:
    try:
        return request.body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = f"byte {error.start} of the body is not UTF-8; send text"
        raise Refusal(400, "encoding", problem) from None


def _written(run: "DryRun") -> str:
    """Write the JSON document part by part: that of an alias bomb would not fit the memory."""
    text = io.StringIO()
    for part in json.JSONEncoder(indent=2, ensure_ascii=False).iterencode(run.as_json()):
        if text.tell() + len(part) > _MOST_CHARACTERS:
            found = f"the answer has more than {_MOST_CHARACTERS} characters"
            raise Refusal(413, "too-large", f"{found}: {_ELSEWHERE}")
        text.write(part)
    return text.getvalue() + "\n"
