"""What jobs that their own operators run are tested with.

def test_job(cluster, namespace):
    cluster.install("jobset")
    space = namespace("rdma-shared")
    space.submit(with_image(manifest, cluster.torch()))
    reports = space.reports(2)
"""

from pathlib import Path

import pytest

from tests.cluster.controller import Controller
from tests.cluster.node.fixtures import (  # noqa: F401
    Tier,
    bring_torch,
    controller,
    controller_process,
    namespace,
    node,
    webhook,
)
from tests.cluster.operators.cluster import cluster, install  # noqa: F401
from tests.tiers import mark_tier

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "operators", 2400)


@pytest.fixture(autouse=True)
def _controller(controller: Controller) -> None:  # noqa: F811
    """Run our controller for every test."""


@pytest.fixture(scope="session")
def tier() -> Tier:
    """Give the profiles of this folder, and let what has lost its owner go."""
    return Tier("operators", (FOLDER / "profiles.yaml").read_text(), collects_garbage=True)
