"""Break real reviews at random; have each answered twice, and what becomes of its pod again: ``python -m tests.bench.broken``.

A fault is an answer that is neither 200, nor 400 or 503 with a reason; a second answer that differs from the first; an answer that
the API server could not use; a pod that is changed or denied when it is reviewed again. ``--count`` reviews are given to the function
that answers them, in as many processes as there are processors; ``--sample`` of the same kinds go over kept-alive HTTPS connections to
a real server, each twice in one go. Ends with 1 where a fault was found; the bodies are in build/broken.
"""

from __future__ import annotations

import argparse
import base64
import http.client
import json
import multiprocessing
import os
import re
import socket
import ssl
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable
from contextlib import closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import jsonpatch
import orjson
import yaml

from certs.throwaway import make_throwaway
from tests import pods
from tests.core import forged, hostile
from tests.core.broken import CHANGES, broken
from tests.core.test_idioms import IDIOMS, judged
from tests.sockets.server import Reply, Server, read_reply
from tests.worlds import namespace, network
from webhook.core.errors import MalformedReview, Unavailable
from webhook.core.model import Object
from webhook.core.review import answer_review
from webhook.world.objects import ObjectsWorld

FOUND = Path("build/broken")
STEP = 500
"""Reviews between two reports."""
FEW = 20
"""One of so many patches is applied by a library too, which takes far longer than all else."""
_SPACES = tuple(forged.SPACES)


class Told(NamedTuple):
    """Hold an answer as a client sees it."""

    status: int
    body: bytes
    retry: str = ""


Answerer = Callable[[bytes], list[Told]]
"""Answers a body twice."""


def objects() -> list[Object]:
    """Return what stands for the cluster: each space also as one that only observes."""
    found = [network(f"rails/rail-{number}", f"nvidia.com/rail_{number}") for number in range(2)]
    for name, labels in forged.SPACES.items():
        for space in (namespace(name, name), namespace(f"{name}-observed", name, mode="observe")):
            space["metadata"]["labels"].update(labels)
            found.append(space)
    return found


def reviews() -> list[bytes]:
    """Return whole reviews of every fixture and idiom, and of pods that use every field."""
    found = [pods.load(name) for name in pods.all_names()]
    found += [
        hostile.rich(f"pods/{name}.yaml")
        for name in ("kubeflow-pytorchjob-1", "kubeflow-pytorchjob-0", "lws-1")
    ]
    found += [pod.before for idiom in IDIOMS.values() for pod in judged(idiom)]
    return [hostile.review(pod) for pod in found]


class Breaker:
    """Make broken reviews, the same ones for the same seed."""

    def __init__(self, texts: list[bytes], seed: int) -> None:
        self._texts = texts
        self._random = Random(seed)

    def body(self) -> bytes:
        """Return the next review: most are forged within what a pod may be, the others broken as objects, as text and as bytes."""
        random = self._random
        review = orjson.loads(random.choice(self._texts))
        request = review["request"]
        space, rare = random.choice(_SPACES), random.random()
        odd = random.choice(("", "absent", "x" * 64))
        request["namespace"] = odd if rare < 0.01 else f"{space}-observed" if rare < 0.06 else space
        kind = random.random()
        if kind < 0.55:
            forged.forge(request["object"], random, random.randint(1, 6))
            if random.random() < 0.1:
                _change_request(request, random)
        elif kind < 0.7:
            request["object"] = broken(request["object"], random, random.randint(1, 4))
        elif kind < 0.75:
            review = broken(review, random, random.randint(1, 3))
        if kind < 0.75:
            return json.dumps(review).encode("utf-8", "surrogatepass")
        if kind < 0.9:
            text = random.choice(CHANGES)(json.dumps(review), random)
            return text.encode("utf-8", "surrogatepass")
        return _changed_bytes(orjson.dumps(review), random)


