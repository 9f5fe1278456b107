"""Fixtures of the tiers whose pods run: a conftest imports them, and its `tier` says with what.

def test_pod(namespace, webhook, controller):
    pods = namespace("rdma-shared").start(*jobs.pytorchjob())
    reports = [pod.report() for pod in pods]
"""

import functools
import os
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.cluster import fixtures
from tests.cluster.assets import assets
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.fixtures import built, unavailable
from tests.cluster.operators.rows import NEWEST
from tests.cluster.operators.torch_image import NoWheel, torch_archive
from tests.cluster.webhook import Webhook
from tests.installed import not_installed

from .containerd import Containerd
from .namespace import Namespace
from .node import Node

BringTorch = Callable[..., str]
"""Brings an image with torch to a node, the newest and the first unless told; gives its name."""


class Tier(NamedTuple):
    """The target of make, and the text of a profiles file, which *as_objects* become objects.

    *collects_garbage*: see Node; *with_claims*: containerd 2, for CDI and NRI.
    """

    target: str
    profiles: str
    as_objects: bool = False
    collects_garbage: bool = False
    with_claims: bool = False


NamespaceFactory = Callable[..., Namespace]
"""Creates a namespace of the profile, or of none, with more labels."""


@pytest.fixture(scope="session")
def node(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, tier: Tier
) -> Iterator[Node]:
    """Run the cluster for all tests; skip where it lacks packages, with their names."""
    if os.geteuid() != 0:
        pytest.skip(f"a kubelet needs root, these tests run as uid {os.geteuid()}")
    if reason := not_installed(tier.target):
        unavailable(reason)
    for group in ("control-plane", "node"):
        built(pytestconfig, assets, group)
    own = built(pytestconfig, assets, "claims")["containerd"].parent if tier.with_claims else None
    folder, garbage = tmp_path_factory.mktemp("node"), tier.collects_garbage
    with Node(folder, collects_garbage=garbage, containerd=own) as running:
        yield running


def _namespaces(node: Node) -> Iterator[NamespaceFactory]:
    """Give a function that creates a namespace, which ends with the test or with its module."""
    make = fixtures.NamespaceFactory(node.control_plane)
    yield lambda *labels: Namespace(node, make(*labels))
    for name in make.made:
        Namespace(node, name).remove()


namespace = pytest.fixture(_namespaces)
lasting_namespace = pytest.fixture(scope="module")(_namespaces)


@pytest.fixture(scope="session")
def webhook(node: Node, tier: Tier, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """Run the real server for all tests, registered, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("webhook")
    file = folder / "profiles.yaml"
    file.write_text(tier.profiles)
    if tier.as_objects:
        node.control_plane.define_profiles(tier.profiles)
    with Webhook(node.control_plane, folder, None if tier.as_objects else file) as running:
        yield running


@pytest.fixture(scope="session")
def controller_process(
    node: Node, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    """Run the real controller for all tests, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("controller")
    with Controller(node.control_plane, folder, ACCOUNT[0]) as running:
        yield running


@pytest.fixture
def controller(controller_process: Controller) -> Controller:
    """Give the controller as leader, also after a test that stopped it."""
    if not controller_process.is_running():
        controller_process.start()
    controller_process.wait_until_leading(120)
    return controller_process


@pytest.fixture(scope="session")
def bring_torch(pytestconfig: pytest.Config, node: Node) -> BringTorch:
    """Give a function that brings torch to a node once; skip where it cannot be had."""

    @functools.cache
    def bring(version: str = NEWEST, containerd: Containerd = node.containerd) -> str:
        name = f"fabric-injector.test/torch:{version}"
        try:
            containerd.import_images(built(pytestconfig, torch_archive, name, version))
        except NoWheel as problem:
            pytest.skip(str(problem))
        return name

    return bring
