"""Measure how soon a changed FabricProfile is in force: ``python -m tests.bench.profiles``.

Two webhooks follow the objects of a real API server. A profile is changed, and each webhook is
asked for one admission after the other until its answer holds the change; first while the machine
is quiet, then beside two PyTorchJobs of 8 pods that start: the pods are created by way of the
webhooks, and as many processes use the processor as a training program does while it is loaded.
Nothing is asserted.
"""

import http.client
import json
import ssl
import statistics
import subprocess
import sys
import time
from base64 import b64decode
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from tests import pods
from tests.bench.client import REVIEW
from tests.bench.place import bench_place, parser, print_table, say
from tests.cluster.controlplane import PROFILES, ControlPlane
from tests.cluster.jobs import as_sent
from tests.cluster.webhook import Webhook, default_configuration
from tests.profiles import as_text
from tests.sockets.server import admit
from tests.waiting import wait_until

WORKER = "pods/kubeflow-pytorchjob-1.yaml"
JOBS, MEMBERS = 2, 8
LOADING = "import time\nwhile time.process_time() < 1.5: sum(range(10_000))"


def main() -> None:
    """Measure, and print the table."""
    options = parser(__doc__, rounds=(5, "changes of the profile, quiet and beside")).parse_args()
    with bench_place("profiles") as (folder, stack):
        plane = stack.enter_context(ControlPlane(folder / "plane"))
        plane.define_profiles(as_text("{bench: {}, probe: {}}"))  # `Webhook` asks for the second
        plane.create_namespace("train", {"fabric-injector.io/profile": "bench"})
        replicas = [
            stack.enter_context(replica(plane, folder / f"webhook-{number}", number))
            for number in range(2)
        ]
        quiet = [change(plane, replicas, 2 + number) for number in range(options.rounds)]
        beside = []
        for number in range(options.rounds):
            say(f"{JOBS} jobs of {MEMBERS} pods start, {number + 1} of {options.rounds}")
            with starting(plane, number):
                beside.append(change(plane, replicas, 100 + number))
    table = {"quiet": quiet, f"beside {JOBS} jobs of {MEMBERS} that start": beside}
    lines = {name: told(found) for name, found in table.items()}
    print_table("from the change of a profile until both webhooks answer by it", lines)


def told(found: list[list[float]]) -> str:
    """Say of rounds how long the slower replica took, and how far apart the two were."""
    slower = [max(each) for each in found]
    apart = max(max(each) - min(each) for each in found)
    return (
        f"{statistics.median(slower):.2f} s, at most {max(slower):.2f} s;"
        f" replicas disagree for at most {apart:.2f} s"
    )


def replica(plane: ControlPlane, folder: Path, number: int) -> Webhook:
    """Make one of the webhooks, each with a registration of its own."""
    configuration = default_configuration()
    configuration["metadata"]["name"] += f"-{number}"
    for entry in configuration["webhooks"]:
        entry["name"] = f"replica-{number}.{entry['name']}"
    return Webhook(plane, folder, None, configuration)


def change(plane: ControlPlane, replicas: list[Webhook], gibibytes: int) -> list[float]:
    """Change the profile; return after how many seconds each replica answers by it."""
    with ThreadPoolExecutor(len(replicas)) as threads:
        begun = time.monotonic()
        spec = {"sharedMemory": {"sizeLimit": f"{gibibytes}Gi"}}
        waiting = [
            threads.submit(in_force, replica, f"{gibibytes}Gi", begun) for replica in replicas
        ]
        plane.api.expect("PATCH", f"{PROFILES}/bench", {"spec": spec})
        return [each.result() for each in waiting]


def in_force(replica: Webhook, size: str, begun: float) -> float:
    """Return how many seconds after *begun* the answer holds the size."""
    review = json.loads(REVIEW.read_text())
    review["request"] |= {"object": as_sent(pods.load(WORKER)), "namespace": "train"}
    url = urlsplit(replica.url)
    tls = ssl.create_default_context(cadata=replica.authority.pem.decode())
    with closing(http.client.HTTPSConnection(url.hostname or "", url.port, context=tls)) as client:

        def holds() -> bool:
            answer = admit(client, json.dumps(review).encode()).json()["response"]
            return size in b64decode(answer.get("patch", "")).decode()

        wait_until(holds, f"{size} to be in force", 120, interval=0.01)
    return time.monotonic() - begun


@contextmanager
def starting(plane: ControlPlane, number: int) -> Iterator[None]:
    """Start the pods of the jobs, and end what they use of the processor."""
    member = pods.load(WORKER)
    names = [f"job-{number}-{job}-{rank}" for job in range(JOBS) for rank in range(MEMBERS)]
    loading = [subprocess.Popen([sys.executable, "-c", LOADING]) for _ in names]
    with ThreadPoolExecutor(MEMBERS) as threads:
        created = threads.map(
            lambda name: plane.api.create(as_sent(member, name=name), "train").status, names
        )
        yield
        assert {*created} == {201}
    for process in loading:
        process.wait()


if __name__ == "__main__":
    main()
