"""Print requests a second, latencies, CPU and memory of the real server beside the floor: ``python -m tests.bench.admission``.

With PEER=FOLDER, a checkout of network-resources-injector, its own server is measured too: it holds the same networks and gets the
same review with a networks annotation, without which it would do nothing. Rounds of all servers take turns, so that a busy machine
slows them all; the table holds medians. With ``--load 14``, so many processes of nice 0 are busy meanwhile. Nothing is asserted.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import platform
import shutil
import ssl
import statistics
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from certs.throwaway import make_throwaway
from tests.peer.server import build_server, peer_server
from tests.peer.suite import copy_source
from tests.sockets.server import Server
from tests.waiting import wait_until

HERE = Path(__file__).parent
REVIEW = HERE / "review.json"
OBJECTS = 1000
RATE = 300
CONNECTIONS = 200
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass
class Measured:
    """Collect the figures of one server, a value for each round."""

    name: str
    server: Server
    body: Path
    values: dict[str, list[float]] = field(default_factory=dict)

    def add(self, figure: str, value: float) -> None:
        self.values.setdefault(figure, []).append(value)

    def median(self, figure: str) -> float:
        return statistics.median(self.values[figure])


class Load:
    """Send requests with a Go program that connects as the API server does."""

    def __init__(self, folder: Path, authority: Path) -> None:
        """Build it in the folder; *authority* is the file of the servers' CAs."""
        go = shutil.which("go")
        if go is None:
            sys.exit("the load client is a Go program: install Go and put it on PATH")
        self._binary = folder / "load"
        subprocess.run([go, "build", "-o", self._binary, "."], cwd=HERE / "load", check=True)
        self._authority = authority

    def run(
        self, server: Server, seconds: float, rate: float = 0, body: Path = REVIEW
    ) -> dict[str, Any]:
        """Post *body* to the server's admission port for some seconds, as `post` does."""
        return self.post(
            [server.addresses["admission"] + "/mutate?timeout=5s"], body, seconds, rate
        )

    def post(
        self,
        urls: Sequence[str],
        body: Path,
        seconds: float,
        rate: float = 0,
        workers: int = 8,
        *options: str,
    ) -> dict[str, Any]:
        """Post *body* to the URLs in turn for some seconds; end the whole run where a request failed."""
        command: list[str | Path] = [
            self._binary,
            "-url",
            ",".join(urls),
            "-ca",
            self._authority,
            "-body",
            body,
        ]
        command += [
            "-seconds",
            str(seconds),
            "-rate",
            str(rate),
            "-workers",
            str(workers),
            *options,
        ]
        result = subprocess.run(command, check=True, capture_output=True, timeout=seconds + 60)
        figures: dict[str, Any] = json.loads(result.stdout)
        if figures["errors"]:
            sys.exit(
                f"{figures['errors']} of {figures['requests']} requests failed: {figures['firstFail']}"
            )
        return figures


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each server (default 5)")
    parser.add_argument(
        "--seconds",
        type=float,
        default=4,
        help="seconds of each measurement, two a round (default 4)",
    )
    parser.add_argument(
        "--load", type=int, default=0, help="busy processes beside the rounds (default 0)"
    )
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="fabric-injector-bench-") as name, ExitStack() as stack:
        folder = Path(name)
        tls_dir = folder / "tls"
        make_throwaway(tls_dir, now=datetime.now(UTC))
        objects = folder / "objects.json"
        objects.write_text(
            json.dumps({"apiVersion": "v1", "kind": "List", "items": list(cluster())})
        )
        load = Load(folder, tls_dir / "ca.crt")
        real = Server(
            folder / "real.log",
            f"--profiles={HERE / 'profiles.yaml'}",
            f"--objects={objects}",
            f"--tls-dir={tls_dir}",
        )
        floor = Server(
            folder / "floor.log", command=(sys.executable, "-m", "tests.bench.floor", str(tls_dir))
        )
        servers = [
            Measured(name, stack.enter_context(one), REVIEW)
            for name, one in (("real", real), ("floor", floor))
        ]
        for each in servers:
            wait_until(partial(is_ready, each.server), "readiness")
            each.add("CPU-ms until ready", 1000 * cpu_seconds(each.server))
            each.add(
                "CPU-ms until ready, with children", 1000 * cpu_seconds(each.server, children=True)
            )
        if origin := os.environ.get("PEER"):
            servers.append(start_peer(folder, Path(origin), tls_dir, stack))
        for each in servers:
            each.add("resident memory at start, MB", memory(each.server, "status", "VmRSS:"))
            load.run(each.server, 1, body=each.body)
        with busy(options.load):
            for turn in range(options.rounds):
                print(f"round {turn + 1} of {options.rounds}", file=sys.stderr)
                for each in servers if turn % 2 else reversed(servers):
                    measure(each, load, options.seconds)
        for each in servers:
            each.add("resident memory at end, MB", memory(each.server, "status", "VmRSS:"))
            each.add("its own share (PSS), MB", memory(each.server, "smaps_rollup", "Pss:"))
            each.add(
                "memory of a further connection, kB", connection_memory(each, tls_dir / "ca.crt")
            )
        print(
            f"\n{interpreter()}; {os.cpu_count()} processors; {options.load} busy processes beside"
        )
        print_table(*servers)


def interpreter() -> str:
    """Say which Python serves, and how far it was optimised when it was built: that alone makes a fifth of the cost."""
    configured = sysconfig.get_config_var("CONFIG_ARGS") or ""
    flags = [flag for flag in ("--enable-optimizations", "--with-lto") if flag in configured]
    built = f"configured with {' and '.join(flags)}" if flags else "configured without PGO and LTO"
    if (
        not flags and sys.base_prefix == "/usr"
    ):  # Debian's rules add them past configure, which tells nobody
        built = "built by the distribution, with what it adds by itself"
    where = os.path.realpath(sys.executable)
    return f"Python {platform.python_version()}, {where}, {built}"


