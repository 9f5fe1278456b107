"""Print what an admission costs: ``python -m tests.bench.admission``.

Requests a second, latencies, CPU and memory of the real server. With PEER=FOLDER, a checkout of
network-resources-injector, its own server is measured too: it holds the same networks and gets the
same review with a networks annotation, without which it would do nothing. Rounds of all servers take turns, so that a busy machine slows them all; the table
holds medians. With ``--load 14``, so many processes of nice 0 are busy meanwhile. Nothing is
asserted.
"""

import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from certs.throwaway import make_throwaway
from tests.bench.client import HERE, RATE, REVIEW, Load
from tests.bench.place import bench_folder, parser, say
from tests.bench.usage import cpu_seconds, megabytes
from tests.peer.server import build_server, peer_server
from tests.peer.suite import copy_source
from tests.sockets.server import Server
from tests.waiting import wait_until

OBJECTS = 1000


@dataclass
class Measured:
    """Collect the figures of one server, a value for each round."""

    name: str
    server: Server
    body: Path = REVIEW
    values: dict[str, list[float]] = field(default_factory=dict)

    @property
    def pid(self) -> int:
        """Return the server's process."""
        return self.server.process.pid

    def add(self, figure: str, value: float) -> None:
        """Add a value of this round."""
        self.values.setdefault(figure, []).append(value)

    def median(self, figure: str) -> float:
        """Return that of all rounds."""
        return statistics.median(self.values[figure])


def main() -> None:
    """Measure, and print the table."""
    options = parser(
        __doc__,
        rounds=(5, "rounds of each server"),
        seconds=(4.0, "seconds of each measurement, two a round"),
        load=(0, "busy processes beside the rounds"),
    ).parse_args()
    with bench_folder("admission") as folder, ExitStack() as stack:
        tls_dir = folder / "tls"
        authority = make_throwaway(tls_dir, now=datetime.now(UTC))
        load = Load(folder, authority)
        ours = start_ours(folder, tls_dir, stack)
        wait_until(lambda: ours.server.get("/readyz").status == 200, "readiness")
        ours.add("CPU-ms until ready", 1000 * cpu_seconds(ours.pid))
        servers = [ours]
        if origin := os.environ.get("PEER"):
            servers.append(start_peer(folder, Path(origin), tls_dir, stack))
        for each in servers:
            each.add("resident memory at start, MB", megabytes(each.pid))
            load.run(each.server, 1, body=each.body)
        with busy(options.load):
            for turn in range(options.rounds):
                say(f"round {turn + 1} of {options.rounds}")
                for each in servers if turn % 2 else reversed(servers):
                    measure(each, load, options.seconds)
        for each in servers:
            each.add("resident memory at end, MB", megabytes(each.pid))
    python = f"Python {platform.python_version()}, {os.path.realpath(sys.executable)}"
    print(f"\n{python}; {os.cpu_count()} processors; {options.load} busy processes beside")
    print_medians(*servers)


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Keep *number* processes busy, none of them nicer than the servers."""
    with ExitStack() as stack:
        for _ in range(number):
            command = [sys.executable, "-c", "while True: pass"]
            stack.callback(stack.enter_context(subprocess.Popen(command)).kill)
        yield


def start_ours(folder: Path, tls_dir: Path, stack: ExitStack) -> Measured:
    """Start the webhook, with all networks and namespaces."""
    held = {"apiVersion": "v1", "kind": "List", "items": list(cluster())}
    objects = folder / "objects.json"
    objects.write_text(json.dumps(held))
    options = (
        f"--profiles={HERE / 'profiles.yaml'}",
        f"--objects={objects}",
        f"--tls-dir={tls_dir}",
    )
    return Measured("real", stack.enter_context(Server(folder / "real.log", *options)))


def start_peer(folder: Path, origin: Path, tls_dir: Path, stack: ExitStack) -> Measured:
    """Build and start the peer; its pods have to name their networks."""
    say("building network-resources-injector: some minutes the first time")
    os.environ["NRI_SOURCE"] = str(origin.absolute())
    program = build_server(folder, copy_source(folder))
    networks = [item for item in cluster() if item["kind"] != "Namespace"]
    review = json.loads(REVIEW.read_text())
    annotations = review["request"]["object"]["metadata"]["annotations"]
    annotations["k8s.v1.cni.cncf.io/networks"] = "rails/rail-0,rails/rail-1"
    body = folder / "peer-review.json"
    body.write_text(json.dumps(review))
    server = stack.enter_context(peer_server(folder, program, tls_dir, networks))
    return Measured("peer", server, body)


def cluster() -> Iterator[dict[str, Any]]:
    """Give the namespaces and networks that the server holds."""
    labels = {
        "fabric-injector.io/profile": "two-rails",
        "pod-security.kubernetes.io/enforce": "privileged",
    }
    for number in range(OBJECTS):
        metadata = {"name": f"team-{number}" if number else "default", "labels": labels}
        yield {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}
        yield network(number)


def network(number: int) -> dict[str, Any]:
    """Return one rail."""
    name = f"rail-{number}"
    ipam = {"type": "whereabouts", "range": "192.168.0.0/16"}
    config = {"cniVersion": "0.3.1", "name": name, "type": "host-device", "ipam": ipam}
    resource = {"k8s.v1.cni.cncf.io/resourceName": f"nvidia.com/{name}"}
    return {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": {"name": name, "namespace": "rails", "annotations": resource},
        "spec": {"config": json.dumps(config)},
    }


def measure(each: Measured, load: Load, seconds: float) -> None:
    """Measure one round: as fast as eight connections go, then at a steady rate."""
    for rate, how in ((0, "8 connections"), (RATE, f"{RATE}/s")):
        before = cpu_seconds(each.pid)
        figures = load.run(each.server, seconds, rate, each.body)
        spent = cpu_seconds(each.pid) - before
        each.add(f"CPU-ms an admission, {how}", 1000 * spent / figures["requests"])
        if rate:
            each.add(f"p50 at {how}, ms", figures["p50Milliseconds"])
            each.add(f"p99 at {how}, ms", figures["p99Milliseconds"])
        else:
            each.add(f"requests a second, {how}", figures["requests"] / figures["seconds"])


def print_medians(real: Measured, *others: Measured) -> None:
    """Print medians, and the ratios of the real server to each other one."""
    held = f"{OBJECTS} networks and {OBJECTS} namespaces held"
    print(f"\nAdmission of a 2-rail TorchX pod, {held}; medians of rounds\n")
    titles = [real.name, *(title for each in others for title in (each.name, f"/ {each.name}"))]
    print(f"{'':<38}" + "".join(f"{title:>10}" for title in titles))
    for figure in real.values:
        ours = real.median(figure)
        line = f"{figure:<38}{ours:>10.2f}"
        for other in others:
            if figure in other.values:
                theirs = other.median(figure)
                line += f"{theirs:>10.2f}{ours / theirs:>10.2f}"
            else:
                line += f"{'':>20}"
        print(line)


if __name__ == "__main__":
    main()
