"""Fixtures for tests with pods whose cards are claims.

def test_pod(api, namespace, webhook, controller, dranet):
    pod = create(api, give(manifest, "card"), namespace(None))
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.claims import drivers
from tests.cluster.claims.cards import Cards
from tests.cluster.claims.claims import CARDS, device_class
from tests.cluster.claims.drivers import Driver
from tests.cluster.installation import apply_profiles
from tests.cluster.node.node import Node
from tests.cluster.operators.cluster import NEWEST
from tests.cluster.operators.torch_image import NoWheel, torch_archive, torch_installed
from tests.cluster.webhook import Webhook, installed_command
from tests.node.conftest import (  # noqa: F401 these fixtures use this folder's node
    NamespaceFactory,
    api,
    controller,
    controller_process,
    figures,
    namespace,
    start_node,
    unavailable,
)
from tests.tiers import mark_tier
from webhook.core.profiles.custom_resource import custom_resource_definition

FOLDER = Path(__file__).parent
PROFILES = """\
profiles:
  cards:
    claims:
    - name: card
      requests: [{name: card, deviceClassName: cards}]
      config: [{driver: dra.net, parameters: {interface: {name: net1, mtu: 1400}}}]
    rendezvous: {addressSource: claim, network: card@net1}
  own-claims:
    rendezvous: {addressSource: claim, network: card@net1}
"""
EXTENDED_CLASS = "accelerators"
EXTENDED_RESOURCE = "example.com/accelerator"
TEST_DEVICES = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "dra", 600)


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
    node.api.ensure(
        device_class(EXTENDED_CLASS, drivers.TEST_DRIVER, extendedResourceName=EXTENDED_RESOURCE)
    )
    with drivers.test_driver(node, TEST_DEVICES) as running:
        yield running


@pytest.fixture(scope="session")
def webhook(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """Run the real server for all tests, which follows the profiles that are objects, with the privileges of its own account."""
    plane = node.control_plane
    plane.api.ensure(custom_resource_definition())
    apply_profiles(plane, PROFILES)
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    with Webhook(plane, tmp_path_factory.mktemp("webhook"), None, command) as running:
        yield running


@pytest.fixture(scope="session")
def torch(node: Node, pytestconfig: pytest.Config) -> str:
    """Give the image with torch, on the node; skip where it cannot be had."""
    name = f"fabric-injector.test/torch:{NEWEST}"
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    try:
        with capture.global_and_fixture_disabled():
            installed = torch_installed(NEWEST)
    except NoWheel as problem:
        pytest.skip(str(problem))
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    node.containerd.import_images(torch_archive(name, installed))
    return name
