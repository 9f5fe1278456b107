"""Print how long admissions take beside dry runs: ``python -m tests.bench.beside``.

Latency of admissions at 300 a second, in turns: while nobody else asks, and while dry runs of
manifests of up to 256 KiB come back to back. The ratio is that of two neighbouring rounds. The
clients run on the same machine and take processor time, too.
"""

from __future__ import annotations

import statistics
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tests.bench.client import RATE
from tests.bench.place import one_loaded_server, parser
from tests.pods import FIXTURES
from tests.sockets.server import Server
from webhook.serve.dry_runs import MOST_BYTES, MOST_PODS


def main() -> None:
    """Measure, and print a line for each round."""
    options = parser(
        __doc__, rounds=(5, "rounds of each kind"), seconds=(5.0, "seconds of each")
    ).parse_args()
    statuses: Counter[int] = Counter()
    found: list[tuple[float, ...]] = []
    with one_loaded_server("beside") as (server, _, load):
        for _ in range(options.rounds):
            quiet = load.run(server, options.seconds, RATE)
            with dry_runs(server, statuses):
                beside = load.run(server, options.seconds, RATE)
            row = tuple(each[f"p{n}Milliseconds"] for each in (quiet, beside) for n in (50, 99))
            found.append(row)
            print(_written(row), flush=True)
        answered = [f"{count} x {status}" for status, count in sorted(statuses.items())]
        print(f"dry runs: {', '.join(answered)}; most memory: {server.peak_megabytes():.0f} MB")
    medians = [statistics.median(each) for each in zip(*found, strict=True)]
    ratio = statistics.median(each[3] / each[1] for each in found)
    print(f"median: {_written(medians)}; of rounds {ratio:.1f}")


def _written(figures: Sequence[float]) -> str:
    quiet_50, quiet_99, beside_50, beside_99 = figures
    return (
        f"quiet p50 {quiet_50:.2f} ms, p99 {quiet_99:.2f} ms; beside dry runs p50 {beside_50:.2f} "
        f"ms, p99 {beside_99:.2f} ms: {beside_99 / quiet_99:.1f} times"
    )


def manifests() -> list[bytes]:
    """Return manifests as people send them, and the largest that are taken.

    Many jobs, many pods, one long text, very many values.
    """
    job = (FIXTURES / "torchx/volcano-ddp-2x1.yaml").read_bytes()
    pod = (
        b"---\n{kind: Pod, metadata: {name: p}, spec: {containers: "
        b"[{name: c, resources: {limits: {nvidia.com/gpu: 1}}}]}}\n"
    )
    return [
        job,
        (job + b"\n---\n") * (MOST_PODS // 2),
        pod * (MOST_BYTES // len(pod)),
        pod + b"# " + b"x" * (MOST_BYTES - len(pod) - 2),
        b"{kind: Pod, a: [" + b"[]," * ((MOST_BYTES - 20) // 3) + b"[]]}",
    ]


@contextmanager
def dry_runs(server: Server, statuses: Counter[int]) -> Iterator[None]:
    """Send dry runs back to back all the while; count the statuses of their answers."""
    enough, bodies = threading.Event(), manifests()

    def ask() -> None:
        number = 0
        while not enough.is_set():
            body = bodies[number % len(bodies)]
            reply = server.plain("POST", "/dry-run?profile=two-rails", body, timeout=60)
            statuses[reply.status] += 1
            number += 1

    asking = threading.Thread(target=ask)
    asking.start()
    try:
        time.sleep(1)  # what they need is loaded
        yield
    finally:
        enough.set()
        asking.join()


if __name__ == "__main__":
    main()
