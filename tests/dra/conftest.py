"""What tests with pods whose cards are claims run with.

def test_pod(namespace, webhook, controller, dranet):
    (pod,) = namespace(None).start(give(manifest, "card"))
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.node.fixtures import (  # noqa: F401
    BringTorch,
    Tier,
    bring_torch,
    controller,
    controller_process,
    namespace,
    node,
    webhook,
)
from tests.cluster.node.node import Node
from tests.profiles import as_text
from tests.tiers import mark_tier
from webhook.presets import read_preset

from . import drivers
from .claims import CARDS, device_class
from .drivers import Driver

FOLDER = Path(__file__).parent
PRESET = read_preset("dranet")
PRESETS_CLASS = PRESET.profile["spec"]["claims"][0]["requests"][0]["deviceClassName"]
_OWN_CLAIMS = """
own-claims:
  rendezvous: {addressSource: claim, network: card@net1}
named-template:
  claims: [{name: card, resourceClaimTemplateName: admins}]
  rendezvous: {addressSource: claim, network: card@net1}
"""
PROFILES = f"{PRESET.text}---\n{as_text(_OWN_CLAIMS)}"
EXTENDED_CLASS = "accelerators"
EXTENDED_RESOURCE = "example.com/accelerator"
TEST_DEVICES = 4


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "dra", 1800)


@pytest.fixture(scope="session")
def tier() -> Tier:
    """Give the profiles, as objects: claims need them; the node's containerd has CDI and NRI."""
    return Tier("dra", PROFILES, as_objects=True, with_claims=True)


@pytest.fixture(scope="session")
def dranet(node: Node) -> Iterator[Driver]:  # noqa: F811
    """Run DRANET for all tests, and make DeviceClasses of its devices."""
    for name in (CARDS, PRESETS_CLASS):
        node.api.ensure(device_class(name, drivers.DRANET))
    with drivers.dranet(node) as running:
        yield running


@pytest.fixture(scope="session")
def test_driver(node: Node) -> Iterator[Driver]:  # noqa: F811
    """Run Kubernetes' own test driver; its devices are the extended resource."""
    extended = {"extendedResourceName": EXTENDED_RESOURCE}
    node.api.ensure(device_class(EXTENDED_CLASS, drivers.TEST_DRIVER, **extended))
    with drivers.test_driver(node, TEST_DEVICES) as running:
        yield running


@pytest.fixture(scope="session")
def torch(bring_torch: BringTorch) -> str:  # noqa: F811
    """Give the image with torch, on the node; skip where it cannot be had."""
    return bring_torch()
