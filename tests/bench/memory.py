"""Measure the memory of webhook and controller beside 100,000 pods in a real API server: ``python -m tests.bench.memory``.

A pod of a TorchX job is created, injected and told its address; what the API server has stored of it is then written to etcd as
often as wanted, under the names of other pods and jobs: to the API server they are as those that were created. Both processes are
started before there are pods, and anew beside all of them: what they hold more then is the pods. Then pods are changed while both
watch. Nothing is asserted but that the API server serves them all.
"""

import base64
import json
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import yaml

from tests.bench.admission import network
from tests.bench.client import HERE, REVIEW
from tests.bench.place import COMMAND, bench_place, parser, say
from tests.bench.usage import megabytes, processes
from tests.cluster.client import Client
from tests.cluster.controller import Controller
from tests.cluster.controlplane import BASE, ControlPlane
from tests.cluster.jobs import as_sent
from tests.cluster.webhook import Webhook
from tests.waiting import wait_until
from webhook.control.queue import MOST_AT_ONCE
from webhook.core import names

NAMESPACE = "one"
MEMBERS = 64
AT_ONCE = 50
"""Pods in a transaction: etcd takes 1.5 MiB."""
APP = "fgwp3pq7vkl4vc"
"""Part of the names of the recorded job and its pods."""
MEMBER = "m0000"
NAME = f"train-{APP}-train-0-{MEMBER}"
PODS = f"/api/v1/namespaces/{NAMESPACE}/pods"
STORED = f"/registry/pods/{NAMESPACE}"


