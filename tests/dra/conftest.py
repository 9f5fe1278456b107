"""Fixtures for tests with pods whose cards are claims.

def test_pod(api, namespace, webhook, controller, dranet):
    pod = create(api, give(manifest, "card"), namespace(None))
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.node.conftest import (  # noqa: F401 these fixtures use this folder's node
    NamespaceFactory,
    api,
    controller,
    controller_process,
    figures,
    namespace,
    pytest_terminal_summary,
    start_node,
    unavailable,
)
from tests.node.node import Node

from . import drivers
from .cards import Cards
from .claims import CARDS, device_class
from .drivers import Driver

FOLDER = Path(__file__).parent
EXTENDED_CLASS = "accelerators"
EXTENDED_RESOURCE = "example.com/accelerator"
TEST_DEVICES = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and let only their own time count: the first fixtures may build for minutes."""
    for item in items:
        if item.path.is_relative_to(FOLDER):
            item.add_marker(pytest.mark.dra)
            item.add_marker(pytest.mark.timeout(600, func_only=True))


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Run a cluster whose node has CDI and NRI; skip where this machine cannot, with the reason."""
    with start_node(pytestconfig, tmp_path_factory, "dra") as running:
        yield running


@pytest.fixture(scope="session")
def cards(node: Node) -> Iterator[Cards]:
    """Give the node its cards."""
    with Cards(node.links) as made:
        yield made


@pytest.fixture(scope="session")
def dranet_process(node: Node, cards: Cards) -> Iterator[Driver]:
    """Run DRANET for all tests, and make the DeviceClass of its devices."""
    node.api.ensure(device_class(CARDS, drivers.DRANET))
    with drivers.dranet(node, cards) as running:
        yield running


@pytest.fixture
def dranet(dranet_process: Driver) -> Driver:
    """Give DRANET with all its devices, also after a test that stopped it."""
    return dranet_process


@pytest.fixture(scope="session")
def test_driver(node: Node) -> Iterator[Driver]:
    """Run Kubernetes' own test driver for all tests, and let its devices be the extended resource."""
    node.api.ensure(device_class(EXTENDED_CLASS, drivers.TEST_DRIVER, extendedResourceName=EXTENDED_RESOURCE))
    with drivers.test_driver(node, TEST_DEVICES) as running:
        yield running
