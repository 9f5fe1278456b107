"""Measure how fast addresses reach all members of large jobs, behind a real API server: ``python -m tests.bench.scale``.

Each round rank 0 of one job gets another address, and the time until the last member has it is taken; beside it, in turn, a
minimal client with as many connections writes as many merge patches to the same pods. Nothing is asserted but that every member
has the right address at the end, and that nothing was written twice.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.apiserver.assets import AssetsUnavailable, assets
from tests.apiserver.controlplane import ControlPlane
from tests.apiserver.processes import Server, free_port
from tests.bench.minimal import patch_all
from tests.bench.witness import Witness
from webhook.control.shares import MOST_AT_ONCE
from webhook.core import names

LEASE_NAMESPACE = "fabric-injector"


class Controller:
    """Run `fabric-injector control` against the control plane."""

    def __init__(self, plane: ControlPlane, folder: Path) -> None:
        self._port = free_port()
        command = [sys.executable, "-m", "webhook", "control", "--certificates=none"]
        command.append(f"--metrics-listen=127.0.0.1:{self._port}")
        environment = {**os.environ, "KUBECONFIG": str(plane.kubeconfig(folder / "controller.kubeconfig"))}
        self._server = Server(command, folder / "controller.log", environment)
        self._server.wait_ready(lambda: self.metric("fabric_injector_leader") == 1, 60)
        self.pid = self._server.process.pid

    def metric(self, name: str) -> float:
        """Read one of its metrics, -1 where it does not answer."""
        import urllib3

        try:
            text = urllib3.request(
                "GET", f"http://127.0.0.1:{self._port}/metrics", timeout=2, retries=False
            ).data.decode()
        except urllib3.exceptions.HTTPError:
            return -1.0
        return next((float(line.split()[-1]) for line in text.splitlines() if line.startswith(name)), -1.0)

    def published(self) -> float:
        """Count its successful writes."""
        return self.metric('fabric_injector_addresses_published_total{result="published"}')

    def memory(self, key: str = "VmRSS:") -> float:
        """Return its resident memory in MB."""
        lines = Path(f"/proc/{self.pid}/status").read_text().splitlines()
        return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))

    def cpu_seconds(self) -> float:
        """Return the processor time that it has used."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def freeze(self, *, frozen: bool) -> None:
        """Stop it for a moment, so that it does not weigh on the floor, or let it go on."""
        os.kill(self.pid, signal.SIGSTOP if frozen else signal.SIGCONT)

    def stop(self) -> None:
        """End it."""
        self._server.stop()


