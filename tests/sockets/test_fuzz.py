"""Hundreds of broken AdmissionReviews against the real server: no internal error, no crash, and every patch applies."""

import base64
import json
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from random import Random
from typing import Any

import jsonpatch

from tests.hostile.broken import CHANGES
from tests.sockets.server import Reply, Server, admit

LIVE = sorted((Path(__file__).parents[1] / "fixtures/live").glob("*/*.review.json"))
CLIENTS = 4
EACH = 150


def bodies(random: Random) -> Iterator[bytes]:
    """Give reviews that are broken in one way each, made of recorded ones."""
    texts = [path.read_text() for path in LIVE]
    for _ in range(EACH):
        text = random.choice(CHANGES)(random.choice(texts), random)
        yield text.encode("utf-8", "surrogatepass")


def fault(body: bytes, reply: Reply) -> str:
    """Say what is wrong with an answer; empty if nothing is."""
    if reply.status == 400:
        return "" if reply.json()["message"] else "400 without a reason"
    if reply.status == 503:
        return "" if reply.headers.get("retry-after") == "1" else "503 without Retry-After"
    if reply.status != 200:
        return f"status {reply.status}"
    request: dict[str, Any] = json.loads(body)["request"]
    response = reply.json()["response"]
    if response["uid"] != request["uid"]:
        return "another uid"
    if not response["allowed"]:
        status = response["status"]
        return (
            ""
            if status["code"] == 422 and status["message"] and "patch" not in response
            else "denied without a reason"
        )
    if any(not warning.isprintable() for warning in response.get("warnings", ())):
        return "a warning that the API server drops"
    if "patch" in response:
        operations = base64.b64decode(response["patch"], validate=True).decode()
        jsonpatch.apply_patch(request["object"], operations)
    return ""


def ask_all(server: Server, seed: int) -> tuple[list[str], Counter[str]]:
    """Return the faults that were found, and how often each kind of answer came."""
    faults, kinds = [], Counter[str]()
    with closing(server.client(timeout=30)) as client:
        for number, body in enumerate(bodies(Random(seed))):
            reply = admit(client, body)
            kinds["patched" if b'"patch":' in reply.body else str(reply.status)] += 1
            try:
                found = fault(body, reply)
            except (
                jsonpatch.JsonPatchException,
                jsonpatch.JsonPointerException,
                ValueError,
                KeyError,
            ) as error:
                found = f"the answer cannot be used: {error!r}"
            if found:
                faults.append(f"seed {seed}, review {number}: {found}: {body[:300]!r}")
    return faults, kinds


def test_survives_broken_reviews(own: Server, review: bytes) -> None:
    with ThreadPoolExecutor(CLIENTS) as clients:
        found = list(clients.map(lambda seed: ask_all(own, seed), range(CLIENTS)))
    assert [fault for faults, _ in found for fault in faults] == []
    kinds = sum((each for _, each in found), Counter[str]())
    assert min(kinds[kind] for kind in ("patched", "200", "400")) > CLIENTS * EACH / 20, kinds
    assert not own.lines("internal error")
    assert not own.ended()
    assert own.admit(review).status == 200
