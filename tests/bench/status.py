"""Measure what `fabric-injector status -A` costs on a large cluster: ``python -m tests.bench.status``.

An API server, a process of its own, serves the pods of PyTorchJobs that were injected and run, with all that a real cluster writes on
each, and its own node, rank and times; one job in ten waits for an address. The command runs beside it, and its processor time and
memory are printed. Nothing is asserted but that it finds all jobs.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.bench.place import COMMAND, bench_folder, parser
from tests.cli.dry_run_command import kubeconfig_of
from tests.diagnose.scenes import NOW, PROFILES, SPACE, Scene, ago, node
from tests.fake_apiserver import NAMESPACES, NETWORKS, NODES, PODS, FakeApiServer
from tests.pods.served import as_served
from tests.profiles import as_text
from webhook.core import names
from webhook.core.model import Object
from webhook.core.workloads import TrainingPod, recognise

_SPACES = 20
_ON_A_NODE = 8
"""Pods of one node; nodes are served without their images and the rest that nothing reads."""
_TIME = re.compile(r"(T\d\d:\d\d):00Z")
_NUMBERED = ("RANK", "PET_NODE_RANK")


def main() -> None:
    """Measure, and print the figures."""
    made = parser(
        __doc__,
        members=(50, "pods of a job"),
        jobs=(200, "jobs"),
        rounds=(3, "how often it is measured"),
    )
    made.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = made.parse_args()
    if options.serve:
        serve(options.members, options.jobs)
        return
    arguments = f"--members={options.members}", f"--jobs={options.jobs}"
    with serve_apart(*arguments) as (url, weight, folder):
        (folder / "profiles.yaml").write_text(as_text(PROFILES))
        pods = options.members * options.jobs
        print(
            f"{pods:,} pods of {options.jobs:,} jobs, {weight / pods / 1024:.1f} KB each",
            flush=True,
        )
        for number in range(options.rounds):
            seconds, cpu, memory, found = run(url, folder, "status", "-A")
            assert found["summary"]["jobs"] == options.jobs, found["summary"]
            failing = found["summary"]["failing"]
            print(
                f"round {number + 1}: {cpu:.2f} s of CPU, {seconds:.1f} s, {memory:.0f} MB at most, {failing} failing",
                flush=True,
            )


@contextmanager
def serve_apart(*arguments: str) -> Iterator[tuple[str, int, Path]]:
    """Serve the cluster in a process; give the URL and the bytes of all pods, and an empty folder.

    The memory of this process would count as the command's, which is forked from it.
    """
    command = [sys.executable, "-m", __spec__.name, "--serve", *arguments]
    pipe = subprocess.PIPE
    server = subprocess.Popen(command, text=True, stdin=pipe, stdout=pipe)
    with server, bench_folder("status") as folder:
        assert server.stdin is not None
        assert server.stdout is not None
        url, weight = server.stdout.readline().split()
        yield url, int(weight), folder
        server.stdin.close()


def managed(pod: Object) -> Object:
    """Return managedFields of the pod, which the API server sends along: each field by its path."""
    return {
        "manager": "m",
        "operation": "Update",
        "apiVersion": "v1",
        "fieldsType": "FieldsV1",
        "fieldsV1": _paths(pod),
    }


def _paths(value: object) -> Object:
    if isinstance(value, list):
        return {f'k:{{"name":"{number}"}}': _paths(each) for number, each in enumerate(value)}
    return (
        {f"f:{key}": _paths(each) for key, each in value.items()} if isinstance(value, dict) else {}
    )


def run(url: str, folder: Path, *command: str) -> tuple[float, float, float, Object]:
    """Run the command; return seconds, processor seconds, most memory in MB, and the document."""
    environ = {**os.environ, **kubeconfig_of(folder, url), "KUBERNETES_SERVICE_HOST": ""}
    arguments = [*COMMAND, *command, f"--profiles={folder / 'profiles.yaml'}", "-o", "json"]
    begin = time.monotonic()
    with (folder / "answer").open("wb") as answer:
        process = subprocess.Popen(arguments, env=environ, stdout=answer)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1)
    found: Object = json.loads((folder / "answer").read_bytes())
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, found


def serve(members: int, jobs: int) -> None:
    """Serve the cluster until standard input ends; tell the URL, and the bytes of all pods."""
    with FakeApiServer() as server:
        server.clock = lambda: NOW
        print(server.url, fill(server, members, jobs), flush=True)
        sys.stdin.read()


def fill(server: FakeApiServer, members: int, jobs: int) -> int:
    """Put the cluster into the server; return the bytes of all pods as JSON."""
    scene = Scene(members - 1)
    for number in range(_SPACES):
        server.put(NAMESPACES, f"team-{number}", labels=scene.labels)
    config = json.dumps({"type": "macvlan", "ipam": {"type": "x"}})
    server.put(NETWORKS, "rdma-net", "default", spec={"config": config})
    for number in range(members * jobs // _ON_A_NODE + 1):
        each = node(f"node-{number}")
        named = each["metadata"]
        server.put(NODES, named["name"], labels=named["labels"], status=each["status"])
    lease = "/apis/coordination.k8s.io/v1/leases"
    assert scene.lease is not None
    server.put(lease, "fabric-injector", "fabric-injector", spec=scene.lease["spec"])
    weight = 0
    for place, each in enumerate(cluster(scene, jobs)):
        pod = as_served(scattered(each, place, place % members), place)
        metadata = {
            key: value for key, value in pod["metadata"].items() if key not in ("name", "namespace")
        }
        own = pod["metadata"]
        metadata["managedFields"] = [managed(pod)]
        put = server.put(
            PODS, own["name"], own["namespace"], spec=pod["spec"], status=pod["status"], **metadata
        )
        weight += len(json.dumps(put))
    return weight


def scattered(pod: Object, place: int, number: int) -> Object:
    """Give the pod a node, a rank and times of its own; *place* in the cluster, *number* in its job."""
    own: Object = json.loads(_TIME.sub(rf"\1:{place % 60:02}Z", json.dumps(pod)))
    own["spec"]["nodeName"] = f"node-{place // _ON_A_NODE}"
    labels = own["metadata"]["labels"]
    labels["training.kubeflow.org/replica-index"] = str(max(0, number - 1))
    for entry in own["spec"]["containers"][0]["env"]:
        if entry["name"] in _NUMBERED:
            entry["value"] = str(number)
    return own


def cluster(scene: Scene, jobs: int) -> Iterator[Object]:
    """Yield the pods of so many jobs like that of the scene."""
    running = json.dumps(list(scene.pods.values()))
    for worker in scene.workers:
        scene.wait(worker, ago(minutes=3))
    waiting = json.dumps(list(scene.pods.values()))
    key = next(pod["metadata"]["labels"][names.JOB] for pod in json.loads(running))
    owner = next(pod["metadata"]["ownerReferences"][0]["uid"] for pod in json.loads(running))
    for number in range(jobs):
        text = waiting if number % 10 == 9 else running
        for old, new in (
            (key, "KEY"),
            (owner, f"uid-of-{number:05d}"),
            ('"uid-', f'"uid-{number:05d}-'),
        ):
            text = text.replace(old, new)
        text = text.replace("bert", f"train-{number:05d}").replace(
            SPACE, f"team-{number % _SPACES}"
        )
        found = recognise(json.loads(text)[0])
        assert isinstance(found, TrainingPod)
        assert found.rendezvous is not None
        yield from json.loads(text.replace("KEY", found.rendezvous.job))


if __name__ == "__main__":
    main()
