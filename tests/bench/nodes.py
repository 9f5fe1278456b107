"""Print what the death of a replica's node costs: ``python -m tests.bench.nodes``.

install.yaml, and a real scheduler and controller manager with their own defaults. The nodes have no
more than a kubelet's Lease and status; behind the Service's real endpoints the webhook's processes
run, and those of a dead node stand still: whoever calls them gets no answer. The exit status is 1
where a create failed too late.
"""

from __future__ import annotations

import itertools
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

import yaml

from tests.bench.place import COMMAND, bench_place, parser, print_table, say
from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.installation import install_yaml
from tests.cluster.nodes import Container, Deployed, Idle, Node
from tests.cluster.service import Service
from tests.cluster.traffic import Traffic
from tests.waiting import wait_until

SLICES = "/apis/discovery.k8s.io/v1/namespaces/fabric-injector/endpointslices"
MOST_SECONDS = {1: 60.0, 2: 100.0}
"""After the death of a node with so many of the two replicas, until the last create fails."""
QUIET_SECONDS = 20.0
THREADS = 40
"""More at a time than an API server keeps idle connections, which is 25: so that new ones are made, to whichever replica."""


def main() -> None:
    """Do it, and print the table."""
    options = parser(
        __doc__,
        deaths=(1, "of a node with one replica, and of one with both"),
        rate=(30.0, "creates a second"),
    ).parse_args()
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
        service = stack.enter_context(Service(plane, folder / "service", COMMAND, replicas=0))
        plane.create_namespace("create", {"fabric-injector.io/profile": "train"})
        for number in range(options.deaths):
            for replicas, told, seconds in deaths(service, numbers, options.rate):
                lines[f"node with {replicas} of 2 replicas dies ({number + 1})"] = told
                faults += [told] if seconds > MOST_SECONDS[replicas] else []
    print_table("nodes: what the death of a replica's node costs", lines)
    if faults:
        sys.exit(f"failed: {faults}")


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
