"""What the broken situations run with: a second node, and what is shipped for users' rights."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.installation import MANIFESTS
from tests.cluster.node.fixtures import (  # noqa: F401
    Tier,
    controller,
    controller_process,
    namespace,
    node,
    webhook,
)
from tests.cluster.node.node import Node
from tests.cluster.operators.cluster import install  # noqa: F401
from tests.profiles import as_text
from tests.tiers import mark_tier

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "broken", 1800)


@pytest.fixture(scope="session")
def tier() -> Tier:
    """Give the profiles of all situations."""
    return Tier("broken", as_text((FOLDER / "profiles.yaml").read_text()), as_objects=True)


@pytest.fixture(scope="session")
def two_nodes(node: Node) -> Iterator[Node]:  # noqa: F811
    """Run the second node, and give users the rights that are shipped."""
    node.control_plane.ensure_shipped("namespace", "rbac-users")
    viewer = MANIFESTS / "components/profile-viewer/profile-viewer.yaml"
    node.control_plane.kubectl("apply", f"--filename={viewer}")
    with node.another("node2"):
        yield node
