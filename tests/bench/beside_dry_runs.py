"""Print what dry runs cost admission: ``python -m tests.bench.beside_dry_runs``.

Latency of admissions at 300 a second, in turns: while nobody else asks, and while dry runs of manifests of up to 256 KiB come back to
back. The ratio is that of two neighbouring rounds; the last line holds medians. The clients run on the same machine and take processor
time, too. The exit status is 1 where the median ratio of p99 is above 3.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from certs.throwaway import make_throwaway
from tests.bench.admission import RATE, Load, cpu_seconds
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import Server
from webhook.serve.dry_runs import MOST_BYTES, MOST_PODS

MANIFEST = Path(__file__).parents[1] / "fixtures/torchx/volcano-ddp-2x1.yaml"
BOUND = 3.0


def main() -> None:
    """Measure, and print a line for each round."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--seconds", type=float, default=5, help="seconds of each (default 5)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabric-injector-beside-") as name:
        folder = Path(name)
        make_throwaway(folder / "tls", now=datetime.now(UTC))
        load = Load(folder, folder / "tls" / "ca.crt")
        served = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={folder / 'tls'}")
        with Server(folder / "log", *served) as server:
            load.run(server, 1)
            rounds = []
            for _ in range(options.rounds):
                quiet = _latencies(load, server, options.seconds)
                statuses: Counter[int] = Counter()
                spent = cpu_seconds(server)
                with asking(server, manifests(), statuses):
                    beside = _latencies(load, server, options.seconds)
                spent = cpu_seconds(server) - spent
                rounds.append((*quiet, *beside, beside[1] / quiet[1]))
                answered = ", ".join(
                    f"{count} x {status}" for status, count in sorted(statuses.items())
                )
                print(
                    f"{_written(rounds[-1])}; dry runs: {answered}; {spent:.1f} CPU-s", flush=True
                )
            medians = tuple(statistics.median(values) for values in zip(*rounds, strict=True))
            print(f"median: {_written(medians)}")
            print(f"most memory: {server.peak_megabytes():.0f} MB")
    if medians[-1] > BOUND:
        sys.exit(f"p99 beside dry runs is more than {BOUND:g} times that without")


def manifests() -> list[bytes]:
    """Return manifests as people send them, and the largest that are taken: many jobs, many pods, one long text, very many values."""
    job = MANIFEST.read_bytes()
    pod = b"---\n{kind: Pod, metadata: {name: p}, spec: {containers: [{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n"
    return [
        job,
        (job + b"\n---\n") * (MOST_PODS // 2),
        pod * (MOST_BYTES // len(pod)),
        pod + b"# " + b"x" * (MOST_BYTES - len(pod) - 2),
        b"{kind: Pod, a: [" + b"[]," * ((MOST_BYTES - 20) // 3) + b"[]]}",
    ]


@contextmanager
def asking(server: Server, bodies: Sequence[bytes], statuses: Counter[int]) -> Iterator[None]:
    """Send dry runs back to back all the while; count the statuses of their answers."""
    enough = threading.Event()

    def ask() -> None:
        number = 0
        while not enough.is_set():
            body = bodies[number % len(bodies)]
            statuses[
                server.plain("POST", "/dry-run?profile=two-rails", body, timeout=60).status
            ] += 1
            number += 1

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        time.sleep(1)  # what they need is loaded
        yield
    finally:
        enough.set()
        thread.join()


def _latencies(load: Load, server: Server, seconds: float) -> tuple[float, float]:
    figures = load.run(server, seconds, RATE)
    return figures["p50Milliseconds"], figures["p99Milliseconds"]


def _written(figures: tuple[float, ...]) -> str:
    quiet_50, quiet_99, beside_50, beside_99, ratio = figures
    return (
        f"quiet p50 {quiet_50:.2f} ms, p99 {quiet_99:.2f} ms; beside dry runs p50 {beside_50:.2f} ms, "
        f"p99 {beside_99:.2f} ms: {ratio:.1f} times"
    )


if __name__ == "__main__":
    main()
