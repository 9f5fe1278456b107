"""Where the replicas of install.yaml lie, and what the death of their node costs: ``python -m tests.bench.nodes``.

A real scheduler and controller manager with their own defaults. The nodes have no more than a kubelet's Lease and status; behind the
Service's real endpoints the webhook's processes run, and those of a dead node stand still: whoever calls them gets no answer. The exit
status is 1 where replicas lay together or a create failed too late.
"""

from __future__ import annotations

import argparse
import itertools
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Any

import yaml

from tests.bench.chaos import say, say_how_it_went
from tests.bench.place import bench_place
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import install_yaml
from tests.cluster.nodes import Container, Deployed, Idle, Node
from tests.cluster.service import Service
from tests.cluster.traffic import Traffic
from tests.waiting import wait_until

COMMAND = [sys.executable, "-m", "webhook"]
COMPONENTS = ("webhook", "controller")
SLICES = "/apis/discovery.k8s.io/v1/namespaces/fabric-injector/endpointslices"
ZONE = "topology.kubernetes.io/zone"
ZONES: Mapping[str, list[dict[str, str]]] = {
    "without zones": [{}, {}],
    "in two zones": [{ZONE: "a"}, {ZONE: "b"}],
}
MOST_SECONDS = {1: 60.0, 2: 100.0}
"""After the death of a node with so many of the two replicas, until the last create fails."""
QUIET_SECONDS = 20.0
THREADS = 40
"""More at a time than an API server keeps idle connections, which is 25: so that new ones are made, to whichever replica."""


def main() -> None:
    """Do it, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--rollouts",
        type=int,
        default=20,
        help="of both Deployments, for each kind of nodes (default 20)",
    )
    parser.add_argument(
        "--deaths",
        type=int,
        default=1,
        help="of a node with one replica, and of one with both (default 1)",
    )
    parser.add_argument("--rate", type=float, default=30, help="creates a second (default 30)")
    options = parser.parse_args()
    with bench_place("nodes") as (folder, stack):
        plane = stack.enter_context(ControlPlane(folder / "plane"))
        plane.start_controller_manager()
        plane.start_scheduler()
        shipped = [
            each
            for each in yaml.safe_load_all(install_yaml().read_text())
            if "Webhook" not in each["kind"]
        ]
        plane.kubectl("apply", "--server-side", "--filename=-", input=yaml.safe_dump_all(shipped))
        numbers = itertools.count()
        lines, faults = {}, []
        for kind, labels in ZONES.items():
            together = count_together(plane.api, numbers, labels, options.rollouts)
            lines[f"{options.rollouts} rollouts on two nodes {kind}"] = (
                f"{together} with both replicas on one node"
            )
            faults += [kind] if together else []
        with Node(plane.api, next(numbers)):
            count = sum(len(roll(plane.api)) for _ in range(options.rollouts))
        lines[f"{options.rollouts} rollouts on one node"] = f"{count // len(COMPONENTS)} completed"
        service = stack.enter_context(Service(plane, folder / "service", COMMAND, replicas=0))
        plane.create_namespace("create", {"fabric-injector.io/profile": "train"})
        for number in range(options.deaths):
            for replicas, told, seconds in deaths(service, numbers, options.rate):
                lines[f"node with {replicas} of 2 replicas dies ({number + 1})"] = told
                faults += [told] if seconds > MOST_SECONDS[replicas] else []
    say_how_it_went("nodes: where the replicas lie, and what a node's death costs", lines)
    if faults:
        sys.exit(f"failed: {faults}")


def roll(api: Client) -> list[list[str]]:
    """Roll out both Deployments at once; give the nodes of each one's pods."""
    both = [Deployed(api, component) for component in COMPONENTS]
    for each in both:
        each.begin()
    return [each.wait(120) for each in both]


def count_together(
    api: Client, numbers: Iterator[int], labels: list[dict[str, str]], rollouts: int
) -> int:
    """Roll out on two nodes, one far larger than the other; count how often a Deployment's pods lay on one node."""
    with ExitStack() as stack:
        for each, cpu in zip(labels, ("64", "2"), strict=True):
            stack.enter_context(Node(api, next(numbers), each, cpu))
        together = 0
        for number in range(rollouts):
            together += sum(len(set(found)) == 1 for found in roll(api))
            say(f"  {number + 1} of {rollouts} rollouts, {together} together")
        return together


