"""Print how long admissions take beside others that ask: ``python -m tests.bench.beside``.

Latency of admissions at 300 a second, in turns: while nobody else asks, and beside one of two
companies. *dry runs*: those of manifests of up to 256 KiB come back to back. *silence*: 64
connections say nothing, and 64 bodies stall. The ratio is that of two neighbouring rounds. The
clients run on the same machine and take processor time, too. The exit status is 1 where the median
ratio of p99 beside dry runs is above 3.
"""

from __future__ import annotations

import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path

from tests.bench.client import RATE, Load
from tests.bench.place import one_loaded_server, parser
from tests.bench.usage import cpu_seconds
from tests.pods import FIXTURES
from tests.sockets.server import Server, is_closed
from webhook.http.connection import BODY, SECONDS
from webhook.serve.dry_runs import MOST_BYTES, MOST_PODS

BOUND = 3.0
MANY = 64
HEAD = (
    b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    b"Content-Length: 6000\r\n\r\n{"
)


def main() -> None:
    """Measure, and print a line for each round."""
    options = parser(
        __doc__, rounds=(5, "rounds of each kind"), seconds=(5.0, "seconds of each")
    ).parse_args()
    statuses: Counter[int] = Counter()
    with one_loaded_server("beside") as (server, authority, load):

        def rounds(name: str, company: Callable[[], AbstractContextManager[None]]) -> float:
            return measure(server, load, name, company, options.rounds, options.seconds)

        ratio = rounds("dry runs", lambda: dry_runs(server, statuses))
        rounds("silence", lambda: silence(server, authority))
        answered = [f"{count} x {status}" for status, count in sorted(statuses.items())]
        print(f"dry runs: {', '.join(answered)}; most memory: {server.peak_megabytes():.0f} MB")
    if ratio > BOUND:
        sys.exit(f"p99 beside dry runs is more than {BOUND:g} times that without")


def measure(
    server: Server,
    load: Load,
    name: str,
    company: Callable[[], AbstractContextManager[None]],
    rounds: int,
    seconds: float,
) -> float:
    """Print p50 and p99 of rounds without and with the company; return the median ratio of p99."""
    found: list[tuple[float, ...]] = []
    for _ in range(rounds):
        quiet = load.run(server, seconds, RATE)
        spent = cpu_seconds(server.process.pid)
        with company():
            beside = load.run(server, seconds, RATE)
        spent = cpu_seconds(server.process.pid) - spent
        found.append(tuple(each[f"p{n}Milliseconds"] for each in (quiet, beside) for n in (50, 99)))
        print(f"{_written(name, found[-1])}; {spent:.1f} CPU-s", flush=True)
    medians = [statistics.median(each) for each in zip(*found, strict=True)]
    ratio = statistics.median(each[3] / each[1] for each in found)
    print(f"median: {_written(name, medians)}; of rounds {ratio:.1f}")
    return ratio


def _written(name: str, figures: Sequence[float]) -> str:
    quiet_50, quiet_99, beside_50, beside_99 = figures
    return (
        f"quiet p50 {quiet_50:.2f} ms, p99 {quiet_99:.2f} ms; beside {name} p50 {beside_50:.2f} "
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

    with _threads(enough, [threading.Thread(target=ask)]):
        time.sleep(1)  # what they need is loaded
        yield


@contextmanager
def silence(server: Server, authority: Path) -> Iterator[None]:
    """Hold silent connections and stalled bodies; a body that the server gives up is sent again."""
    ended, stalled = threading.Event(), threading.Semaphore(0)

    def stall(number: int) -> None:
        ended.wait(number / MANY * SECONDS[BODY])  # not all at a time
        while not ended.is_set():
            with suppress(OSError), server.connect_tls(authority) as connection:
                connection.sendall(HEAD)
                stalled.release()
                connection.recv(65536)  # the answer that it took too long
                is_closed(connection)

    with ExitStack() as stack:
        for _ in range(MANY):
            stack.enter_context(server.connect())
        threads = [threading.Thread(target=stall, args=(number,)) for number in range(MANY)]
        with _threads(ended, threads):
            for _ in threads:
                stalled.acquire()
            yield


@contextmanager
def _threads(ended: threading.Event, threads: Sequence[threading.Thread]) -> Iterator[None]:
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


if __name__ == "__main__":
    main()
