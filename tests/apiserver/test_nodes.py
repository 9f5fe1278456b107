"""Where a real scheduler puts the replicas: on two nodes where there are two, through roll-outs, with and without zones."""

import itertools
from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import program
from tests.cluster.installation import install_yaml
from tests.cluster.nodes import kubelets, make_node
from tests.waiting import wait_until

ZONE = "topology.kubernetes.io/zone"
PODS = "/api/v1/namespaces/fabric-injector/pods"
ROLLOUTS = 2
NUMBERS = itertools.count()
"""No node gets the name of an earlier one."""


@pytest.fixture(scope="module")
def plane(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of its own, for pods that others leave would be bound to its nodes."""
    program("kube-scheduler")
    with ControlPlane(tmp_path_factory.mktemp("nodes")) as running, kubelets(running.api):
        running.start_controller_manager("--controllers=*,-node-lifecycle-controller")
        running.start_scheduler()
        running.kubectl("apply", "--server-side", f"--filename={install_yaml()}")
        yield running


@pytest.fixture
def nodes(plane: ControlPlane) -> Iterator[list[str]]:
    """Give a list for the paths of nodes, which go with their pods at the end."""
    made: list[str] = []
    yield made
    for path in (*made, PODS):
        plane.api.expect("DELETE", path)


def roll(plane: ControlPlane) -> list[list[str]]:
    """Roll both out at the same time; give where their pods are."""
    both = ("webhook", "controller")
    where = "--namespace=fabric-injector"
    plane.kubectl("rollout", "restart", "deployment", where)
    for component in both:
        deployment = f"deployment/fabric-injector-{component}"
        plane.kubectl("rollout", "status", deployment, where, "--timeout=60s")
    return [nodes_of(plane, component) for component in both]


def nodes_of(plane: ControlPlane, component: str) -> list[str]:
    """Wait until the pods that are replaced have gone; give the nodes of the others."""
    selector = f"labelSelector=app.kubernetes.io/component%3D{component}"
    found: list[dict[str, Any]] = []

    def are_two() -> bool:
        found[:] = plane.api.expect("GET", f"{PODS}?{selector}")["items"]
        return len(found) == 2

    wait_until(are_two, f"two pods of the {component}")
    return [each["spec"]["nodeName"] for each in found]


@pytest.mark.parametrize(
    "labels",
    [({}, {}), ({ZONE: "a"}, {ZONE: "b"}), ({ZONE: "a"}, {})],
    ids=["no-zones", "two-zones", "one-of-them-in-a-zone"],
)
def test_replicas_stay_apart_through_rollouts(
    plane: ControlPlane, nodes: list[str], labels: tuple[dict[str, str], dict[str, str]]
) -> None:
    """One node is far emptier, which draws pods there; and would rather have none on the other, which its taint says."""
    names = [f"node-{next(NUMBERS)}" for _ in labels]
    for name, each, cpu in zip(names, labels, ("64", "2"), strict=True):
        offered = {"cpu": cpu, "memory": "64Gi", "pods": "110"}
        nodes.append(make_node(plane.api, name, offered, each))
    taint = {"key": "example.com/crowded", "effect": "PreferNoSchedule"}
    plane.api.expect("PATCH", nodes[1], {"spec": {"taints": [taint]}})
    for _ in range(ROLLOUTS):
        for found in roll(plane):
            assert set(found) == set(names)


def test_one_node_is_enough(plane: ControlPlane, nodes: list[str]) -> None:
    name = f"node-{next(NUMBERS)}"
    nodes.append(make_node(plane.api, name, {"cpu": "16", "memory": "64Gi", "pods": "110"}))
    assert roll(plane) == [[name] * 2] * 2
