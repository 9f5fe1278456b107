"""Print what hostile pods cost beside reading them: ``python -m tests.bench.hostile``.

Each place of a training pod is repeated or made long until the review holds about so many bytes (``--bytes``). It is answered as a
webhook does it: one up to 64 KiB by ``answer_review``, a larger one by a server without TLS and its process that reads large reviews,
both of whose processor time counts. *answer*: what it takes after the body has come. *receive*: what it takes until then, the same
request to a path that is not found. *read*: ``orjson.loads`` of the same body, in the process of the bench. *ordinary*: the answer to
the same pod without the hostile part, a small one. Each is the least of several.

*ratio* is the answer to *read*. A pod costs something whatever its size, which for a text that is soon read is more than three times
that by itself. So the bound is about *excess*: the answer less *ordinary*, to *read*; it is at most 3. A shape that exceeds it is
measured again, up to three times, for a busy machine shows in the least of a few too. Where one of a body above 64 KiB exceeds it then,
the exit status is 1.

Of the shapes a sample is measured, always the same for one ``--seed`` (``--shapes``; 0: all), half of it places made long by a text,
half of it places repeated. ``--worst`` lists the worst alone. At last the most memory of a whole server to which 60 connections send
3 MB each at once, five times.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import os
import re
import resource
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from http import HTTPStatus
from http.client import HTTPConnection
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, TypeAlias

import orjson
import uvloop

from certs.throwaway import make_throwaway
from tests.core import hostile
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.flood import flood, large_reviews, request
from tests.sockets.server import Server
from webhook.core import names
from webhook.core.errors import WebhookError
from webhook.core.review import Answer, answer_reduced, answer_review
from webhook.http.body import SMALL_BYTES
from webhook.http.listener import ListenAddress, Listener, bind
from webhook.http.pool import WorkerPool
from webhook.serve import allocator
from webhook.serve.admission import Admission, AdmissionRecorder
from webhook.serve.metrics import WebhookMetrics
from webhook.serve.process import YOUNG_OBJECTS
from webhook.serve.review_process import ReviewProcess

BYTES = (100_000, 250_000, 500_000, 1_000_000, 2_800_000)
SHAPES = 200
SEED = 15
ROUNDS = 5
CONNECTIONS, FLOODS = 60, 5
REVIEW = Path(__file__).parents[1] / "fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
SHORT = 500_000
SHORT_ROUNDS = 20
"""Of a body below SHORT: its times are so small that the best of three is chance."""
Shape: TypeAlias = tuple[str, hostile.Build]
LIMITS = (1, 2, 3)
BOUND = 3.0
AGAIN = 3
"""How often a shape that exceeds the bound is measured again."""


class Cost(NamedTuple):
    """Hold what one body took: seconds of processor time, *receiving* until it had come, and megabytes of the processes."""

    seconds: float
    megabytes: float
    outcome: str
    receiving: float = 0.0


class Figures(NamedTuple):
    """Hold what is told of a shape; seconds."""

    name: str
    length: int
    answer: float
    receive: float
    read: float
    ordinary: float
    megabytes: float
    outcome: str

    @property
    def ratio(self) -> float:
        """Return the whole cost to that of reading."""
        return self.answer / self.read

    @property
    def excess(self) -> float:
        """Return what it costs beyond an ordinary pod to what reading costs."""
        return (self.answer - self.ordinary) / self.read

    def __str__(self) -> str:
        times = (self.answer, self.receive, self.read, self.ordinary)
        milliseconds = " ".join([f"{1000 * each:8.2f}" for each in times])
        told = f"{self.megabytes:7.0f} {self.length:8d}  {self.outcome}, {self.name}"
        return f"{self.excess:6.1f}x {self.ratio:6.1f}x {milliseconds} {told}"


def main() -> None:
    """Measure, and print a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pod", default="pods/kubeflow-pytorchjob-1.yaml", help="fixture to start from")
    parser.add_argument("--profile", default="full", choices=("full", "plain"))
    parser.add_argument("--only", default="", help="regular expression of the shapes to measure")
    parser.add_argument("--shapes", type=int, default=SHAPES, help=f"how many to measure, 0: all (default {SHAPES})")
    parser.add_argument("--seed", type=int, default=SEED, help=f"of the sample (default {SEED})")
    told = " ".join(map(str, BYTES))
    parser.add_argument("--bytes", type=int, nargs="+", default=BYTES, help=f"sizes of a review (default {told})")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst alone")
    parser.add_argument("--no-flood", action="store_true", help="leave out the whole server")
    options = parser.parse_args()
    shapes = [each for each in hostile.shapes(hostile.rich(options.pod)) if re.search(options.only, each[0])]
    if options.shapes:
        shapes = sample(shapes, options.shapes, options.seed)
    ordinary = hostile.review(hostile.rich(options.pod))
    exceeding = 0
    for size in options.bytes:
        with answering(options.profile, size) as answer:
            found = measure_shapes(answer, shapes, ordinary, size, options.worst)
        if size > SMALL_BYTES:
            exceeding += sum(each.excess > BOUND for each in found)
    if not options.no_flood:
        measure_server()
    if exceeding:
        sys.exit(f"{exceeding} shapes cost more than an ordinary pod and {BOUND:g} times what reading them costs")


