"""Nodes: what is kept of one."""

from fractions import Fraction

import pytest

from webhook.core.cluster.nodes import NodeOffer, devices, read_node, shown_amount
from webhook.core.model import Object

NODE: Object = {
    "metadata": {"name": "node-0", "labels": {"rail": "fast"}},
    "spec": {"unschedulable": True},
    "status": {
        "allocatable": {"rdma/hca": "8"},
        "conditions": [{"type": "DiskPressure"}, {"type": "Ready", "status": "True"}],
    },
}


def test_keeps_of_a_node_what_decides_about_pods() -> None:
    assert read_node(NODE) == NodeOffer(
        "node-0", {"rail": "fast"}, {"rdma/hca": "8"}, cordoned=True
    )
    assert read_node({}) == NodeOffer("", not_ready="no reason told")


@pytest.mark.parametrize(
    ("conditions", "told"),
    [
        (
            [
                {
                    "type": "Ready",
                    "status": "True",
                    "reason": "KubeletReady",
                    "message": "kubelet is posting",
                }
            ],
            "",
        ),
        (
            [
                {
                    "type": "Ready",
                    "status": "False",
                    "reason": "KubeletNotReady",
                    "message": "no CNI",
                }
            ],
            "no CNI",
        ),
        (
            [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}],
            "NodeStatusUnknown",
        ),
        ([{"type": "Ready", "status": "Unknown"}], "no reason told"),
        (
            [{"type": "DiskPressure", "status": "True", "message": "the disk is full"}],
            "no reason told",
        ),
        (None, "no reason told"),
    ],
)
def test_says_why_a_node_is_not_ready(conditions: object, told: str) -> None:
    assert read_node({"status": {"conditions": conditions}}).not_ready == told


@pytest.mark.parametrize(
    ("resource", "amount", "shown"),
    [
        ("hugepages-2Mi", 1 << 30, "1024Mi"),
        ("hugepages-64Ki", 1 << 16, "65536"),
        ("rdma/hca", 8, "8"),
        ("example.com/bytes", 1 << 20, "1048576"),
    ],
)
def test_writes_huge_pages_in_mi(resource: str, amount: int, shown: str) -> None:
    assert shown_amount(resource, Fraction(amount)) == shown


def asks(amount: int, **fields: str) -> Object:
    return {"name": "x", "resources": {"requests": {"rdma/hca": str(amount)}}, **fields}


@pytest.mark.parametrize(
    ("init", "containers", "amount"),
    [
        ([], [asks(1), asks(2)], 3),
        ([asks(7)], [asks(1)], 7),
        ([asks(1), asks(2)], [asks(3)], 3),
        ([asks(2, restartPolicy="Always")], [asks(1)], 3),
        ([asks(2, restartPolicy="Always"), asks(4)], [asks(1)], 6),
        ([asks(4), asks(2, restartPolicy="Always")], [asks(1)], 4),
    ],
    ids=["together", "largest", "none larger", "sidecar", "beside a sidecar", "before a sidecar"],
)
def test_counts_devices_as_the_scheduler_does(
    init: list[Object], containers: list[Object], amount: int
) -> None:
    pod = {"metadata": {"name": "p"}, "spec": {"initContainers": init, "containers": containers}}
    assert devices(pod) == {"rdma/hca": amount}
