"""Measure what `fabric-injector survey` costs on a large cluster: ``python -m tests.bench.survey``.

An API server, a process of its own, serves the pods of jobs of five training systems; the command runs beside it, and its processor
time and memory are printed. Nothing is asserted but that it finds all jobs.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.diagnose.survey.clusters import KINDS, PROFILES, job
from tests.fake_apiserver import NAMESPACES, NETWORKS, NODES, PODS, FakeApiServer
from webhook.core.model import Object

_SPACES = 20


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=10_000, help="pods of the cluster (default 10000)")
    parser.add_argument("--jobs", type=int, default=200, help="jobs that they are of (default 200)")
    parser.add_argument("--rounds", type=int, default=3, help="how often it is measured (default 3)")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.pods, options.jobs)
        return
    with serve_apart(__spec__.name, f"--pods={options.pods}", f"--jobs={options.jobs}") as (url, weight, folder):
        (folder / "profiles.yaml").write_text(PROFILES)
        kilobytes = weight / options.pods / 1024
        print(f"{options.pods:,} pods of {options.jobs:,} jobs, {kilobytes:.1f} KB each", flush=True)
        for number in range(options.rounds):
            seconds, cpu, memory, found = run(url, folder, "survey")
            assert found["summary"]["pod_network"] == options.jobs, found["summary"]
            print(f"round {number + 1}: {cpu:.2f} s of CPU, {seconds:.1f} s, {memory:.0f} MB at most", flush=True)


@contextmanager
def serve_apart(module: str, *arguments: str) -> Iterator[tuple[str, int, Path]]:
    """Run ``--serve`` of a module of this folder; give the URL and the bytes of all pods, which it tells, and an empty folder.

    In a process of its own: the memory of this one would count as the command's, which is forked from it.
    """
    server = subprocess.Popen(
        [sys.executable, "-m", module, "--serve", *arguments], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with server, tempfile.TemporaryDirectory(prefix="fabric-injector-bench-") as name:
        assert server.stdin is not None
        assert server.stdout is not None
        url, weight = server.stdout.readline().split()
        yield url, int(weight), Path(name)
        server.stdin.close()


def serve(pods: int, jobs: int) -> None:
    """Serve the cluster until standard input ends; tell the URL, and the bytes of all pods."""
    with FakeApiServer() as server:
        weight = fill(server, pods, jobs)
        print(server.url, weight, flush=True)
        sys.stdin.read()


def fill(server: FakeApiServer, pods: int, jobs: int) -> int:
    """Put the cluster into the server; return the bytes of all pods as JSON."""
    for number in range(_SPACES):
        server.put(NAMESPACES, f"team-{number}")
    server.put(NETWORKS, "rdma-net", "default", spec={"config": json.dumps({"type": "macvlan", "ipam": {"type": "x"}})})
    offered = {"rdma/hca": "64", "nvidia.com/gpu": "8"}
    server.put(NODES, "node-1", status={"allocatable": offered, "conditions": [{"type": "Ready", "status": "True"}]})
    weight = 0
    for pod in cluster(pods, jobs):
        metadata = {key: value for key, value in pod["metadata"].items() if key not in ("name", "namespace")}
        metadata["managedFields"] = [managed(pod)]
        own = pod["metadata"]
        put = server.put(PODS, own["name"], own["namespace"], spec=pod["spec"], status=_status(pod), **metadata)
        weight += len(json.dumps(put))
    return weight


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
    return {f"f:{key}": _paths(each) for key, each in value.items()} if isinstance(value, dict) else {}


def _status(pod: Object) -> Object:
    """Return the status of a pod that runs."""
    since = "2026-01-01T00:00:00Z"
    kinds = ("PodReadyToStartContainers", "Initialized", "Ready", "ContainersReady", "PodScheduled")
    conditions = [
        {"type": kind, "status": "True", "lastTransitionTime": since, "observedGeneration": 1} for kind in kinds
    ]
    names = [container["name"] for container in pod["spec"]["containers"]]
    running = {"running": {"startedAt": since}}
    statuses = [
        {
            "name": name,
            "state": running,
            "ready": True,
            "restartCount": 0,
            "image": "i",
            "imageID": "sha256:" + 64 * "0",
        }
        for name in names
    ]
    return {"phase": "Running", "conditions": conditions, "containerStatuses": statuses, "podIP": "10.0.0.1"}


def cluster(pods: int, jobs: int) -> Iterator[Object]:
    """Yield the pods of so many jobs, as even as it goes."""
    kinds = tuple(KINDS)
    for number in range(jobs):
        members = pods // jobs + (number < pods % jobs)
        yield from job(kinds[number % len(kinds)], f"train-{number:05d}", f"team-{number % _SPACES}", members)


def run(url: str, folder: Path, *command: str) -> tuple[float, float, float, Object]:
    """Run the command with the profiles of the folder; return seconds, processor seconds, most memory in MB, and the document."""
    config = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": url}}],
        "users": [{"name": "u", "user": {}}],
    }
    (folder / "config").write_text(yaml.safe_dump(config))
    environ = {**os.environ, "KUBECONFIG": str(folder / "config"), "KUBERNETES_SERVICE_HOST": ""}
    arguments = [sys.executable, "-m", "webhook", *command, "--profiles", str(folder / "profiles.yaml"), "-o", "json"]
    begin = time.monotonic()
    with (folder / "answer").open("wb") as answer:
        process = subprocess.Popen(arguments, env=environ, stdout=answer)
        _, status, used = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    assert process.returncode in (0, 1)
    found: Object = json.loads((folder / "answer").read_bytes())
    return time.monotonic() - begin, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, found


if __name__ == "__main__":
    main()
