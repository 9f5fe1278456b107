"""Rotate, roll out and end replicas while pods are created all the time, and count what failed: ``python -m tests.bench.soak``.

Two replicas of the webhook as endpoints of their Service, a controller that leads, a real API
server that calls. The exit status is 1 if any admission failed.
"""

import os
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.apiserver.installation import Installation, injected
from tests.apiserver.mounts import kubelet, secret
from tests.apiserver.traffic import Traffic
from tests.bench.place import bench_place, parser, print_table, say
from tests.cluster.controlplane import ROUTED, ControlPlane
from tests.cluster.installation import install_yaml
from tests.cluster.processes import run_command
from tests.profiles import as_text
from tests.waiting import wait_until

HURRIED = [sys.executable, "-m", "tests.apiserver.hurried"]
PROFILES = as_text("train: {pods: all}")
RELOADED = "certificate reloaded"
KUBELET_SECONDS = 0.5


def main() -> None:
    """Do it, and print the table."""
    options = parser(
        __doc__,
        rotations=(10, "new CAs, each with a new leaf"),
        rollouts=(5, "replacements of both replicas"),
        ends=(20, "single replicas that get SIGTERM"),
        rate=(50.0, "admissions a second"),
    ).parse_args()
    with bench_place("soak") as (folder, stack):
        plane = stack.enter_context(ControlPlane(folder / "plane", ROUTED))
        plane.create_namespace("soak", {"fabric-injector.io/profile": "train"})
        plane.kubectl("apply", "--server-side", f"--filename={install_yaml()}")
        service = stack.enter_context(Installation(plane, folder, PROFILES, command=HURRIED))
        service.start_controller()
        for _ in range(2):
            service.start_webhook()
        stack.enter_context(kubelet(plane.api, service.tls_dir, KUBELET_SECONDS))
        wait_until(lambda: injected(plane.api, "soak", "train"), "the Service to be called")
        traffic = stack.enter_context(Traffic(plane.api, "soak", "train", options.rate))
        report = Report(traffic)
        with report.phase("rotations of CA and leaf", options.rotations):
            repeat(options.rotations, lambda: rotate(plane, service))
        with report.phase("rollouts of two replicas", options.rollouts):
            repeat(options.rollouts, lambda: expect_zero(*service.roll()))
        with report.phase("replicas that got SIGTERM", options.ends):
            repeat(options.ends, lambda: replace_one(service))
    report.print(options.rate)
    if traffic.failures:
        sys.exit(f"failed: {traffic.failures[:5]}")


@dataclass
class Report:
    """Count what was admitted and what failed in each phase."""

    traffic: Traffic
    lines: dict[str, str] = field(default_factory=dict)

    @contextmanager
    def phase(self, what: str, count: int) -> Iterator[None]:
        """Note the difference that the block makes."""
        say(f"{count} x {what}")
        admitted, failed, begun = (
            self.traffic.admitted,
            len(self.traffic.failures),
            time.monotonic(),
        )
        yield
        admitted, failed = self.traffic.admitted - admitted, len(self.traffic.failures) - failed
        seconds = time.monotonic() - begun
        self.lines[f"{count} x {what}"] = f"{failed} failed, {admitted} admitted in {seconds:.0f} s"

    def print(self, rate: float) -> None:
        """Print all."""
        p50, p99 = (
            statistics.quantiles(self.traffic.seconds, n=100)[each] * 1000 for each in (49, 98)
        )
        load = ", ".join(f"{each:.1f}" for each in os.getloadavg())
        print_table(
            f"soak at {rate:g} admissions a second, {os.cpu_count()} processors, load average {load} at the end",
            self.lines
            | {
                "failed admissions": f"{len(self.traffic.failures)} of {self.traffic.admitted + len(self.traffic.failures)}",
                "creation as the client saw it": f"p50 {p50:.0f} ms, p99 {p99:.0f} ms",
            },
        )


def repeat(count: int, work: Callable[[], None]) -> None:
    """Do the work so often."""
    for number in range(count):
        work()
        say(f"  {number + 1} of {count}")


def rotate(plane: ControlPlane, service: Installation) -> None:
    """Ask the leader for a new CA, and wait until every replica serves a leaf of it."""
    before = secret(plane.api)["tls.crt"]
    reloads = {each: each.output().count(RELOADED) for each in service.webhooks}
    command = [*HURRIED, "certs", "rotate", "--authority"]
    run_command(command, plane.admin).check_returncode()
    wait_until(lambda: secret(plane.api)["tls.crt"] != before, "a new certificate", 120)
    wait_until(
        lambda: all(each.output().count(RELOADED) > count for each, count in reloads.items()),
        "every replica to take the certificate",
    )


def replace_one(service: Installation) -> None:
    """Start a replica, and end the oldest."""
    oldest = next(iter(service.webhooks))
    service.start_webhook()
    expect_zero(service.stop_webhook(oldest))


def expect_zero(*statuses: int | None) -> None:
    """End the run where a replica had to be killed, or failed."""
    if any(statuses):
        sys.exit(f"replicas ended with {statuses}")


if __name__ == "__main__":
    main()