def _change_request(request: Object, random: Random) -> None:
    pod = request["object"]
    key, value = random.choice(
        [
            ("operation", random.choice(["UPDATE", "DELETE", "CONNECT", "", None, 1])),
            ("subResource", random.choice(["status", "ephemeralcontainers", "", None, {}])),
            ("oldObject", random.choice([pod, None, "a", {"spec": None}])),
            ("uid", random.choice([1, None, "", "x" * 257, [], {"a": 1}, "\u2028", True, 1e300])),
            ("dryRun", random.choice([True, None, "true", 1, {}])),
            (
                "resource",
                random.choice([None, "pods", {"group": "", "version": "v1", "resource": "nodes"}]),
            ),
            ("kind", random.choice([None, 1, {"kind": "Node"}])),
            ("userInfo", {"username": "x" * 1000, "groups": [None]}),
            ("name", random.choice([None, "", "x" * 5000, 1, "\u202e"])),
            (
                "object",
                random.choice(
                    [None, [], "", 1, {}, {"spec": {}}, {"metadata": None, "spec": None}, [pod]]
                ),
            ),
            ("options", {"kind": "CreateOptions", "dryRun": ["All"]}),
        ]
    )
    request[key] = value
    if isinstance(request["object"], dict) and random.random() < 0.2:
        request["object"]["status"] = random.choice(
            [None, [], {"phase": "Running"}, {"phase": 1}, "a", {"podIP": {}}]
        )


def _changed_bytes(body: bytes, random: Random) -> bytes:
    place = random.randrange(len(body))
    kind = random.randrange(9)
    if kind == 0:  # some bits
        changed = bytearray(body)
        for _ in range(random.randint(1, 8)):
            changed[random.randrange(len(changed))] ^= 1 << random.randrange(8)
        return bytes(changed)
    if kind == 1:
        return body[:place]
    if kind == 2:
        return body[:place] + random.randbytes(random.randint(1, 20)) + body[place:]
    if kind == 3:  # a part is repeated
        return body[:place] + body[random.randrange(place + 1) :]
    numbers = [
        match.span() for match in re.finditer(rb'(?<=":)\d+|(?<=":")\d+(?=")|true|false|null', body)
    ]
    start, end = random.choice(numbers) if numbers else (place, place)
    digits = random.choice((20, 309, 4300, 5000, 100_000))
    odd = [
        b"9" * digits,
        b"-" + b"9" * digits,
        b"1e" + b"9" * digits,
        b"0." + b"0" * digits + b"1",
        b"NaN",
        b"-Infinity",
        b"[" * digits,
        b"[" * 300 + b"]" * 300,
        b'{"a":' * digits,
        b'{"a":' * 900 + b"1" + b"}" * 900,
        b'"\\ud800"',
        b'"\\udfff\\ud800"',
        b'"\xed\xa0\x80"',
        b'"\xff"',
        b'"\\u0000"',
        b'"' + b"\\u0041" * 2000 + b'"',
        b"\xef\xbb\xbf1",
        b"1,1",
        b"",
    ]
    if kind == 4:  # a key twice, the second time with another value
        keys = [match.span() for match in re.finditer(rb'"[a-zA-Z]+":', body)]
        start, end = random.choice(keys)
        return body[:end] + random.choice([*odd, b"null", b"[]", b"{}"]) + b"," + body[start:]
    return body[:start] + random.choice(odd) + body[end:]


def answer_here(answer: Callable[[bytes], Any], body: bytes) -> list[Told]:
    """Answer in this process as the edge would: an exception of ours is an answer, and any other would be a 500."""
    found = []
    for _ in range(2):
        try:
            found.append(Told(200, answer(body).body))
        except MalformedReview as error:
            found.append(Told(400, str(error).encode("utf-8", "surrogatepass")))
        except Unavailable as unavailable:
            found.append(Told(503, str(unavailable).encode("utf-8", "surrogatepass"), "1"))
        except Exception:
            found.append(Told(500, traceback.format_exc().encode("utf-8", "surrogatepass")))
    return found


