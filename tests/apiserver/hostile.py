"""Pods that somebody makes to hold up the controller: all that its label and annotations say is forged."""

import json
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.cluster.client import Client
from tests.cluster.jobs import NETWORK
from webhook.core import names

LONG = "x" * 250_000
SHAPES: dict[str, dict[str, Any]] = {
    "annotations": {"annotations": {f"k{number}": "" for number in range(20_000)}},
    "labels": {"labels": {f"k{number}": "" for number in range(15_000)}},
    "finalizers": {"finalizers": [f"a.b/c{number}" for number in range(15_000)]},
    "owners": {
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "P", "name": f"n{number}", "uid": f"u{number}"}
            for number in range(8000)
        ]
    },
    "one value": {"annotations": {"filler": LONG}},
    "full": {"annotations": {"filler": "x" * (256 * 1024 - 600)}},
    "variables": {"env": [{"name": f"V{number}", "value": "x"} for number in range(8000)]},
    "no address": {
        "annotations": {names.MASTER_ADDR: LONG[:100_000], names.WAIT_ENDS: LONG[:100_000]}
    },
    "network-status": {"annotations": {names.NETWORK_STATUS: "[" * 60_000}},
    "addresses": {
        "annotations": {
            names.NETWORK_STATUS: json.dumps(
                [{"name": NETWORK, "interface": "net1", "ips": ["10.0.0.999"] * 9000}]
            )
        }
    },
    "long name": {"name": "n" * 240},
}
"""What each pod is given beside a forged label, as fields of its metadata; ``env`` is its container's."""


def forged(name: str, job: str, shape: dict[str, Any]) -> dict[str, Any]:
    """Write a pod that pretends to be rank 0 of a job, attached, and told nothing yet."""
    status = [{"name": NETWORK, "interface": "net1", "ips": ["10.66.6.6"]}]
    marks = {
        names.RENDEZVOUS_NETWORK: f"{NETWORK}@net1/any",
        names.NETWORK_STATUS: json.dumps(status),
    }
    marks |= {names.WAITS_FOR: "master-addr,local-addr"}
    metadata = {
        **{key: value for key, value in shape.items() if key != "env"},
        "name": f"{shape.get('name', '')}{name}",
        "labels": {names.JOB: job, names.RENDEZVOUS: "master", **shape.get("labels", {})},
        "annotations": {**marks, **shape.get("annotations", {})},
    }
    container = {"name": "main", "image": "none", "env": shape.get("env", [])}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": {"containers": [container]},
    }


def create(
    api: Client, namespace: str, shapes: Iterable[dict[str, Any]], *, of_each: int = 1
) -> int:
    """Create pods of these shapes, each of a job of its own; return how many there are."""
    made = [
        forged(f"p{number}-{copy}", f"j{number}-{copy}", shape)
        for number, shape in enumerate(shapes)
        for copy in range(of_each)
    ]
    with ThreadPoolExecutor(4) as pool:
        for _ in pool.map(
            lambda pod: api.expect("POST", f"/api/v1/namespaces/{namespace}/pods", pod), made
        ):
            pass
    return len(made)