def main() -> None:
    """Measure, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workers", type=int, default=1024, help="workers of the large job (default 1024)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds, each beside one of the floor (default 5)")
    parser.add_argument(
        "--pods", type=int, default=10_000, help="pods watched when memory is read (default 10000; 0: not)"
    )
    options = parser.parse_args()
    try:
        assets()
    except AssetsUnavailable as problem:
        sys.exit(str(problem))
    with tempfile.TemporaryDirectory(prefix="fabric-injector-scale-") as name, ExitStack() as stack:
        folder = Path(name)
        flags = ("--max-requests-inflight=800", "--max-mutating-requests-inflight=400")
        plane = stack.enter_context(ControlPlane(folder / "plane", *flags))
        plane.create_namespace(LEASE_NAMESPACE)
        controller = Controller(plane, folder)
        stack.callback(controller.stop)
        measure_job(plane, controller, f"one job of {options.workers} workers", [options.workers + 1], options.rounds)
        measure_job(plane, controller, "64 jobs of 16", [16] * 64, options.rounds)
        if options.pods:
            measure_memory(plane, controller, options.pods)


def measure_job(plane: ControlPlane, controller: Controller, title: str, sizes: Sequence[int], rounds: int) -> None:
    """Create the jobs, move their ranks 0 in rounds, and print what it took."""
    namespace = plane.create_namespace(f"scale-{len(sizes)}", {names.PROFILE: "shared"})
    jobs = {f"job{number}": size for number, size in enumerate(sizes)}
    pods = [f"{job}-{rank}" for job, size in jobs.items() for rank in range(size)]
    say(f"{title}: creating {len(pods)} pods")
    in_parallel(lambda pod: plane.api.expect("POST", f"/api/v1/namespaces/{namespace}/pods", manifest(pod)), pods)
    workers = [pod for pod in pods if not pod.endswith("-0")]
    in_parallel(lambda pod: report(plane, namespace, pod, "10.9.9.9"), workers)
    witness = Witness(plane.url, plane.ca, plane.token, namespace)
    values: dict[str, list[float]] = {"seconds": [], "floor": [], "cpu": []}
    for turn in range(rounds + 1):  # the first warms up
        address = f"10.{turn}.0.1"
        before, cpu, begun = controller.published(), controller.cpu_seconds(), time.monotonic()
        writes = witness.writes
        in_parallel(lambda job: report(plane, namespace, f"{job}-0", address), list(jobs))  # noqa: B023  # called at once
        seconds = witness.wait(address, len(pods), 300) - begun
        cpu = controller.cpu_seconds() - cpu
        controller.freeze(frozen=True)
        try:
            floor = patch_all(plane.url, plane.ca, plane.token, namespace, pods, f"turn-{turn}", MOST_AT_ONCE)
        finally:
            controller.freeze(frozen=False)
        time.sleep(1)  # it catches up with what the floor wrote
        extra = controller.published() - before - len(pods)
        if extra > 0 and turn:  # the first one warms up; one answer may be lost while the process is frozen
            sys.exit(f"{extra:.0f} writes too many, {witness.writes - writes} of them seen")
        if turn:
            say(f"round {turn} of {rounds}: {seconds:.2f} s, floor {floor:.2f} s")
            for key, value in zip(values, (seconds, floor, cpu), strict=True):
                values[key].append(value)
    wrong = [pod for pod, found in told(plane, namespace) if found != address]
    if wrong:
        sys.exit(f"{len(wrong)} pods have another address: {wrong[:3]}")
    median = {key: statistics.median(found) for key, found in values.items()}
    print(f"\n{title}: {len(pods)} pods, {MOST_AT_ONCE} connections, medians of {rounds} rounds")
    print(f"  rank 0's status to the last member's address  {median['seconds']:.2f} s")
    print(f"  patches a second                              {len(pods) / median['seconds']:.0f}")
    print(f"  floor: bare patches a second                  {len(pods) / median['floor']:.0f}")
    print(f"  share of the floor's rate                     {median['floor'] / median['seconds']:.2f}")
    print(f"  controller's CPU-ms for each patch            {1000 * median['cpu'] / len(pods):.2f}", flush=True)


def measure_memory(plane: ControlPlane, controller: Controller, count: int) -> None:
    """Print the controller's memory with that many pods watched."""
    namespace = plane.create_namespace("scale-memory", {names.PROFILE: "shared"})
    present = sum(1 for _ in told(plane, ""))
    pods = [f"many{number // 64}-{number % 64}" for number in range(count - present)]
    say(f"memory: creating {len(pods)} pods")
    in_parallel(lambda pod: plane.api.expect("POST", f"/api/v1/namespaces/{namespace}/pods", manifest(pod)), pods)
    time.sleep(3)
    print(
        f"\ncontroller with {count} pods watched: {controller.memory():.0f} MB resident, {controller.memory('VmHWM:'):.0f} MB at most"
    )


def manifest(name: str) -> dict[str, Any]:
    """Write a bare pod as the webhook leaves it."""
    job, _, rank = name.rpartition("-")
    labels = {names.JOB: f"{job}-0123456789", names.RENDEZVOUS: "worker" if int(rank) else "master"}
    annotations = {
        names.RENDEZVOUS_NETWORK: "default/rdma-net@net1/any",
        names.NETWORKS: "default/rdma-net",
        names.CONTAINER: "main",
        names.STATUS: json.dumps({"profile": "rdma-shared", "injected": ["networks", "devices", "rendezvous"]}),
    }
    spec = {"containers": [{"name": "main", "image": "example.com/train:1"}]}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": labels, "annotations": annotations},
        "spec": spec,
    }


def report(plane: ControlPlane, namespace: str, pod: str, address: str) -> None:
    """Write network-status as Multus does."""
    status = [
        {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.7"], "default": True, "dns": {}},
        {"name": "default/rdma-net", "interface": "net1", "ips": [address], "mac": "02:00:00:00:00:01", "dns": {}},
    ]
    body = {"metadata": {"annotations": {names.NETWORK_STATUS: json.dumps(status, indent=4)}}}
    plane.api.expect("PATCH", f"/api/v1/namespaces/{namespace}/pods/{pod}/status", body)


def told(plane: ControlPlane, namespace: str) -> Iterator[tuple[str, str]]:
    """Yield each injected pod's name and the address that it was told."""
    path = f"/api/v1/namespaces/{namespace}/pods" if namespace else "/api/v1/pods"
    for pod in plane.api.expect("GET", f"{path}?labelSelector={names.JOB}")["items"]:
        yield pod["metadata"]["name"], pod["metadata"]["annotations"].get(names.MASTER_ADDR, "")


def in_parallel(function: Callable[[str], object], items: Sequence[str]) -> None:
    """Call the function for each item, 16 at a time; raise what it raises."""
    with ThreadPoolExecutor(16) as pool:
        for _ in pool.map(function, items):
            pass


def say(text: str) -> None:
    """Tell how far the work is."""
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