def examine(body: bytes, answer: Answerer, random: Random, tally: Counter[str]) -> str:
    """Have *body* answered twice, and what becomes of its pod; return what is wrong, empty where nothing is."""
    first, second = answer(body)
    if first != second:
        return f"two answers: {first.status} {first.body[:2000]!r} and {second.status} {second.body[:2000]!r}"
    if first.status in (400, 503):
        tally[str(first.status)] += 1
        return (
            ""
            if first.body and (first.status == 400 or first.retry)
            else f"{first.status} without a reason"
        )
    if first.status != 200:
        return f"status {first.status}: {first.body[-2000:].decode(errors='replace')}"
    review, response = orjson.loads(body), orjson.loads(first.body)["response"]
    if response["uid"] != review["request"]["uid"]:
        return "another uid"
    if any(not warning.isprintable() for warning in response.get("warnings", ())):
        return "a warning that the API server drops"
    if not response["allowed"]:
        status = response["status"]
        tally["denied"] += 1
        told = status["code"] == 422 and status["message"] and "patch" not in response
        return "" if told else "denied without a reason"
    if "patch" not in response:
        tally["left as it is"] += 1
        return ""
    tally["changed"] += 1
    operations = orjson.loads(base64.b64decode(response["patch"], validate=True))
    by_library = None
    if not random.randrange(FEW):
        with suppress(RecursionError):  # of the library, which copies the pod
            by_library = jsonpatch.apply_patch(review["request"]["object"], operations)
    changed = apply(review["request"]["object"], operations)
    if by_library is not None and by_library != changed:
        return "the patch means two things"
    review["request"]["object"] = changed
    for again in answer(_written(review)):
        if again.status != 200:
            return (
                f"its pod is answered {again.status}: {again.body[-2000:].decode(errors='replace')}"
            )
        repeated = orjson.loads(again.body)["response"]
        if not repeated["allowed"]:
            return f"its pod is denied: {repeated['status']['message']}"
        if "patch" in repeated:
            return f"its pod is changed again: {base64.b64decode(repeated['patch'])[:3000]!r}"
    return ""


def _written(review: Object) -> bytes:
    try:
        return orjson.dumps(review)
    except TypeError:  # deeper than orjson writes, though it reads four times that
        return json.dumps(review).encode()


def apply(pod: Any, operations: list[Object]) -> Any:
    """Apply a patch of adds, replaces and removes as RFC 6902 says, to *pod* itself."""
    for operation in operations:
        *path, last = [
            part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]
        ]
        holder = pod
        for part in path:
            holder = holder[int(part)] if isinstance(holder, list) else holder[part]
        kind = operation["op"]
        value = orjson.loads(orjson.dumps(operation.get("value")))
        if isinstance(holder, dict):
            if kind != "add" and last not in holder:
                raise KeyError(last)
            if kind == "remove":
                del holder[last]
            else:
                holder[last] = value
        elif kind == "add":
            holder.insert(len(holder) if last == "-" else int(last), value)
        elif kind == "remove":
            del holder[int(last)]
        else:
            holder[int(last)] = value
    return pod


def work(
    texts: list[bytes], seed: int, count: int, make: Callable[[], Answerer], reports: Any
) -> None:
    """Examine *count* reviews, and tell the parent now and then."""
    breaker, random, answer = Breaker(texts, seed), Random(seed), make()
    tally: Counter[str] = Counter()
    faults: list[tuple[str, bytes]] = []
    for number in range(1, count + 1):
        body = breaker.body()
        try:
            found = examine(body, answer, random, tally)
        except Exception:
            found = traceback.format_exc()
        if found:
            faults.append((found, body))
        if number % STEP == 0 or number == count:
            reports.put((number % STEP or STEP, tally, faults))
            tally, faults = Counter(), []


def in_process() -> Answerer:
    """Answer with the function itself."""
    profiles, world = forged.profiles(), ObjectsWorld(objects())
    return partial(answer_here, lambda body: answer_review(body, profiles, world))


def over_http(port: int, authority: Path) -> Answerer:
    """Answer over one connection that is kept alive; a second request is sent before the first is answered."""
    return _Client(port, authority).ask


