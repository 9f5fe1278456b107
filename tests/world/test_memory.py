"""What the cluster's objects cost while they are held."""

import json
from collections.abc import Callable
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tests.fake_apiserver import NETWORKS, PODS, FakeApiServer
from tests.waiting import wait_until
from webhook.control.controller import MEMBERS
from webhook.core import names
from webhook.core.networks import define_network
from webhook.core.reconcile import read_member
from webhook.kube.catalogue import NETWORKS as NETWORK_DEFINITIONS
from webhook.kube.connection import Connection
from webhook.kube.credentials import Credentials
from webhook.kube.informer import Informer

KILOBYTES_250 = "x" * 250_000
MANY_KEYS = {f"k{number}": "" for number in range(15_000)}
HOSTILE: list[dict[str, Any]] = [
    {"annotations": {"filler": KILOBYTES_250}},
    {"annotations": MANY_KEYS},
    {"labels": {f"example.com/label-{number}": "x" * 60 for number in range(3000)}},
    {"ownerReferences": [{"apiVersion": "v1", "kind": "K", "name": "n", "uid": "u"}] * 5000},
    {"finalizers": [f"example.com/f{number}" for number in range(10_000)]},
    {"managedFields": [{"fieldsV1": {f"f:k{number}": {} for number in range(20_000)}}]},
    {
        "annotations": dict.fromkeys(
            (names.MASTER_ADDR, names.WAIT_ENDS, names.RENDEZVOUS_NETWORK), "y" * 80_000
        )
    },
    {
        "annotations": {
            names.RENDEZVOUS_NETWORK: "default/net@net1/any",
            names.NETWORK_STATUS: json.dumps(
                [{"name": "default/net", "interface": "z" * 60_000, "ips": ["10.0.0.1"]}]
            ),
        }
    },
    {"annotations": {f"example.com/a{number}": "w" * 20 for number in range(5000)}},
]
"""Metadata of pods that weighs much: long values, many keys, what we write, what Multus does."""
COUNT = 160
WATCHED: dict[str, tuple[Any, str, Callable[[Any], object]]] = {
    "controller": (MEMBERS, PODS, read_member),
    "networks": (NETWORK_DEFINITIONS, NETWORKS, define_network),
}


@pytest.mark.parametrize("watched", WATCHED)
def test_lists_huge_objects_of_every_shape_in_forty_megabytes(watched: str) -> None:
    """The list weighs 40 MB: its pages get smaller, and little is kept of each object."""
    with FakeApiServer() as server:
        for number in range(COUNT):
            parts = HOSTILE[number % len(HOSTILE)]
            metadata = {"uid": str(number), "creationTimestamp": "2026-01-01T00:00:00Z", **parts}
            metadata["labels"] = {
                names.JOB: f"j-{number}",
                names.RENDEZVOUS: "master",
                **parts.get("labels", {}),
            }
            if values := parts.get("annotations"):
                metadata["annotations"] = {
                    key: value.replace("yyyy", f"{number:04}") for key, value in values.items()
                }
            server.put(WATCHED[watched][1], f"p-{number}", "evil", **metadata)
        with get_context("spawn").Pool(1) as process:
            assert process.apply(megabytes_of_a_list, (watched, server.url)) < 40


def megabytes_of_a_list(watched: str, url: str) -> float:
    """Give how much the memory of this process grew at most while it listed."""
    resource, _, read = WATCHED[watched]
    before = _megabytes("VmRSS:")
    Path("/proc/self/clear_refs").write_text("5")  # VmHWM begins anew
    informer = Informer(Connection(Credentials("test", url)), resource, read)
    informer.start()
    wait_until(lambda: informer.synced, "the list", 60)
    informer.stop()
    assert len(informer.items) == COUNT
    return _megabytes("VmHWM:") - before


def _megabytes(key: str) -> float:
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith(key))
