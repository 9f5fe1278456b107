"""Measure how fast addresses reach all members of large jobs: ``python -m tests.bench.scale``.

Behind a real API server, the bench writes the annotation that Multus would. All workers are there
before rank 0 is created, which makes the first delivery. Then in each round rank 0 gets another
address, as of a new sandbox, and the time until the controller has written the last member's is
taken. Nothing is asserted but that every member has the right address at the end, and that nothing
was written twice.
"""

import statistics
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from tests.bench.place import bench_place, parser, print_table, say
from tests.bench.usage import cpu_seconds, processes
from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.jobs import LABELLED, Job
from tests.waiting import wait_until
from webhook.control.queue import MOST_AT_ONCE


def main() -> None:
    """Measure, and print the tables."""
    options = parser(
        __doc__,
        members=(10_000, "members of the large job"),
        rounds=(3, "other addresses of rank 0"),
    ).parse_args()
    with bench_place("scale") as (folder, stack):
        flags = ("--max-requests-inflight=800", "--max-mutating-requests-inflight=400")
        plane = stack.enter_context(ControlPlane(folder / "plane", *flags))
        controller = Controller(plane, folder / "controller", "fabric-injector")
        stack.enter_context(controller).wait_until_leading(60)
        for jobs, size in ((1, options.members), (64, 16)):
            space = plane.create_namespace(f"scale-{jobs}", LABELLED)
            made = [Job(plane.api, space, f"job{number}") for number in range(jobs)]
            measure(controller, made, size, options.rounds)


def measure(controller: Controller, jobs: list[Job], size: int, rounds: int) -> None:
    """Create the jobs, move their ranks 0 in rounds, and print what it took."""
    title, members = f"{len(jobs)} jobs of {size}", len(jobs) * size
    say(f"{title}: creating {members} pods")
    in_parallel(
        partial(job.create_pod, f"{job.name}-{rank}") for job in jobs for rank in range(1, size)
    )
    found = []
    for turn in range(rounds + 1):
        moves = [partial(move, job, turn) for job in jobs]
        seconds, cpu = deliver(controller, moves, members)
        say(f"round {turn} of {rounds}: {seconds:.2f} s")
        found.append((seconds, cpu))
    for job in jobs:
        job.wait_until_told(f"10.{rounds}.0.1", seconds=1)
    seconds, cpu = (statistics.median(each) for each in zip(*found[1:], strict=True))
    lines = {
        "rank 0 created to the last member's address": f"{found[0][0]:.2f} s",
        "rank 0's status to the last member's address": f"{seconds:.2f} s",
        "patches a second": f"{members / seconds:.0f}",
        "controller's CPU-ms for each patch": f"{1000 * cpu / members:.2f}",
    }
    print_table(f"{title}: {members} pods, {MOST_AT_ONCE} connections, medians", lines)


def move(job: Job, turn: int) -> None:
    """Give rank 0 the address of this turn; create it in the first."""
    if not turn:
        job.create_pod(job.master)
    job.attach(job.master, f"10.{turn}.0.1")


def deliver(
    controller: Controller, moves: Sequence[Callable[[], object]], members: int
) -> tuple[float, float]:
    """Move ranks 0; return the seconds until all is written, and the controller's CPU seconds."""
    before, cpu, begun = published(controller), controllers_seconds(), time.monotonic()
    in_parallel(moves)
    wait_until(lambda: published(controller) - before >= members, "all members", 300, interval=0.02)
    seconds, cpu = time.monotonic() - begun, controllers_seconds() - cpu
    time.sleep(2)
    if extra := published(controller) - before - members:
        sys.exit(f"{extra:.0f} writes too many")
    return seconds, cpu


def published(controller: Controller) -> float:
    """Count its successful writes."""
    return controller.metric("fabric_injector_addresses_published_total", result="published")


def controllers_seconds() -> float:
    """Return the processor time that the controller has used."""
    return sum(map(cpu_seconds, processes("control")))


def in_parallel(calls: Iterable[Callable[[], object]]) -> None:
    """Do all, 16 at a time; raise what one raises."""
    with ThreadPoolExecutor(16) as pool:
        for each in [pool.submit(call) for call in calls]:
            each.result()


if __name__ == "__main__":
    main()
