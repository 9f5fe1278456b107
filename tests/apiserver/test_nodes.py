"""Where a real scheduler puts the replicas: on two nodes where there are two, through roll-outs, with and without zones."""

import itertools
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import unavailable
from tests.cluster.installation import install_yaml
from tests.cluster.nodes import Deployed, Node

ZONE = "topology.kubernetes.io/zone"
ROLLOUTS = 2
NUMBERS = itertools.count()
"""No node gets the name of an earlier one."""
Both = tuple[Deployed, Deployed]


@pytest.fixture(scope="module")
def plane(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A cluster of its own, for pods that others leave would be bound to its nodes."""
    try:
        with ControlPlane(tmp_path_factory.mktemp("nodes")) as running:
            running.start_controller_manager()
            running.start_scheduler()
            running.kubectl("apply", "--server-side", f"--filename={install_yaml()}")
            yield running
    except AssetsUnavailable as problem:
        unavailable(str(problem))


@pytest.fixture
def both(plane: ControlPlane) -> Both:
    return Deployed(plane.api, "webhook"), Deployed(plane.api, "controller")


@pytest.fixture
def nodes(plane: ControlPlane) -> Iterator[ExitStack]:
    """Give what the nodes of a test are entered into."""
    with ExitStack() as stack:
        yield stack


def roll(both: Both) -> list[list[str]]:
    """Roll both out at the same time; give where their pods are."""
    for each in both:
        each.begin()
    return [each.wait() for each in both]


@pytest.mark.parametrize(
    "labels",
    [({}, {}), ({ZONE: "a"}, {ZONE: "b"}), ({ZONE: "a"}, {})],
    ids=["no-zones", "two-zones", "one-of-them-in-a-zone"],
)
def test_replicas_stay_apart_through_rollouts(
    plane: ControlPlane, nodes: ExitStack, both: Both, labels: tuple[dict[str, str], dict[str, str]]
) -> None:
    """One node is far emptier, which draws pods there; and would rather have none on the other, which its taint says."""
    emptier, other = (
        nodes.enter_context(Node(plane.api, next(NUMBERS), each, cpu))
        for each, cpu in zip(labels, ("64", "2"), strict=True)
    )
    taint = {"key": "example.com/crowded", "effect": "PreferNoSchedule"}
    plane.api.expect("PATCH", f"/api/v1/nodes/{other.name}", {"spec": {"taints": [taint]}})
    for _ in range(ROLLOUTS):
        for found in roll(both):
            assert set(found) == {emptier.name, other.name}


def test_one_node_is_enough(plane: ControlPlane, nodes: ExitStack, both: Both) -> None:
    only = nodes.enter_context(Node(plane.api, next(NUMBERS)))
    assert roll(both) == [[only.name] * 2] * 2
