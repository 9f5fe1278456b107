"""Measure the controller's memory beside 100,000 pods: ``python -m tests.bench.memory``.

A pod is created behind a real API server and told its address. What the API server has stored of
it is then written to etcd as often as wanted, under the names of other pods and jobs. The
controller is started before there are pods, and anew beside all of them: what it holds more then is
the pods. Then pods are changed while it watches. Nothing is asserted.
"""

import base64
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import yaml

from tests.bench.place import bench_place, parser, say
from tests.bench.usage import megabytes, processes
from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.controlplane import BASE, ControlPlane
from tests.cluster.jobs import LABELLED, Job
from tests.waiting import wait_until
from webhook.control.queue import MOST_AT_ONCE
from webhook.core import names
from webhook.core.model import Object

MEMBERS = 10
AT_ONCE = 50
"""Pods in a transaction: etcd takes 1.5 MiB."""
PADDING = 10_000
"""Bytes that make a pod as large as an injected one of TorchX."""


def main() -> None:
    """Measure, and print what was found."""
    options = parser(
        __doc__,
        pods=(100_000, "pods in all"),
        changes=(5_000, "pods that are changed during the watch"),
    ).parse_args()
    with bench_place("memory") as (folder, stack):
        plane = stack.enter_context(ControlPlane(folder / "plane"))
        plane.create_namespace("lease")
        job = Job(plane.api, plane.create_namespace("one", LABELLED), "t0000000")
        path = f"/api/v1/namespaces/{job.namespace}/pods"
        with controlling(plane, folder / "before"):
            report("no pods")
            uid = job.create_pod(job.master)["metadata"]["uid"]
            plane.api.expect("PATCH", f"{path}/{job.master}", annotated("x" * PADDING))
            job.attach(job.master, "10.0.0.1")
            job.wait_until_told("10.0.0.1")
        copied = fill(plane, job, uid, options.pods)
        with controlling(plane, folder / "beside"):
            report(f"{options.pods} pods, listed")
            changed = copied[:: max(1, len(copied) // options.changes)]
            body = annotated("changed")
            with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
                list(
                    pool.map(lambda pod: plane.api.expect("PATCH", f"{path}/{pod}", body), changed)
                )
            time.sleep(3)  # it reads what is left of its watch
            report(f"{len(changed)} of them changed")
        print(f"limit of the manifest: {limit()}")


def annotated(text: str) -> Object:
    """Give a patch."""
    return {"metadata": {"annotations": {"example.com/a": text}}}


@contextmanager
def controlling(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Run a controller until it knows all pods and leads."""
    with Controller(plane, folder, "lease") as controller:
        controller.wait_until_leading(300)
        time.sleep(2)  # what begins with leading
        yield


def report(title: str) -> None:
    """Print the memory of the controller, now and at most."""
    now, most = (
        sum(megabytes(pid, key) for pid in processes("control")) for key in ("VmRSS", "VmHWM")
    )
    print(f"{title:<32} {now:4.0f} MB, at most {most:4.0f} MB", flush=True)


def fill(plane: ControlPlane, job: Job, uid: str, count: int) -> list[str]:
    """Write copies of the job's pod until there are so many pods, in jobs; give their names.

    Each text is replaced by one of its length, so that what is stored stays readable.
    """
    etcd, stored = Client(plane.etcd_url, plane.ca, None), f"/registry/pods/{job.namespace}/"
    answer = etcd.expect("POST", "/v3/kv/range", {"key": _base64((stored + job.master).encode())})
    first = base64.b64decode(answer["kvs"][0]["value"])
    say(f"writing {count} pods of {len(first)} bytes")
    written, puts = [], []
    for number in range(1, count):
        app, member = divmod(number, MEMBERS)
        name = f"t{app:07d}-{member}"
        changes = {job.master: name, job.name: f"t{app:07d}", uid: f"{uid[:-12]}{number:012d}"}
        if member:
            changes[f"{names.RENDEZVOUS}\x12\x06master"] = f"{names.RENDEZVOUS}\x12\x06worker"
        value = first
        for old, new in changes.items():
            value = value.replace(old.encode(), new.encode())
        written.append(name)
        put = {"key": _base64((stored + name).encode()), "value": _base64(value)}
        puts.append({"requestPut": put})
        if len(puts) == AT_ONCE or number == count - 1:
            etcd.expect("POST", "/v3/kv/txn", {"success": puts})
            puts = []
    last = f"/api/v1/namespaces/{job.namespace}/pods/{written[-1]}?resourceVersion=0"
    wait_until(lambda: plane.api.answers(last), "the API server to serve the last", 600)
    return written


def limit() -> str:
    """Give the memory limit of the controller's Deployment that is shipped."""
    (deployment,) = yaml.safe_load_all((BASE / "deployment-controller.yaml").read_text())
    (container,) = deployment["spec"]["template"]["spec"]["containers"]
    return str(container["resources"]["limits"]["memory"])


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


if __name__ == "__main__":
    main()
