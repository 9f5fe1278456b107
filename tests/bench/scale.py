"""Measure how fast addresses reach all members of large jobs, behind a real API server: ``python -m tests.bench.scale``.

KWOK plays the nodes: it lets pods run, and writes the annotation that Multus would. All workers run before rank 0 is created, which
makes the first delivery. Then in each round rank 0 gets another address, as of a sandbox made anew, and the time until the last
member has it is taken; beside it, in turn, a minimal client with as many connections writes as many merge patches to the same pods.
Nothing is asserted but that every member has the right address at the end, and that nothing was written twice.
"""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.bench.minimal import patch_all
from tests.bench.place import COMMAND, bench_place, parser, say
from tests.bench.usage import cpu_seconds, processes
from tests.bench.witness import Witness
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
        rounds=(3, "rounds, each beside one of the floor"),
    ).parse_args()
    with bench_place("scale", "kwok") as (folder, stack):
        flags = ("--max-requests-inflight=800", "--max-mutating-requests-inflight=400")
        plane = stack.enter_context(ControlPlane(folder / "plane", *flags))
        controller = stack.enter_context(
            Controller(plane, folder / "controller", COMMAND, LEASE_NAMESPACE)
        )
        controller.wait_until_leading(60)
        stack.callback(start_kwok(plane, folder).stop)
        measure_job(
            plane, controller, f"one job of {options.members}", [options.members], options.rounds
        )
        measure_job(plane, controller, "64 jobs of 16", [16] * 64, options.rounds)


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
    plane: ControlPlane, controller: Controller, title: str, sizes: Sequence[int], rounds: int
) -> None:
    """Create the jobs, move their ranks 0 in rounds, and print what it took."""
    namespace = plane.create_namespace(f"scale-{len(sizes)}", {names.PROFILE: "shared"})
    jobs = {f"job{number}": size for number, size in enumerate(sizes)}
    pods = [f"{job}-{rank}" for job, size in jobs.items() for rank in range(size)]
    say(f"{title}: creating {len(pods)} pods")
    path = f"/api/v1/namespaces/{namespace}/pods"
    in_parallel(
        lambda pod: plane.api.expect("POST", path, manifest(pod)),
        [pod for pod in pods if pod[-2:] != "-0"],
    )
    pending = f"{path}?fieldSelector=status.phase%3DPending&limit=1"
    wait_until(
        lambda: not plane.api.expect("GET", pending)["items"],
        "KWOK to run the workers",
        600,
        interval=1,
    )
    witness = Witness(plane.url, plane.ca, plane.token, namespace)
    values: dict[str, list[float]] = {"seconds": [], "floor": [], "cpu": []}
    for turn in range(rounds + 1):  # in the first, KWOK gives rank 0 its address
        address = f"10.{turn}.0.1" if turn else FIRST
        before, cpu, begun = published(controller), controllers_seconds(), time.monotonic()
        writes = witness.writes
        if turn:
            in_parallel(lambda job: report(plane, namespace, f"{job}-0", address), list(jobs))  # noqa: B023  # called at once
        else:
            in_parallel(
                lambda job: plane.api.expect("POST", path, manifest(f"{job}-0")), list(jobs)
            )
        seconds = witness.wait(address, len(pods), 300) - begun
        cpu = controllers_seconds() - cpu
        time.sleep(1)  # the last answers reach it
        extra = published(controller) - before - len(pods)
        controller.stop()  # it shall not weigh on the floor
        floor = patch_all(
            plane.url, plane.ca, plane.token, namespace, pods, f"turn-{turn}", MOST_AT_ONCE
        )
        controller.start()
        controller.wait_until_leading(60)
        time.sleep(1)
        extra += published(controller)  # of a new process
        if extra > 0 and turn:  # the first one warms up
            sys.exit(f"{extra:.0f} writes too many, {witness.writes - writes} of them seen")
        say(f"round {turn} of {rounds}: {seconds:.2f} s, floor {floor:.2f} s")
        if not turn:
            delivered = seconds, floor
        else:
            for key, value in zip(values, (seconds, floor, cpu), strict=True):
                values[key].append(value)
    wrong = [pod for pod, found in told(plane, namespace) if found != address]
    if wrong:
        sys.exit(f"{len(wrong)} pods have another address: {wrong[:3]}")
    first = f"{delivered[0]:.2f} s, floor {delivered[1]:.2f} s"
    median = {key: statistics.median(found) for key, found in values.items()}
    print(f"\n{title}: {len(pods)} pods, {MOST_AT_ONCE} connections, medians of {rounds} rounds")
    print(f"  rank 0 created to the last member's address   {first}")
    print(f"  rank 0's status to the last member's address  {median['seconds']:.2f} s")
    print(f"  patches a second                              {len(pods) / median['seconds']:.0f}")
    print(f"  floor: bare patches a second                  {len(pods) / median['floor']:.0f}")
    print(
        f"  share of the floor's rate                     {median['floor'] / median['seconds']:.2f}"
    )
    print(
        f"  controller's CPU-ms for each patch            {1000 * median['cpu'] / len(pods):.2f}",
        flush=True,
    )


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
