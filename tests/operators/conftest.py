"""Fixtures for jobs that their own operators run, with torch.

def test_job(cluster, namespace):
    cluster.install(programs.JOBSET)
    job = cluster.submit(manifest, namespace("rdma-shared"))
"""

from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.cluster.controller import Controller
from tests.cluster.node.node import Node
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.figures import Figures
from tests.cluster.operators.recorder import recorder
from tests.cluster.webhook import Webhook, installed_command
from tests.node.conftest import (  # noqa: F401 these fixtures use this folder's node
    NamespaceFactory,
    api,
    controller,
    controller_process,
    start_node,
    unavailable,
)
from tests.tiers import mark_tier
from webhook.core.names import PROFILE

FOLDER = Path(__file__).parent
FIGURES = pytest.StashKey[Figures]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "operators", 1200)


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Run a cluster in which operators run as pods; skip where this machine cannot, with the reason."""
    with start_node(pytestconfig, tmp_path_factory, "operators") as running:
        yield running


@pytest.fixture(scope="session")
def webhook(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """Run the real server for all tests with the profiles of this folder, with the privileges of its own account."""
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    with Webhook(
        node.control_plane, tmp_path_factory.mktemp("webhook"), FOLDER / "profiles.yaml", command
    ) as running:
        yield running


@pytest.fixture(scope="session")
def cluster(
    pytestconfig: pytest.Config,
    node: Node,
    webhook: Webhook,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """Give the cluster with our webhook and a recorder before it."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    with recorder(node.api, tmp_path_factory.mktemp("recorder")) as reviews:
        yield Cluster(
            node, reviews, tmp_path_factory.mktemp("operators"), webhook, capture, unavailable
        )


@pytest.fixture
def namespace(node: Node) -> Iterator[NamespaceFactory]:
    """Give a function that creates a namespace, which ends with the test, jobs and pods with it."""
    made: list[str] = []

    def create(profile: str | None, labels: dict[str, str] | None = None) -> str:
        own = {} if profile is None else {PROFILE: profile}
        made.append(
            node.control_plane.create_namespace(f"test-{uuid4().hex[:8]}", own | (labels or {}))
        )
        return made[-1]

    yield create
    for name in made:
        node.api.request("DELETE", f"/api/v1/namespaces/{name}")
        node.end_pods(name)


@pytest.fixture(autouse=True)
def _controller(controller: Controller) -> None:  # noqa: F811
    """Run our controller for every test."""


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    """Give the lines that are printed after the tests."""
    return pytestconfig.stash.setdefault(FIGURES, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures."""
    if lines := config.stash.get(FIGURES, []):
        terminalreporter.section("operators")
        for line in lines:
            terminalreporter.write_line(line)
