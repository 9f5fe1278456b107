"""Measure how long others wait while connections are silent and bodies stall: ratios of rounds that take turns."""

from __future__ import annotations

import statistics
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from certs.throwaway import make_throwaway
from tests.bench.admission import Load
from tests.sockets.conftest import OBJECTS, PROFILES
from tests.sockets.server import Server, is_closed
from webhook.http.endpoint import Limits

MANY = 64
RATE = 100
HEAD = b"POST /mutate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 6000\r\n\r\n{"


def measure_siege(rounds: int, seconds: float) -> dict[str, str]:
    """Give p99 at a steady rate without and with the besiegers, and the medians' ratio; every request must be answered."""
    with tempfile.TemporaryDirectory(prefix="fabric-injector-siege-") as name, ExitStack() as stack:
        folder = Path(name)
        authority = make_throwaway(folder / "tls", now=datetime.now(UTC))
        load = Load(folder, folder / "tls" / "ca.crt")
        options = (f"--profiles={PROFILES}", f"--objects={OBJECTS}", f"--tls-dir={folder / 'tls'}")
        server = stack.enter_context(Server(folder / "log", *options))
        load.run(server, 1)
        alone, besieged = [], []
        for _ in range(rounds):
            alone.append(load.run(server, seconds, RATE)["p99Milliseconds"])
            with besiegers(server, authority):
                besieged.append(load.run(server, seconds, RATE)["p99Milliseconds"])
    ratio = statistics.median(besieged) / statistics.median(alone)
    return {
        "p99 alone, ms": _listed(alone),
        f"p99 beside {MANY} silent and {MANY} stalled, ms": _listed(besieged),
        "ratio of the medians": f"{ratio:.2f}",
    }


@contextmanager
def besiegers(server: Server, authority: Path) -> Iterator[None]:
    """Hold silent connections and stalled bodies; a body that the server gives up is sent anew."""
    ended, stalled = threading.Event(), threading.Semaphore(0)

    def stall(number: int) -> None:
        ended.wait(number / MANY * Limits().body_seconds)  # not all at a time
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
        for thread in threads:
            thread.start()
        try:
            for _ in threads:
                stalled.acquire()
            yield
        finally:
            ended.set()
            for thread in threads:
                thread.join()


def _listed(figures: list[float]) -> str:
    return (
        f"{statistics.median(figures):.1f} (rounds: {', '.join(f'{each:.1f}' for each in figures)})"
    )
