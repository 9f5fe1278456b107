"""The node with operators on it, and the fixtures by which tests have them installed."""

from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster.fixtures import built
from tests.cluster.node.fixtures import BringTorch
from tests.cluster.node.node import Node
from tests.cluster.webhook import Webhook

from .builds import built as built_operator
from .install import Installer
from .programs import Operator
from .rows import NEWEST

Install = Callable[[Operator], None]
"""Builds and installs an operator unless it is there; skips where it cannot be had."""


class Cluster(NamedTuple):
    """A node with our webhook, and what tests bring there.

    *torch* brings an image with torch, the newest where no version is given, and gives its name.
    """

    node: Node
    profiles: Path
    install: Install
    torch: Callable[..., str]


@pytest.fixture(scope="session")
def install(
    pytestconfig: pytest.Config, node: Node, tmp_path_factory: pytest.TempPathFactory
) -> Install:
    """Give a function that installs an operator."""
    installer = Installer(node, tmp_path_factory.mktemp("operators"))

    def do(operator: Operator) -> None:
        built(pytestconfig, built_operator, operator)
        installer.install(operator)

    return do


@pytest.fixture(scope="session")
def cluster(node: Node, webhook: Webhook, install: Install, bring_torch: BringTorch) -> Cluster:
    """Give the cluster."""
    assert webhook.profiles is not None

    def torch(version: str = NEWEST) -> str:
        return bring_torch(node.containerd, version)

    return Cluster(node, webhook.profiles, install, torch)
