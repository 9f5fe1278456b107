"""Fixtures of the tiers whose pods run: a conftest imports them, and its `tier` says with what.

def test_pod(namespace, webhook, controller):
    pods = namespace("rdma-shared").start(*jobs.pytorchjob())
    reports = [pod.report() for pod in pods]
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol

import pytest

from tests.cluster import fixtures
from tests.cluster.assets import assets, claim_assets, node_assets
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.fixtures import built, ended_by_sigterm, unavailable
from tests.cluster.installation import apply_profiles
from tests.cluster.operators.torch_image import NoWheel, torch_archive
from tests.cluster.webhook import Webhook
from tests.installed import not_installed
from webhook.validate.definition import definition

from .containerd import Containerd
from .namespace import Namespace
from .node import Node
from .requirements import not_possible

BringTorch = Callable[[Containerd, str], str]
"""Brings the image with this version of torch to a node; gives its name."""


class Tier(NamedTuple):
    """What a tier runs with.

    *target*: of make; *profiles*: the text of a profiles file, which *as_objects* become objects;
    *collects_garbage*: see Node; *with_claims*: containerd 2, for CDI and NRI.
    """

    target: str
    profiles: str
    as_objects: bool = False
    collects_garbage: bool = False
    with_claims: bool = False


class NamespaceFactory(Protocol):
    """Creates a namespace of the profile, or of none, with more labels."""

    def __call__(self, profile: str | None, labels: dict[str, str] | None = None) -> Namespace:
        """Create it."""


@pytest.fixture(scope="session")
def node(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, tier: Tier
) -> Iterator[Node]:
    """Run the cluster for all tests; skip where this machine cannot, with the reason."""
    if reason := not_possible(tmp_path_factory.mktemp("try") / "overlay"):
        pytest.skip(reason)
    if reason := not_installed(tier.target):
        unavailable(reason)
    built(pytestconfig, assets)
    built(pytestconfig, node_assets)
    containerd = None
    if tier.with_claims:
        containerd = built(pytestconfig, claim_assets)["containerd"].parent
    folder, garbage = tmp_path_factory.mktemp("node"), tier.collects_garbage
    with (
        ended_by_sigterm(),
        Node(folder, collects_garbage=garbage, containerd=containerd) as running,
    ):
        yield running


@contextmanager
def _namespaces(node: Node) -> Iterator[NamespaceFactory]:
    make = fixtures.NamespaceFactory(node.control_plane)
    yield lambda profile, labels=None: Namespace(node, make(profile, labels))
    for name in make.made:
        Namespace(node, name).remove()


@pytest.fixture
def namespace(node: Node) -> Iterator[NamespaceFactory]:
    """Give a function that creates a namespace, which ends with the test."""
    with _namespaces(node) as create:
        yield create


@pytest.fixture(scope="module")
def lasting_namespace(node: Node) -> Iterator[NamespaceFactory]:
    """Give a function that creates a namespace, which ends with the module."""
    with _namespaces(node) as create:
        yield create


@pytest.fixture(scope="session")
def webhook(
    node: Node, tier: Tier, webhook_command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    """Run the real server for all tests, registered, with the privileges of its own account."""
    plane, folder = node.control_plane, tmp_path_factory.mktemp("webhook")
    file = None if tier.as_objects else folder / "profiles.yaml"
    if file is None:
        node.api.ensure(definition())
        apply_profiles(plane, tier.profiles)
    else:
        file.write_text(tier.profiles)
    with Webhook(plane, folder, file, webhook_command) as running:
        yield running


@pytest.fixture(scope="session")
def controller_process(
    node: Node, webhook_command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    """Run the real controller for all tests, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("controller")
    with Controller(node.control_plane, folder, webhook_command, ACCOUNT[0]) as running:
        yield running


@pytest.fixture
def controller(controller_process: Controller) -> Controller:
    """Give the controller as leader, also after a test that stopped it."""
    if not controller_process.is_running():
        controller_process.start()
    controller_process.wait_until_leading(120)
    return controller_process


@pytest.fixture(scope="session")
def bring_torch(pytestconfig: pytest.Config) -> BringTorch:
    """Give a function that brings torch to a node once; skip where it cannot be had."""
    brought: set[tuple[Containerd, str]] = set()

    def bring(containerd: Containerd, version: str) -> str:
        name = f"fabric-injector.test/torch:{version}"
        if (containerd, name) not in brought:
            try:
                containerd.import_images(built(pytestconfig, torch_archive, name, version))
            except NoWheel as problem:
                pytest.skip(str(problem))
            brought.add((containerd, name))
        return name

    return bring