class _Client:
    def __init__(self, port: int, authority: Path) -> None:
        self._port = port
        self._context = ssl.create_default_context(cafile=authority)
        self._connection: ssl.SSLSocket | None = None

    def ask(self, body: bytes) -> list[Told]:
        """Ask twice in one go; over another connection once where the server has closed this one, as it may between two requests."""
        for attempt in range(3):
            kept = self._connection is not None
            try:
                return [_told(reply) for reply in self._ask_twice(body)]
            except (
                ConnectionError,
                ssl.SSLEOFError,
                http.client.BadStatusLine,
                http.client.IncompleteRead,
            ):
                if self._connection is not None:
                    self._connection.close()
                    self._connection = None
                if not kept and attempt:
                    raise
        raise ConnectionError("closed three times")

    def _ask_twice(self, body: bytes) -> list[Reply]:
        if self._connection is None:
            plain = socket.create_connection(("127.0.0.1", self._port), 60)
            self._connection = self._context.wrap_socket(plain, server_hostname="localhost")
        head = "POST /mutate?timeout=5s HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        request = f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body
        if len(body) > 30_000:  # both would wait for one another where neither reads
            found = []
            for _ in range(2):
                self._connection.sendall(request)
                found.append(read_reply(self._connection))
            return found
        self._connection.sendall(request + request)
        stream = self._connection.makefile("rb")
        return [_read(stream) for _ in range(2)]


def _read(stream: Any) -> Reply:
    status = stream.readline()
    if not status:
        raise ConnectionResetError
    headers = {}
    while (line := stream.readline().strip()) != b"":
        name, _, value = line.decode("latin-1").partition(":")
        headers[name.lower()] = value.strip()
    return Reply(
        int(status.split()[1]), headers, stream.read(int(headers.get("content-length", 0)))
    )


def _told(reply: Reply) -> Told:
    return Told(reply.status, reply.body, reply.headers.get("retry-after", ""))


def run(
    what: str,
    texts: list[bytes],
    count: int,
    seed: int,
    processes: int,
    make: Callable[[], Answerer],
) -> int:
    """Examine *count* reviews in so many processes, show how far it is, and return how many faults were found."""
    context = multiprocessing.get_context("fork")
    reports: Any = context.Queue()
    shares = [count // processes + (number < count % processes) for number in range(processes)]
    workers = [
        context.Process(
            target=work, args=(texts, seed * 1000 + number, share, make, reports), daemon=True
        )
        for number, share in enumerate(shares)
    ]
    for worker in workers:
        worker.start()
    started = shown = time.monotonic()
    done = faults = 0
    tally: Counter[str] = Counter()
    FOUND.mkdir(parents=True, exist_ok=True)
    while done < count:
        number, counted, found = reports.get(timeout=600)
        done += number
        tally += counted
        for message, body in found:
            faults += 1
            (FOUND / f"{what}-{seed}-{faults}.json").write_bytes(body)
            print(f"FAULT {faults}: {message[:1500]}", flush=True)
        if time.monotonic() - shown > 20 or done == count:
            shown = time.monotonic()
            seconds = shown - started
            print(
                f"{what}: {done:,} of {count:,}, {seconds:.0f} s, {faults} faults, {dict(tally)}",
                flush=True,
            )
    for worker in workers:
        worker.join()
    return faults


def serve_and_run(texts: list[bytes], count: int, seed: int, processes: int) -> int:
    """Run over HTTPS against a real server process."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        make_throwaway(place, now=datetime.now(UTC))
        (place / "profiles.yaml").write_text(forged.PROFILES)
        (place / "objects.yaml").write_text(yaml.safe_dump_all(objects()))
        options = (
            f"--profiles={place / 'profiles.yaml'}",
            f"--objects={place / 'objects.yaml'}",
            f"--tls-dir={place}",
        )
        with Server(place / "log", *options) as server:
            with closing(server.client(place / "ca.crt")) as client:
                port = int(client.port)
            faults = run(
                "https", texts, count, seed, processes, partial(over_http, port, place / "ca.crt")
            )
            errors = server.lines("internal error")
            print(
                f"server: ended: {server.ended()}, {len(errors)} internal errors, {server.peak_megabytes():.0f} MB at most"
            )
            return faults + len(errors) + server.ended()


def main() -> None:
    """Run both, and end with 1 where a fault was found."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--count", type=int, default=1_600_000, help="reviews for the function")
    parser.add_argument("--sample", type=int, default=100_000, help="reviews over HTTPS")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    options = parser.parse_args()
    texts = reviews()
    faults = 0
    if options.count:
        faults += run("function", texts, options.count, options.seed, options.processes, in_process)
    if options.sample:
        faults += serve_and_run(texts, options.sample, options.seed + 1, options.processes)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
