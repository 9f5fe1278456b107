"""Print what hostile pods cost beside reading them: ``python -m tests.bench.hostile``.

Each place of a training pod is repeated or made long until the review holds about 2.8 MB. Ratio: processor time of the whole answer
to that of ``orjson.loads`` of the same body, both the best of three in one process, of thirty for short ones. Above: the same without
what the pod costs as it was, which tells more of ``--bytes`` within the bounds, 250000 and 31000. Memory: the most that one answer
held at a time, above what the process held before. ``--worst`` lists the worst alone, by *above*. At last
the most memory of a whole server to which 60 connections send 3 MB each at once, five times. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import re
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import orjson

from certs.throwaway import make_throwaway
from tests.core import hostile
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.flood import flood, large_reviews, request
from tests.sockets.server import Server
from webhook.core.errors import WebhookError
from webhook.core.profiles import Profiles
from webhook.core.review import answer_review
from webhook.serve.process import YOUNG_OBJECTS
from webhook.world.objects import ObjectsWorld

BYTES = 2_800_000
ROUNDS = 3
CONNECTIONS, FLOODS = 60, 5
REVIEW = Path(__file__).parents[1] / "fixtures/live/torchx-volcano/pods-train-fgwp3pq7vkl4vc-train-0-0.review.json"
SHORT = 500_000
SHORT_ROUNDS = 30
"""Of a body below SHORT: its times are so small that the best of three is chance."""


def main() -> None:
    """Measure, and print a line for each shape."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pod", default="pods/kubeflow-pytorchjob-1.yaml", help="fixture to start from")
    parser.add_argument("--profile", default="full", choices=("full", "plain"))
    parser.add_argument("--only", default="", help="regular expression of the shapes to measure")
    parser.add_argument("--bytes", type=int, default=BYTES, help="size of a review")
    parser.add_argument("--worst", type=int, default=0, help="print so many of the worst alone")
    options = parser.parse_args()
    profiles, world = hostile.profiles(), hostile.world(options.profile)
    ordinary = hostile.review(hostile.rich(options.pod))
    shapes = [each for each in hostile.shapes(hostile.rich(options.pod)) if re.search(options.only, each[0])]
    gc.collect()
    gc.freeze()  # as the server does
    gc.set_threshold(YOUNG_OBJECTS)
    found: list[tuple[float, float, float, str]] = []
    print(f"{'above':>7} {'ratio':>7} {'answer':>9} {'read':>9} {'memory':>9} {'answered':>9}  outcome, shape")
    for name, build in shapes:
        body = apart(partial(sized, build, options.bytes))
        figures = json.loads(apart(partial(measure, body, ordinary, profiles, world)))
        ratio = figures["answer"] / figures["read"]
        above = (figures["answer"] - figures["ordinary"]) / figures["read"]
        line = f"{above:6.1f}x {ratio:6.1f}x {figures['answer']:6.1f} ms {figures['read']:6.1f} ms {figures['memory']:6.1f} MB"
        line += f" {figures['bytes']:7d} B  {figures['outcome']}, {name}"
        found.append((above, ratio, figures["memory"], line))
        if not options.worst:
            print(line, flush=True)
    for *_, line in sorted(found, reverse=True)[: options.worst]:
        print(line)
    worst = [max(each[place] for each in found) for place in range(3)]
    print(f"{len(found)} shapes; worst above {worst[0]:.1f}, worst ratio {worst[1]:.1f}, most memory {worst[2]:.0f} MB")
    measure_server()


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


def apart(work: Callable[[], bytes]) -> bytes:
    """Return what *work* returns, done in a child process, whose memory goes with it."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        os.close(reader)
        with os.fdopen(writer, "wb") as out:
            out.write(work())
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader, "rb") as answer:
        found = answer.read()
    if os.waitpid(child, 0)[1]:
        raise SystemExit("a child process failed")
    return found


def measure(body: bytes, ordinary: bytes, profiles: Profiles, world: ObjectsWorld) -> bytes:
    """Return the figures of one body, as JSON: milliseconds, megabytes, bytes of the answer."""
    Path("/proc/self/clear_refs").write_text("5")  # forget the most memory so far
    before = _memory("VmRSS")
    answers, reads, ordinaries = [], [], []
    figures: dict[str, Any] = {"bytes": 0}
    started = time.process_time()
    try:
        answer = answer_review(body, profiles, world)
        figures["outcome"] = answer.verdict.reason if answer.verdict else "allowed"
        figures["bytes"] = len(answer.body)
        del answer
    except WebhookError as error:
        figures["outcome"] = type(error).__name__
    answers.append(time.process_time() - started)
    figures["memory"] = (_memory("VmHWM") - before) / 1024
    for turn in range(ROUNDS if len(body) > SHORT else SHORT_ROUNDS):
        if turn:
            started = time.process_time()
            with suppress(WebhookError):
                answer_review(body, profiles, world)
            answers.append(time.process_time() - started)
        started = time.process_time()
        orjson.loads(body)
        reads.append(time.process_time() - started)
        started = time.process_time()
        answer_review(ordinary, profiles, world)
        ordinaries.append(time.process_time() - started)
    best = {"answer": min(answers), "read": min(reads), "ordinary": min(ordinaries)}
    return orjson.dumps({**figures, **{name: 1000 * seconds for name, seconds in best.items()}})


def _memory(field: str) -> int:
    """Return a field of this process's status, in kB."""
    text = Path("/proc/self/status").read_text()
    return int(text.partition(f"{field}:")[2].split()[0])


if __name__ == "__main__":
    main()