def deaths(
    service: Service, numbers: Iterator[int], rate: float
) -> Iterator[tuple[int, str, float]]:
    """Let a node with one replica die, then one with both; yield how many it had, what it cost, and for how long."""
    api, webhook = service.plane.api, Deployed(service.plane.api, "webhook")

    def node() -> Node:
        return Node(api, next(numbers), run=lambda pod, address: run(service, pod, address))

    with Traffic(api, "create", rate, THREADS) as traffic, node() as first, node() as second:
        webhook.wait(120)
        webhook.begin()  # both were put on the first node, if it was ready before the second
        wait_for_replicas(service, webhook)
        assert set(webhook.nodes()) == {first.name, second.name}
        yield 1, *let_die(api, traffic, second)
        wait_until(
            lambda: webhook.nodes() == [first.name] * 2,
            "the replica of the dead node to be replaced",
            180,
        )
        # Were it still there, two of three nodes would be dead then, of which the controller manager evicts nothing.
        api.expect("DELETE", f"/api/v1/nodes/{second.name}")
        wait_for_replicas(service, webhook)
        with node():
            assert webhook.nodes() == [first.name] * 2
            yield 2, *let_die(api, traffic, first)


def wait_for_replicas(service: Service, webhook: Deployed) -> None:
    """Wait until both replicas are called, and no create fails."""
    webhook.wait(120)
    wait_until(lambda: len(ready_addresses(service.plane.api)) == 2, "two ready endpoints", 60)
    time.sleep(5)  # connections that began before


def let_die(api: Client, traffic: Traffic, node: Node) -> tuple[str, float]:
    """Let the node die, and wait until creates succeed for a while; give what it cost, and the seconds to the last failure."""
    say(f"{node.name} dies")
    before, died = len(traffic.failures), time.monotonic()
    addresses = ready_addresses(api)
    node.die()
    wait_until(
        lambda: ready_addresses(api) != addresses,
        "the endpoints of the dead node to be removed",
        120,
        interval=0.2,
    )
    removed = time.monotonic() - died
    wait_until(lambda: is_quiet(api, traffic), "creates to succeed", 240, interval=0.5)
    failures = traffic.failures[before:]
    last = max((each.ended for each in failures), default=died) - died
    told = f"{len(failures)} creates failed, the last after {last:.0f} s (endpoint removed after {removed:.0f} s)"
    say(told)
    return told, last


def is_quiet(api: Client, traffic: Traffic) -> bool:
    """Tell whether a replica is called, and no create has failed for some time."""
    last = max((each.ended for each in traffic.failures), default=0.0)
    return bool(ready_addresses(api)) and time.monotonic() - last > QUIET_SECONDS


def ready_addresses(api: Client) -> frozenset[str]:
    """Give the addresses that the Service sends connections to."""
    found = api.expect(
        "GET", f"{SLICES}?labelSelector=kubernetes.io/service-name%3Dfabric-injector"
    )["items"]
    endpoints = [endpoint for each in found for endpoint in each.get("endpoints") or ()]
    return frozenset(each["addresses"][0] for each in endpoints if each["conditions"].get("ready"))


class Process:
    """A process of the webhook that runs for a pod; the balancer knows it by the Service's endpoints."""

    def __init__(self, service: Service, address: str) -> None:
        self._service, self._replica = service, service.prepare()
        self._started = threading.Thread(target=self._replica.start, daemon=True)
        self._started.start()
        api = service.plane.api
        service.balancer.add(self._replica.port, lambda: address in ready_addresses(api))

    def is_ready(self) -> bool:
        """Ask it."""
        return self._replica.is_ready()

    def end(self) -> None:
        """End it by SIGTERM; the Service has taken it from its endpoints by then."""
        self._started.join()
        self._replica.stop()
        self._service.balancer.remove(self._replica.port)

    def freeze(self) -> None:
        """Let it stand still: connections are taken, and never answered."""
        self._started.join()
        self._replica.signal(signal.SIGSTOP)


def run(service: Service, pod: Mapping[str, Any], address: str) -> Container:
    """Start the webhook for its pods; the controller's are ready at once."""
    component = pod["metadata"]["labels"]["app.kubernetes.io/component"]
    return Process(service, address) if component == "webhook" else Idle()


if __name__ == "__main__":
    main()
