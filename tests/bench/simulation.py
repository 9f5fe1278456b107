"""Model a cluster larger than any test machine, and say what saturates first: ``python -m tests.bench.simulation``.

A discrete-event model. Its assumptions, in words:

- A burst: all jobs are created within ``--window`` seconds, as after an outage or by a sweep of experiments. Pods of a job are created
  one after the other, and all of a job are bound together (a gang), when its last pod exists.
- Each pod costs the API servers four writes of its own before it runs (create, bind, Multus' network-status, the kubelet's status)
  and one of ours (the addresses). Each network-status and each write of ours costs the controller a watch event besides.
- A station (webhook replicas, API servers, etcd, controller) serves first come first served; its servers are alike; service times
  are exponential around the mean. A write passes an API server, then etcd. Kubernetes' own fairness is not modelled: it protects
  others from us, so that what is said of us here is the best case of a fair share.
- A sandbox takes ``--sandbox`` seconds, exponential around the mean, on a node that is never the bottleneck.
- The controller is one process: Python runs one thread at a time, so that its processor time, for events and writes alike, is one
  server. It never waits for a connection.
- Service times come from the other benches (`make bench`, `make bench NAME=scale`) on whatever machine they ran; give yours.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import random
import statistics
from collections import deque
from collections.abc import Callable
from functools import partial


class Station:
    """Serve in order of arrival with some servers; *seconds* is the mean time of one service."""

    def __init__(self, world: World, name: str, servers: int, seconds: float) -> None:
        self.name, self.servers, self.seconds = name, servers, seconds
        self._world = world
        self._queue: deque[Callable[[], None]] = deque()
        self._busy = 0
        self.used = 0.0
        self.longest_queue = 0

    def serve(self, then: Callable[[], None]) -> None:
        """Call *then* once served."""
        if self._busy < self.servers:
            self._begin(then)
        else:
            self._queue.append(then)
            self.longest_queue = max(self.longest_queue, len(self._queue))

    def _begin(self, then: Callable[[], None]) -> None:
        self._busy += 1
        took = self._world.chance.expovariate(1 / self.seconds)
        self.used += took

        def end() -> None:
            self._busy -= 1
            if self._queue:
                self._begin(self._queue.popleft())
            then()

        self._world.after(took, end)


class World:
    """Hold the clock and what is to come."""

    def __init__(self, seed: int) -> None:
        self.now = 0.0
        self.chance = random.Random(seed)
        self._numbers = itertools.count()
        self._events: list[tuple[float, int, Callable[[], None]]] = []

    def after(self, seconds: float, action: Callable[[], None]) -> None:
        """Do something later."""
        heapq.heappush(self._events, (self.now + seconds, next(self._numbers), action))

    def run(self) -> None:
        """Go on until nothing is to come."""
        while self._events:
            self.now, _, action = heapq.heappop(self._events)
            action()


class Cluster:
    """Run the jobs through the stations."""

    def __init__(self, world: World, options: argparse.Namespace) -> None:
        self.world, self.options = world, options
        self.webhook = Station(world, "webhook", options.webhooks, options.admission_ms / 1000)
        self.api = Station(
            world, "API servers", options.api_servers * options.api_cores, options.write_ms / 1000
        )
        self.etcd = Station(world, "etcd", 1, 1 / options.etcd_writes)
        self.events = Station(world, "controller", 1, options.event_ms / 1000)
        self.delays: list[float] = []
        self.admissions: list[float] = []

    def write(self, then: Callable[[], None]) -> None:
        """Write one object."""
        self.api.serve(lambda: self.etcd.serve(then))

    def start_job(self, size: int) -> None:
        """Create the pods of a job, and bind them when all exist."""
        missing, waiting, known = size, 0, False

        def publish() -> None:
            ready = self.world.now

            def written() -> None:
                self.delays.append(self.world.now - ready)
                self.events.serve(lambda: None)  # its own write comes back by the watch

            self.events.serve(lambda: self.write(written))

        def reported(rank: int) -> None:
            def seen() -> None:
                nonlocal waiting, known
                waiting += 1
                known = known or rank == 0
                if known:
                    for _ in range(waiting):
                        publish()
                    waiting = 0

            self.events.serve(seen)

        def bound(rank: int) -> None:
            sandbox = self.world.chance.expovariate(1 / self.options.sandbox)
            self.world.after(
                sandbox, lambda: self.write(lambda: self.write(lambda: reported(rank)))
            )

        def created(left: int) -> None:
            nonlocal missing
            missing -= 1
            create(left - 1)
            if not missing:
                for rank in range(size):
                    self.write(partial(bound, rank))

        def create(left: int) -> None:
            if left:
                begun = self.world.now

                def admitted() -> None:
                    self.admissions.append(self.world.now - begun)
                    self.write(lambda: created(left))

                self.webhook.serve(admitted)

        create(size)

    def stations(self) -> list[Station]:
        """List what can saturate."""
        return [self.webhook, self.api, self.etcd, self.events]


def main() -> None:
    """Run the model, and print what it shows."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    number = parser.add_argument
    number("--pods", type=int, default=100_000)
    number("--jobs", type=int, default=1000)
    number(
        "--window",
        type=float,
        default=120,
        help="seconds within which all jobs are created (default 120)",
    )
    number("--webhooks", type=int, default=2, help="replicas (default 2)")
    number(
        "--admission-ms",
        type=float,
        default=1.1,
        help="processor time of one admission (default 1.1)",
    )
    number("--api-servers", type=int, default=3)
    number("--api-cores", type=int, default=8, help="cores of each API server (default 8)")
    number(
        "--write-ms",
        type=float,
        default=3.0,
        help="processor time of one write in the API server (default 3)",
    )
    number(
        "--etcd-writes",
        type=float,
        default=5000,
        help="writes a second that etcd takes (default 5000)",
    )
    number(
        "--event-ms",
        type=float,
        default=0.5,
        help="controller's processor time for an event or a write (default 0.5)",
    )
    number(
        "--sandbox", type=float, default=1.0, help="mean seconds of making a sandbox (default 1)"
    )
    number("--seed", type=int, default=1)
    options = parser.parse_args()
    world = World(options.seed)
    cluster = Cluster(world, options)
    size, rest = divmod(options.pods, options.jobs)
    for job in range(options.jobs):
        pods = size + (job < rest)
        world.after(world.chance.uniform(0, options.window), partial(cluster.start_job, pods))
    world.run()
    print(
        f"{options.pods} pods, {options.jobs} jobs within {options.window:g} s: all done after {world.now:.0f} s"
    )
    print(f"{'':<14}{'servers':>9}{'busy':>8}{'longest queue':>16}")
    for station in cluster.stations():
        busy = station.used / station.servers / world.now
        print(f"{station.name:<14}{station.servers:>9}{busy:>8.0%}{station.longest_queue:>16}")
    for what, values in (
        ("admission", cluster.admissions),
        ("address known to written", cluster.delays),
    ):
        cuts = statistics.quantiles(values, n=100)
        print(f"{what}: p50 {cuts[49]:.3f} s, p99 {cuts[98]:.3f} s, longest {max(values):.3f} s")
    first = max(cluster.stations(), key=lambda station: station.used / station.servers)
    print(f"saturates first: {first.name}")


if __name__ == "__main__":
    main()