@contextmanager
def busy(number: int) -> Iterator[None]:
    """Keep *number* processes busy, none of them nicer than the servers."""
    with ExitStack() as stack:
        for _ in range(number):
            process = stack.enter_context(
                subprocess.Popen([sys.executable, "-c", "while True: pass"])
            )
            stack.callback(process.kill)
        yield


def start_peer(folder: Path, origin: Path, tls_dir: Path, stack: ExitStack) -> Measured:
    """Build and start the peer; it needs to be told of networks by the pod."""
    print("building network-resources-injector: some minutes the first time", file=sys.stderr)
    os.environ["NRI_SOURCE"] = str(origin.absolute())
    program = build_server(folder, copy_source(folder))
    networks = [item for item in cluster() if item["kind"] != "Namespace"]
    review = json.loads(REVIEW.read_text())
    annotations = review["request"]["object"]["metadata"]["annotations"]
    annotations["k8s.v1.cni.cncf.io/networks"] = "rails/rail-0,rails/rail-1"
    body = folder / "peer-review.json"
    body.write_text(json.dumps(review))
    return Measured(
        "peer", stack.enter_context(peer_server(folder, program, tls_dir, networks)), body
    )


def cluster() -> Iterator[dict[str, Any]]:
    """Give the namespaces and networks that the server holds."""
    for number in range(OBJECTS):
        labels = {
            "fabric-injector.io/profile": "two-rails",
            "pod-security.kubernetes.io/enforce": "privileged",
        }
        name = f"team-{number}" if number else "default"
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name, "labels": labels},
        }
        config = {"cniVersion": "0.3.1", "name": f"rail-{number}", "type": "host-device"}
        config["ipam"] = {"type": "whereabouts", "range": "192.168.0.0/16"}  # type: ignore[assignment]  # as CNI nests it
        yield {
            "apiVersion": "k8s.cni.cncf.io/v1",
            "kind": "NetworkAttachmentDefinition",
            "metadata": {
                "name": f"rail-{number}",
                "namespace": "rails",
                "annotations": {"k8s.v1.cni.cncf.io/resourceName": f"nvidia.com/rail-{number}"},
            },
            "spec": {"config": json.dumps(config)},
        }


def is_ready(server: Server) -> bool:
    """Tell whether the server answers that it is ready."""
    return server.get("/readyz").status == 200


def measure(each: Measured, load: Load, seconds: float) -> None:
    """Measure one round: as fast as eight connections go, then at a steady rate."""
    before = cpu_seconds(each.server)
    figures = load.run(each.server, seconds, body=each.body)
    spent = cpu_seconds(each.server) - before
    each.add("requests a second, 8 connections", figures["requests"] / figures["seconds"])
    each.add("CPU-ms an admission, 8 connections", 1000 * spent / figures["requests"])
    before = cpu_seconds(each.server)
    figures = load.run(each.server, seconds, RATE, body=each.body)
    spent = cpu_seconds(each.server) - before
    each.add(f"p50 at {RATE}/s, ms", figures["p50Milliseconds"])
    each.add(f"p99 at {RATE}/s, ms", figures["p99Milliseconds"])
    each.add(f"CPU-ms an admission at {RATE}/s", 1000 * spent / figures["requests"])


def connection_memory(each: Measured, authority: Path) -> float:
    """Return what a connection that is open and has asked once costs, in kB."""
    context = ssl.create_default_context(cafile=authority)
    port = urlsplit(each.server.addresses["admission"]).port
    body, headers = each.body.read_bytes(), {"Content-Type": "application/json"}
    before = 0.0
    with ExitStack() as stack:
        for number in range(
            2 * CONNECTIONS
        ):  # the first half shows what the process keeps for all of them
            if number == CONNECTIONS:
                before = memory(each.server, "status", "VmRSS:")
            client = http.client.HTTPSConnection("localhost", port, timeout=20, context=context)
            stack.enter_context(closing(client))
            client.request("POST", "/mutate", body, headers)
            client.getresponse().read()
        return 1024 * (memory(each.server, "status", "VmRSS:") - before) / CONNECTIONS


def cpu_seconds(server: Server, *, children: bool = False) -> float:
    """Return the processor time that the server's process has used, user and system; with that of its ended *children*."""
    fields = Path(f"/proc/{server.process.pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11 : 15 if children else 13])) / TICKS


def memory(server: Server, file: str, key: str) -> float:
    """Read a figure in kB from one of the process's files; return MB."""
    for line in Path(f"/proc/{server.process.pid}/{file}").read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1]) / 1024
    raise LookupError(key)


def print_table(real: Measured, *others: Measured) -> None:
    """Print medians, and the ratios of the real server to each other one."""
    print(
        f"\nAdmission of a 2-rail TorchX pod, {OBJECTS} networks and {OBJECTS} namespaces held; medians of rounds\n"
    )
    titles = [real.name, *(title for other in others for title in (other.name, f"/ {other.name}"))]
    print(f"{'':<38}" + "".join(f"{title:>10}" for title in titles))
    for figure in real.values:
        ours = real.median(figure)
        line = f"{figure:<38}{ours:>10.2f}"
        for other in others:
            known = figure in other.values
            line += (
                f"{other.median(figure):>10.2f}{ours / other.median(figure):>10.2f}"
                if known
                else f"{'':>20}"
            )
        print(line)


if __name__ == "__main__":
    main()
