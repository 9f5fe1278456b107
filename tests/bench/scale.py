"""Measure how fast addresses reach all members of large jobs: ``python -m tests.bench.scale``.

Behind a real API server, KWOK plays the nodes: it lets pods run, and writes the annotation that
Multus would. All workers run before rank 0 is created, which makes the first delivery. Then in each round rank 0 gets another address, as of a new sandbox, and the time until the controller
has written the last member's is taken. Nothing is asserted but that every member has the right
address at the end, and that nothing was written twice.
"""

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.place import COMMAND, bench_place, parser, print_table, say
from tests.bench.usage import cpu_seconds, processes
from tests.cluster.assets import binary
from tests.cluster.controller import Controller
from tests.cluster.controlplane import ControlPlane
from tests.cluster.processes import Server
from tests.waiting import wait_until
from webhook.control.queue import MOST_AT_ONCE
from webhook.core import names

LEASE_NAMESPACE = "fabric-injector"
NODES = 100
FIRST = "10.9.0.1"
"""The address that KWOK gives to rank 0 (kwok.yaml)."""


def published(controller: Controller) -> float:
    """Count its successful writes."""
    return controller.metric("fabric_injector_addresses_published_total", result="published")


def controllers_seconds() -> float:
    """Return the processor time that the controller has used."""
    return sum(map(cpu_seconds, processes("control")))


def main() -> None:
    """Measure, and print the tables."""
    options = parser(
        __doc__,
        members=(10_000, "members of the large job"),
        rounds=(3, "other addresses of rank 0"),
    ).parse_args()
    with bench_place("scale", "kwok") as (folder, stack):
        flags = ("--max-requests-inflight=800", "--max-mutating-requests-inflight=400")
        plane = stack.enter_context(ControlPlane(folder / "plane", *flags))
        controller = stack.enter_context(
            Controller(plane, folder / "controller", COMMAND, LEASE_NAMESPACE)
        )
        controller.wait_until_leading(60)
        stack.callback(start_kwok(plane, folder).stop)
        measure_job(plane, controller, [options.members], options.rounds)
        measure_job(plane, controller, [16] * 64, options.rounds)


def start_kwok(plane: ControlPlane, folder: Path) -> Server:
    """Make the nodes, and start KWOK for them."""
    for number in range(NODES):
        node = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": f"kwok-{number}"}}
        plane.api.expect("POST", "/api/v1/nodes", node)
    command = [
        str(binary("kwok")),
        "--manage-all-nodes",
        f"--config={Path(__file__).with_name('kwok.yaml')}",
    ]
    command += [
        f"--kubeconfig={plane.kubeconfig(folder / 'kwok.kubeconfig')}",
        "--server-address=127.0.0.1:0",
    ]
    return Server([*command, "--v=WARN"], folder / "kwok.log")


def measure_job(
    plane: ControlPlane, controller: Controller, sizes: Sequence[int], rounds: int
) -> None:
    """Create the jobs, move their ranks 0 in rounds, and print what it took."""
    title = f"{len(sizes)} jobs of {sizes[0]}"
    namespace = plane.create_namespace(f"scale-{len(sizes)}", {names.PROFILE: "shared"})
    jobs = {f"job{number}": size for number, size in enumerate(sizes)}
    pods = [f"{job}-{rank}" for job, size in jobs.items() for rank in range(size)]
    say(f"{title}: creating {len(pods)} pods")
    path = f"/api/v1/namespaces/{namespace}/pods"
    workers = [pod for pod in pods if pod[-2:] != "-0"]
    in_parallel(lambda pod: plane.api.expect("POST", path, manifest(pod)), workers)
    pending = f"{path}?fieldSelector=status.phase%3DPending&limit=1"
    wait_until(
        lambda: not plane.api.expect("GET", pending)["items"],
        "KWOK to run the workers",
        600,
        interval=1,
    )
    found = []
    for turn in range(rounds + 1):  # in the first, KWOK gives rank 0 its address
        address = f"10.{turn}.0.1" if turn else FIRST

        def move(job: str, turn: int = turn, address: str = address) -> None:
            if turn:
                report(plane, namespace, f"{job}-0", address)
            else:
                plane.api.expect("POST", path, manifest(f"{job}-0"))

        seconds, cpu = deliver(
            controller, lambda: in_parallel(move, list(jobs)), len(pods)
        )  # called at once
        say(f"round {turn} of {rounds}: {seconds:.2f} s")
        found.append((seconds, cpu))
    wrong = [pod for pod, told_address in told(plane, namespace) if told_address != address]
    if wrong:
        sys.exit(f"{len(wrong)} pods have another address: {wrong[:3]}")
    seconds, cpu = (statistics.median(each) for each in zip(*found[1:], strict=True))
    lines = {
        "rank 0 created to the last member's address": f"{found[0][0]:.2f} s",
        "rank 0's status to the last member's address": f"{seconds:.2f} s",
        "patches a second": f"{len(pods) / seconds:.0f}",
        "controller's CPU-ms for each patch": f"{1000 * cpu / len(pods):.2f}",
    }
    print_table(f"{title}: {len(pods)} pods, {MOST_AT_ONCE} connections, medians", lines)


def deliver(controller: Controller, move: Callable[[], None], pods: int) -> tuple[float, float]:
    """Move ranks 0; return the seconds until all is written, and the controller's CPU seconds."""
    before, cpu, begun = published(controller), controllers_seconds(), time.monotonic()
    move()
    wait_until(lambda: published(controller) - before >= pods, "all members", 300, interval=0.02)
    seconds, cpu = time.monotonic() - begun, controllers_seconds() - cpu
    time.sleep(2)
    if extra := published(controller) - before - pods:
        sys.exit(f"{extra:.0f} writes too many")
    return seconds, cpu


def manifest(name: str) -> dict[str, Any]:
    """Write a bare pod as the webhook leaves it."""
    job, _, rank = name.rpartition("-")
    status = {"profile": "rdma-shared", "injected": ["networks", "devices", "rendezvous"]}
    annotations = {
        names.RENDEZVOUS_NETWORK: "default/rdma-net@net1/any",
        names.WAITS_FOR: "master-addr" if int(rank) else "master-addr,local-addr",
        names.NETWORKS: "default/rdma-net",
        names.CONTAINER: "main",
        names.STATUS: json.dumps(status),
    }
    role = "worker" if int(rank) else "master"
    labels = {names.JOB: f"{job}-0123456789", names.RENDEZVOUS: role}
    metadata = {"name": name, "labels": labels, "annotations": annotations}
    container = {"name": "main", "image": "example.com/train:1"}
    spec = {"containers": [container], "nodeName": f"kwok-{int(rank) % NODES}"}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def report(plane: ControlPlane, namespace: str, pod: str, address: str) -> None:
    """Write network-status as Multus does."""
    status = [
        {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.7"], "default": True, "dns": {}},
        {
            "name": "default/rdma-net",
            "interface": "net1",
            "ips": [address],
            "mac": "02:00:00:00:00:01",
            "dns": {},
        },
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


if __name__ == "__main__":
    main()
