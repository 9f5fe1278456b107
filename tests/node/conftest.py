"""What the tests of the node run with."""

from pathlib import Path

import pytest

from tests.cluster.node.fixtures import (  # noqa: F401
    Tier,
    controller,
    controller_process,
    lasting_namespace,
    namespace,
    node,
    webhook,
)
from tests.tiers import mark_tier

FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests; those that install and remove the product come before those that run it."""
    mark_tier(items, FOLDER, "node", 1200)
    items.sort(key=lambda item: item.path != FOLDER / "test_install.py")


@pytest.fixture(scope="session")
def tier() -> Tier:
    """Give the profiles of this folder."""
    return Tier("test-node", (FOLDER / "profiles.yaml").read_text())
