"""Fixtures of the broken situations: two nodes, webhook and controller with profiles as objects, and Volcano where it is asked for."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.cluster.assets import AssetsUnavailable
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.installation import MANIFESTS
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.operators.builds import built
from tests.cluster.operators.install import Installer
from tests.cluster.operators.programs import VOLCANO
from tests.cluster.webhook import Webhook, installed_command
from tests.node.conftest import start_node, unavailable
from tests.profile_objects import to_objects
from tests.tiers import mark_tier
from tests.waiting import wait_until
from webhook.core.profiles.custom_resource import custom_resource_definition

from .site import Running
from .situations import PROFILES

FOLDER = Path(__file__).parent
SECOND = "node2"
OBJECTS = "/apis/fabric-injector.io/v1alpha1/fabricprofiles"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "broken", 600)


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Run a cluster; skip where this machine cannot, with the reason."""
    with start_node(pytestconfig, tmp_path_factory, "broken") as running:
        yield running


@pytest.fixture(scope="session")
def running(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Run the second node, webhook and controller, with all that is shipped for users' rights."""
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    plane, folder = node.control_plane, tmp_path_factory.mktemp("broken")
    node.api.ensure(custom_resource_definition())
    wait_until(lambda: node.api.answers(OBJECTS), "the CRD to be served", 30)
    for profile in to_objects(PROFILES):
        node.api.ensure(profile)
    plane.ensure_shipped("namespace", "rbac-users")
    viewer = (MANIFESTS / "components/profile-viewer/profile-viewer.yaml").read_text()
    plane.kubectl("apply", "--filename=-", input=viewer)
    with ExitStack() as stack:
        second = stack.enter_context(node.another(SECOND))
        webhook = stack.enter_context(Webhook(plane, folder / "webhook", None, command))
        controller = stack.enter_context(
            Controller(plane, folder / "controller", command, ACCOUNT[0])
        )
        controller.wait_until_leading()
        installer = Installer(node, folder)
        yield Running(
            node,
            {NAME: node.containerd, SECOND: second},
            webhook,
            controller,
            lambda: _install_volcano(installer),
        )


def _install_volcano(installer: Installer) -> None:
    """Install Volcano unless it is there; skip where it cannot be had."""
    try:
        built(VOLCANO)
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    installer.install(VOLCANO)