def sample(shapes: Sequence[Shape], count: int, seed: int) -> list[Shape]:
    """Draw so many shapes, half of them places that a text makes long, as far as there are so many."""
    random = Random(seed)
    repeated = [each for each in shapes if each[0].split(" ", 1)[1] not in hostile.TEXTS]
    drawn = random.sample(repeated, min(count // 2, len(repeated)))
    long = [each for each in shapes if each[0].split(" ", 1)[1] in hostile.TEXTS]
    return drawn + random.sample(long, min(count - len(drawn), len(long)))


def measure_shapes(
    answer: Callable[[bytes], Cost], shapes: Sequence[Shape], ordinary: bytes, size: int, worst: int
) -> list[Figures]:
    """Return the figures of each shape; print them, or the *worst*, and how many are above what."""
    heads = " ".join([f"{each:>8}" for each in ("answer", "receive", "read", "ordinary")])
    print(f"{'excess':>7} {'ratio':>7} {heads} {'MB':>7} {'bytes':>8}  outcome, shape; times in milliseconds")
    found = []
    for name, build in shapes:
        found.append(measure(name, sized(build, size), ordinary, answer))
        if not worst:
            print(found[-1], flush=True)
    found.sort(key=lambda each: each.excess, reverse=True)
    for each in found[:worst]:
        print(each)
    print(
        f"{size} bytes, {len(found)} shapes: excess {_counted([each.excess for each in found])}; "
        f"ratio {_counted([each.ratio for each in found])}; most memory {max(each.megabytes for each in found):.0f} MB",
        flush=True,
    )
    return found


def _counted(found: Sequence[float]) -> str:
    counts = [f"{sum(each > limit for each in found)} above {limit}" for limit in LIMITS]
    return f"{', '.join(counts)}, worst {max(found):.2f}"


def measure(name: str, body: bytes, ordinary: bytes, answer: Callable[[bytes], Cost]) -> Figures:
    """Return the figures of a body."""
    costs, reads, ordinaries = [], [], []
    for _ in range(1 + AGAIN):
        for _ in range(ROUNDS if len(body) > SHORT else SHORT_ROUNDS):
            costs.append(answer(body))
            ordinaries.append(answer(ordinary))
            started = time.process_time()
            orjson.loads(body)
            reads.append(time.process_time() - started)
        figures = Figures(
            name,
            len(body),
            _least(costs),
            min(each.receiving for each in costs),
            min(reads),
            _least(ordinaries),
            max(each.megabytes for each in costs),
            costs[0].outcome,
        )
        if figures.excess <= BOUND:
            break
    return figures


def _least(costs: Sequence[Cost]) -> float:
    return min(each.seconds for each in costs) - min(each.receiving for each in costs)


@contextmanager
def answering(profile: str, size: int) -> Iterator[Callable[[bytes], Cost]]:
    """Give what answers reviews of about *size* bytes."""
    profiles, world = hostile.profiles(), hostile.world(profile)
    gc.collect()
    gc.freeze()  # as the server does
    gc.set_threshold(YOUNG_OBJECTS)
    if size > SMALL_BYTES:
        with Processes(profile) as processes:
            yield processes.answer
        return

    def answer(body: bytes) -> Cost:
        started = time.process_time()
        try:
            verdict = answer_review(body, profiles, world).verdict
            outcome = verdict.reason if verdict else "allowed"
        except WebhookError as error:
            outcome = type(error).__name__
        return Cost(time.process_time() - started, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, outcome)

    yield answer


class Processes:
    """Hold a server without TLS, made of the webhook's own parts, and what it starts."""

    def __init__(self, profile: str) -> None:
        sock = bind(ListenAddress("127.0.0.1", 0))
        self._host, self._port = sock.getsockname()
        self._process = os.fork()
        if not self._process:
            with suppress(BaseException):
                uvloop.run(_serve(sock, profile))
            os._exit(1)
        sock.close()

    def __enter__(self) -> Processes:
        return self

    def __exit__(self, *_: object) -> None:
        os.kill(self._process, signal.SIGKILL)
        os.waitpid(self._process, 0)

    def answer(self, body: bytes) -> Cost:
        """Post a review, and return what that cost."""
        receiving, _, _ = self._post("/elsewhere", body)
        seconds, status, found = self._post(names.MUTATE_PATH, body)
        outcome = str(status)
        if status == HTTPStatus.OK:
            outcome = "allowed" if found["response"]["allowed"] else "denied"
        return Cost(seconds, sum(map(_megabytes, self._seconds())), outcome, receiving)

    def _post(self, path: str, body: bytes) -> tuple[float, int, Any]:
        """Return the seconds of processor time that a request takes, its status and what was answered."""
        with closing(HTTPConnection(self._host, self._port, timeout=60)) as client:
            before = self._seconds()
            client.request("POST", path, body, {"Content-Type": "application/json"})
            with client.getresponse() as response:
                found = orjson.loads(response.read())
        after = self._seconds()
        # a process that was started for this review, or has ended with it, counts nothing: the next rounds tell
        return sum(after[each] - before.get(each, after[each]) for each in after), response.status, found

    def _seconds(self) -> dict[int, float]:
        tasks = Path(f"/proc/{self._process}/task")
        children = [int(each) for task in tasks.iterdir() for each in (task / "children").read_text().split()]
        return {each: time.clock_gettime(_clock(each)) for each in (self._process, *children)}


def _clock(process: int) -> int:
    """Return the clock of a process' processor time. Source: clock_getcpuclockid(3)."""
    return ~process << 3 | 2


def _megabytes(process: int) -> float:
    """Return the most memory that a process has had."""
    text = Path(f"/proc/{process}/status").read_text()
    return int(text.partition("VmHWM:")[2].split()[0]) / 1024


async def _serve(sock: socket.socket, profile: str) -> None:
    """Serve admission for ever, put together as in ``webhook.serve``."""
    profiles, world = hostile.profiles(), hostile.world(profile)
    reader = ReviewProcess()

    def admit(body: bytes, came_at: float = 0.0) -> Answer:
        return answer_review(body, profiles, world)

    def admit_large(body: bytes, came_at: float) -> Answer:
        return answer_reduced(reader.reduce(body, profiles.pod_label_keys, came_at), profiles, world)

    admission = Admission(
        admit,
        admit,
        admit_large,
        AdmissionRecorder(WebhookMetrics()),
        pool=WorkerPool("pool"),
        large=WorkerPool("large"),
    )
    allocator.give_back()
    await Listener(sock, admission, connections=10).start()
    await asyncio.Event().wait()


def measure_server() -> None:
    """Print the most memory of a server after each flood of large bodies, and what it has then."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-hostile-") as name:
        folder = Path(name)
        authority = make_throwaway(folder / "tls", now=datetime.now(UTC))
        requests = [request(body) for body in large_reviews(REVIEW.read_bytes())]
        options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={folder / 'tls'}")
        with Server(folder / "log", *options) as server:
            for _ in range(FLOODS):
                statuses = flood(server, authority, requests, CONNECTIONS)
                answered = ", ".join(f"{count} x {status or 'none'}" for status, count in sorted(statuses.items()))
                print(
                    f"{CONNECTIONS} connections x 3 MB: {answered}; most memory {server.peak_megabytes():.0f} MB, "
                    f"now {server.resident_megabytes():.0f} MB",
                    flush=True,
                )


def sized(build: hostile.Build, size: int) -> bytes:
    """Return the review of a pod of about *size* bytes."""
    one, many = (len(hostile.review(build(times))) for times in (1000, 3000))
    return hostile.review(build(max(1, int((size - one) / max((many - one) / 2000, 0.01)) + 1000)))


if __name__ == "__main__":
    main()
