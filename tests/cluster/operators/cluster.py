"""The node with operators on it, and the fixtures by which tests have them installed."""

from collections.abc import Callable, Iterator
from functools import partial
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
from .recorder import Reviews, recorder
from .rows import NEWEST

Install = Callable[[Operator], None]
"""Builds and installs an operator unless it is there; skips where it cannot be had."""


class Cluster(NamedTuple):
    """A node with our webhook and a recorder before it, and what tests bring there.

    *reviews* are of all pods so far; *torch* brings an image with torch, the newest where no
    version is given, and gives its name.
    """

    node: Node
    reviews: Reviews
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
def cluster(
    node: Node,
    webhook: Webhook,
    install: Install,
    bring_torch: BringTorch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Cluster]:
    """Give the cluster."""
    assert webhook.profiles is not None
    torch = partial(_torch, bring_torch, node)
    with recorder(node.api, tmp_path_factory.mktemp("recorder")) as reviews:
        yield Cluster(node, reviews, webhook.profiles, install, torch)


def _torch(bring_torch: BringTorch, node: Node, version: str = NEWEST) -> str:
    return bring_torch(node.containerd, version)
