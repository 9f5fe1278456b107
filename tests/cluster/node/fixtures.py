"""Fixtures of the tiers whose pods run: a conftest imports what it needs, and says in `tier` which.

def test_pod(namespace, webhook, controller):
    pods = namespace("rdma-shared").start(*jobs.pytorchjob())
    reports = [pod.report() for pod in pods]
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, NoReturn, Protocol
from uuid import uuid4

import pytest

from tests.cluster.assets import AssetsUnavailable, assets, claim_assets, node_assets
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.installation import apply_profiles
from tests.cluster.operators.torch_image import NoWheel
from tests.cluster.webhook import Webhook, installed_command
from tests.installed import not_installed
from webhook.core.names import PROFILE
from webhook.core.profiles.custom_resource import custom_resource_definition

from .namespace import Namespace
from .node import Node
from .requirements import not_possible


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


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where what can be installed must be."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@contextmanager
def building(config: pytest.Config) -> Iterator[None]:
    """Let what is built or downloaded in the block say so; skip with the reason where it cannot be."""
    capture = config.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    try:
        with capture.global_and_fixture_disabled():
            yield
    except NoWheel as problem:
        pytest.skip(str(problem))
    except AssetsUnavailable as problem:
        unavailable(str(problem))


@pytest.fixture(scope="session")
def node(
    pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory, tier: Tier
) -> Iterator[Node]:
    """Run the cluster for all tests; skip where this machine cannot, with the reason."""
    if reason := not_possible(tmp_path_factory.mktemp("try") / "overlay"):
        pytest.skip(reason)
    if reason := not_installed(tier.target):
        unavailable(reason)
    with building(pytestconfig):
        assets()
        node_assets()
        containerd = claim_assets()["containerd"].parent if tier.with_claims else None
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        folder = tmp_path_factory.mktemp("node")
        garbage = tier.collects_garbage
        with Node(folder, collects_garbage=garbage, containerd=containerd) as running:
            yield running
    finally:
        signal.signal(signal.SIGTERM, before)


@contextmanager
def _namespaces(node: Node) -> Iterator[NamespaceFactory]:
    made: list[Namespace] = []

    def create(profile: str | None, labels: dict[str, str] | None = None) -> Namespace:
        own = {} if profile is None else {PROFILE: profile}
        name = f"test-{uuid4().hex[:8]}"
        node.control_plane.create_namespace(name, own | (labels or {}))
        made.append(Namespace(node, name))
        return made[-1]

    yield create
    for each in made:
        each.remove()


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
def command() -> list[str]:
    """Give the command that is installed beside this Python."""
    found = installed_command()
    if found is None:
        unavailable("fabric-injector is not installed in this Python environment")
    return found


@pytest.fixture(scope="session")
def webhook(
    node: Node, tier: Tier, command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Webhook]:
    """Run the real server for all tests, registered, with the privileges of its own account."""
    plane, folder = node.control_plane, tmp_path_factory.mktemp("webhook")
    file = None if tier.as_objects else folder / "profiles.yaml"
    if file is None:
        node.api.ensure(custom_resource_definition())
        apply_profiles(plane, tier.profiles)
    else:
        file.write_text(tier.profiles)
    with Webhook(plane, folder, file, command) as running:
        yield running


@pytest.fixture(scope="session")
def controller_process(
    node: Node, command: list[str], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    """Run the real controller for all tests, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("controller")
    with Controller(node.control_plane, folder, command, ACCOUNT[0]) as running:
        yield running


@pytest.fixture
def controller(controller_process: Controller) -> Controller:
    """Give the controller as leader, also after a test that stopped it."""
    if not controller_process.is_running():
        controller_process.start()
    controller_process.wait_until_leading(120)
    return controller_process
