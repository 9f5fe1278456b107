"""Print what large reviews cost others: ``python -m tests.bench.beside_large``.

Latency of ordinary admissions at 100 a second, in turns: while nobody else asks, and while clients post reviews of 64 KiB to 3 MB
without a pause, each on a new connection. The ratio is that of two neighbouring rounds; the last line holds medians. The clients run
on the same machine and take processor time, too: with few processors that is part of the ratio. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from certs.throwaway import make_throwaway
from tests.bench.admission import Load, cpu_seconds
from tests.bench.hostile import REVIEW
from tests.core import hostile
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.flood import large_reviews
from tests.sockets.server import Server, admit
from webhook.http.body import SMALL_BYTES

RATE = 100
CLIENTS = 8


def main() -> None:
    """Measure, and print a line for each round."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--seconds", type=float, default=5, help="seconds of each (default 5)")
    parser.add_argument(
        "--clients", type=int, default=CLIENTS, help=f"clients that post large reviews (default {CLIENTS})"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabric-injector-beside-") as name:
        folder = Path(name)
        authority = make_throwaway(folder / "tls", now=datetime.now(UTC))
        load = Load(folder, folder / "tls" / "ca.crt")
        served = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={folder / 'tls'}")
        with Server(folder / "log", *served) as server:
            load.run(server, 1)
            rounds = []
            for _ in range(options.rounds):
                quiet = _latencies(load, server, options.seconds)
                statuses: Counter[int] = Counter()
                spent = cpu_seconds(server)
                with posting(server, authority, bodies(), options.clients, statuses):
                    beside = _latencies(load, server, options.seconds)
                spent = cpu_seconds(server) - spent
                rounds.append((*quiet, *beside, beside[1] / quiet[1]))
                answered = ", ".join(f"{count} x {status or 'none'}" for status, count in sorted(statuses.items()))
                print(f"{_written(rounds[-1])}; large: {answered}; {spent:.1f} CPU-s", flush=True)
            print(f"median: {_written(tuple(statistics.median(values) for values in zip(*rounds, strict=True)))}")
            print(f"most memory of the process of admission: {server.peak_megabytes():.0f} MB")


def bodies() -> list[bytes]:
    """Return large reviews of all kinds: what nobody reads, text and values; much that is read; some that are read at once."""
    review = REVIEW.read_bytes()
    shapes = dict(hostile.shapes(hostile.rich()))
    made = {
        "spec/containers alike": 2_000,
        "spec/containers/0/env distinct": 30_000,
        "spec/containers/0/args distinct": 200_000,
        "spec/containers/0/env/7/value hosts": 250_000,
        "spec/imagePullSecrets alike": 19_000,
    }
    read = [
        hostile.review(shapes[name](count)).replace(b'"namespace":"train"', b'"namespace":"default"')
        for name, count in made.items()
    ]
    return [*large_reviews(review), review.ljust(SMALL_BYTES + 1), review.ljust(1 << 20), *read]


@contextmanager
def posting(
    server: Server, authority: Path, reviews: list[bytes], clients: int, statuses: Counter[int]
) -> Iterator[None]:
    """Post large reviews all the while, from so many clients; count the statuses of their answers."""
    enough = threading.Event()

    def post(number: int) -> None:
        while not enough.is_set():
            status = 0
            with closing(server.client(authority, timeout=60)) as client, suppress(OSError):
                status = admit(client, reviews[number % len(reviews)]).status
            statuses[status] += 1
            number += clients + 1

    threads = [threading.Thread(target=post, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    try:
        time.sleep(1)  # the process that reads them has started
        yield
    finally:
        enough.set()
        for thread in threads:
            thread.join()


def _latencies(load: Load, server: Server, seconds: float) -> tuple[float, float]:
    figures = load.run(server, seconds, RATE)
    return figures["p50Milliseconds"], figures["p99Milliseconds"]


def _written(figures: tuple[float, ...]) -> str:
    quiet_50, quiet_99, beside_50, beside_99, ratio = figures
    return (
        f"quiet p50 {quiet_50:.2f} ms, p99 {quiet_99:.2f} ms; beside large reviews p50 {beside_50:.2f} ms, "
        f"p99 {beside_99:.2f} ms: {ratio:.1f} times"
    )


if __name__ == "__main__":
    main()