def main() -> None:
    """Measure, and print what was found."""
    options = parser(
        __doc__,
        pods=(100_000, "pods in all"),
        changes=(5_000, "pods that are changed during the watch"),
    ).parse_args()
    with bench_place("memory") as (folder, stack):
        plane = stack.enter_context(ControlPlane(folder / "plane"))
        prepare(plane)
        with running(plane, folder / "before"):
            report("no pods", "VmRSS")
            create(plane)
            wait_until(
                lambda: names.MASTER_ADDR in served(plane)["annotations"],
                "the pod to be told its address",
                60,
            )
        copied = fill(plane, options.pods)
        with running(plane, folder / "beside"):
            report(f"{options.pods} pods, listed", "VmRSS")
            report("  at most until then", "VmHWM")
            changed = copied[:: max(1, len(copied) // options.changes)]
            body = {"metadata": {"annotations": {"example.com/a": "changed"}}}
            with ThreadPoolExecutor(MOST_AT_ONCE) as pool:
                list(
                    pool.map(lambda pod: plane.api.expect("PATCH", f"{PODS}/{pod}", body), changed)
                )
            time.sleep(3)  # both read what is left of their watches
            report(f"{len(changed)} of them changed", "VmRSS")
            report("  at most until then", "VmHWM")
        limits = ", ".join(f"{kind} {limit(kind)}" for kind in ("webhook", "controller"))
        print(f"limits of the manifests: {limits}")


@contextmanager
def running(plane: ControlPlane, folder: Path) -> Iterator[None]:
    """Run both, until all pods are known to the controller and the webhook is called."""
    with ExitStack() as stack:
        stack.enter_context(Webhook(plane, folder / "webhook", HERE / "profiles.yaml", COMMAND))
        controller = stack.enter_context(Controller(plane, folder / "controller", COMMAND, "lease"))
        controller.wait_until_leading(300)
        time.sleep(2)  # what begins with leading
        yield


def report(title: str, key: str) -> None:
    """Print this figure of the processes of both; all of the webhook's are in one container."""
    webhook, controller = (
        sorted((megabytes(pid, key) for pid in processes(command)), reverse=True)
        for command in ("serve", "control")
    )
    each = " + ".join(f"{part:.0f}" for part in webhook)
    print(
        f"{title:<32} webhook {sum(webhook):4.0f} MB ({each}), "
        f"controller {sum(controller):4.0f} MB",
        flush=True,
    )


def create(plane: ControlPlane) -> None:
    """Create rank 0 of the recorded job, and give it the address that Multus would."""
    pod = as_sent(json.loads(REVIEW.read_text())["request"]["object"], name=NAME)
    plane.api.expect("POST", PODS, pod)
    attached = {"name": "rails/rail-0", "interface": "net1", "ips": ["10.0.0.1"], "dns": {}}
    status = [
        {"name": "cbr0", "interface": "eth0", "ips": ["10.244.0.7"], "default": True},
        attached,
    ]
    body = {
        "metadata": {"annotations": {names.NETWORK_STATUS: json.dumps(status, indent=4)}},
        "status": {"phase": "Running", "podIP": "10.244.0.7", "podIPs": [{"ip": "10.244.0.7"}]},
    }
    plane.api.expect("PATCH", f"{PODS}/{NAME}/status", body)


def served(plane: ControlPlane) -> dict[str, Any]:
    """Give the metadata of that pod."""
    found: dict[str, Any] = plane.api.expect("GET", f"{PODS}/{NAME}")["metadata"]
    return found


def fill(plane: ControlPlane, count: int) -> list[str]:
    """Write copies until there are so many pods, as jobs of 64 with one rank 0 each; give their names.

    Each text is replaced by one of its length, so that what is stored stays readable.
    """
    etcd = Client(plane.etcd_url, plane.ca, None)
    answer = etcd.expect("POST", "/v3/kv/range", {"key": _base64(f"{STORED}/{NAME}".encode())})
    first, metadata = base64.b64decode(answer["kvs"][0]["value"]), served(plane)
    key, uid = metadata["labels"][names.JOB], metadata["uid"]
    say(f"writing {count} pods of {len(first)} bytes")
    written, puts = [], []
    for number in range(1, count):
        job, member = divmod(number, MEMBERS)
        app = f"{job:0{len(APP)}d}"
        name = NAME.replace(APP, app).replace(MEMBER, f"m{member:04d}")
        value = first
        for old, new in (
            (key, f"{key[:-10]}{job:010d}"),
            (NAME, name),
            (APP, app),
            (uid, f"{uid[:-12]}{number:012d}"),
            *(
                [(f"{names.RENDEZVOUS}\x12\x06master", f"{names.RENDEZVOUS}\x12\x06worker")]
                if member
                else []
            ),
        ):
            value = value.replace(old.encode(), new.encode())
        written.append(name)
        puts.append(
            {"requestPut": {"key": _base64(f"{STORED}/{name}".encode()), "value": _base64(value)}}
        )
        if len(puts) == AT_ONCE or number == count - 1:
            etcd.expect("POST", "/v3/kv/txn", {"success": puts})
            puts = []
    jobs = -(-count // MEMBERS)
    wait_until(
        lambda: count_masters(plane) == jobs,
        f"the API server to serve {jobs} ranks 0",
        600,
        interval=1,
    )
    found = plane.api.expect("GET", f"{PODS}?limit=1")["metadata"]["remainingItemCount"] + 1
    if found != count:
        sys.exit(f"the API server serves {found} pods of {count}")
    return written


def count_masters(plane: ControlPlane) -> int:
    """Count the pods of rank 0, as the API server's cache holds them."""
    partial = {"Accept": "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"}
    path = f"{PODS}?labelSelector={names.RENDEZVOUS}%3Dmaster&resourceVersion=0"
    return len(plane.api.expect("GET", path, headers=partial)["items"])


def limit(kind: str) -> str:
    """Give the memory limit of a Deployment that is shipped."""
    (deployment,) = yaml.safe_load_all((BASE / f"deployment-{kind}.yaml").read_text())
    return str(
        deployment["spec"]["template"]["spec"]["containers"][0]["resources"]["limits"]["memory"]
    )


def _base64(value: bytes) -> str:
    return base64.b64encode(value).decode()


def prepare(plane: ControlPlane) -> None:
    """Make the networks of the profile, and the namespaces."""
    plane.create_namespace("rails")
    for number in (0, 1):
        plane.api.ensure(network(number))
    labels = {names.PROFILE: "two-rails", "pod-security.kubernetes.io/enforce": "privileged"}
    plane.create_namespace(NAMESPACE, labels)
    plane.create_namespace("lease")


if __name__ == "__main__":
    main()
