"""What holds for every job that has met on the fabric, whichever system made its pods."""

import json
from collections.abc import Sequence

from tests.cluster.node.namespace import Namespace
from tests.cluster.node.pods import Report, container_state
from webhook.core import names
from webhook.core.model import Object

from .cluster import Cluster

EXCHANGED = 16 << 20
DECIDED = (names.STATUS, names.NETWORKS, names.RENDEZVOUS_NETWORK)
IDLE_BYTES = 256 << 10
"""What eth0 carries besides data: names, meetings, and 74 KiB of torch's etcd rendezvous. One round
of the data is 4 MiB."""


def assert_met_on_the_fabric(reports: Sequence[Report]) -> None:
    """Assert that all ranks met at rank 0's secondary address, and trained there only."""
    address = reports[0].pod.fabric_address()
    assert address
    assert_trained_on_the_fabric(reports)
    for report in reports:
        assert report.master_addr == address
        assert_wait_ended(report)


def assert_trained_on_the_fabric(reports: Sequence[Report], interface: str = "net1") -> None:
    """Assert that the ranks formed one group, with their data on the interface only."""
    world = len(reports)
    for rank, report in enumerate(reports):
        told = report.train
        assert (told["rank"], told["world"], told["sum"]) == (rank, world, world * (world + 1) / 2)
        assert report.carried(interface) > EXCHANGED, told
        assert report.carried("eth0") < IDLE_BYTES, told


def assert_wait_ended(report: Report) -> None:
    """Assert that the pod waited for its address, and well."""
    ended = container_state(report.pod.get(), names.WAIT_CONTAINER).get("terminated", {})
    assert ended.get("exitCode") == 0, report.pod.describe()


def assert_decided_as_predicted(
    cluster: Cluster, space: Namespace, manifest: Object, reports: Sequence[Report]
) -> None:
    """Assert that the dry run foretold what each pod was given when its operator created it."""
    options = ("--file=-", f"--profiles={cluster.profiles}")
    predicted = space.document("dry-run", *options, text=json.dumps(manifest))["pods"]
    by_role = {entry["rendezvous"]: entry["pod"] for entry in predicted}
    for live in [report.pod.get() for report in reports]:
        role = live["metadata"]["labels"][names.RENDEZVOUS]
        assert _decided(live) == _decided(by_role[role])


def _decided(pod: Object) -> Object:
    """Give what was decided about a pod, and what of it jobs meet and train by."""
    annotations, spec = pod["metadata"]["annotations"], pod["spec"]
    (training,) = (one for one in spec["containers"] if one["name"] == annotations[names.CONTAINER])
    waits = (one for one in spec["initContainers"] if one["name"] == names.WAIT_CONTAINER)
    return {
        "annotations": [annotations[key] for key in DECIDED],
        "wait": [one["command"] for one in waits],
        "limits": training["resources"]["limits"],
        "capabilities": training["securityContext"]["capabilities"],
    }
