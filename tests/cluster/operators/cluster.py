"""The node with operators on it, and the fixtures by which tests have them installed."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.cluster.assets import operator_programs
from tests.cluster.fixtures import built
from tests.cluster.node.fixtures import BringTorch
from tests.cluster.node.node import Node
from tests.cluster.webhook import Webhook

from . import install as installing

Install = Callable[[str], None]
"""Builds and installs an operator of programs.yaml unless it is there; skips where it cannot."""


class Cluster(NamedTuple):
    """A node with our webhook, and what tests bring there."""

    node: Node
    profiles: Path
    install: Install
    torch: BringTorch


@pytest.fixture(scope="session")
def install(pytestconfig: pytest.Config, node: Node) -> Install:
    """Give a function that installs an operator."""

    @functools.cache
    def do(name: str) -> None:
        built(pytestconfig, operator_programs, name)
        installing.install(node, name)

    return do


@pytest.fixture(scope="session")
def cluster(node: Node, webhook: Webhook, install: Install, bring_torch: BringTorch) -> Cluster:
    """Give the cluster."""
    assert webhook.profiles is not None
    return Cluster(node, webhook.profiles, install, bring_torch)
