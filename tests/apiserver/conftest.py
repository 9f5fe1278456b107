# ruff: noqa: F401, F811 fixtures are imported by name
"""Fixtures for tests against a real API server; tests/cluster/fixtures.py has those of all tiers."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.assets import definitions
from tests.cluster.controlplane import ROUTED, ControlPlane
from tests.cluster.fixtures import (
    NamespaceFactory,
    api,
    audit,
    control_plane,
    controller,
    controller_manager,
    installed,
    namespace,
    needed,
    plane,
    programs,
    unavailable,
    webhook,
    webhook_command,
    webhook_profiles,
)
from tests.cluster.installation import Installation, own_address
from tests.profiles import as_text
from tests.tiers import mark_tier

FOLDER = Path(__file__).parent
LONG = ("test_chart", "test_controller", "test_docs_commands", "test_users")
NETWORK = {
    "apiVersion": "k8s.cni.cncf.io/v1",
    "kind": "NetworkAttachmentDefinition",
    "metadata": {"name": "rdma-net-ipam", "namespace": "default"},
    "spec": {
        "config": json.dumps({"cniVersion": "1.0.0", "type": "macvlan", "ipam": {"type": "static"}})
    },
}
PROFILES = as_text("""
rdma-shared:
  networks:
    - network: default/rdma-net-ipam
      resource: rdma/rdma_shared_device_a
""")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, and let the longest modules begin first: a worker runs all of one."""
    mark_tier(items, FOLDER, "apiserver", 900)
    items.sort(key=lambda item: item.path.is_relative_to(FOLDER) and item.path.stem not in LONG)


@pytest.fixture(scope="session")
def address() -> str:
    """Give an address of this machine that an endpoint may have."""
    try:
        return own_address()
    except OSError as error:
        unavailable(f"this machine has no address that an endpoint may have: {error}")


@pytest.fixture(scope="session")
def cluster(
    address: str, programs: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """A second cluster, for what is installed whole; namespaces `labelled` and `unlabelled`, and the profiles' network."""
    with ControlPlane(tmp_path_factory.mktemp("cluster"), ROUTED) as running:
        running.create_namespace("labelled", {"fabric-injector.io/profile": "rdma-shared"})
        running.create_namespace("unlabelled")
        running.api.ensure(NETWORK)
        yield running


@pytest.fixture(scope="module")
def extended(cluster: ControlPlane) -> ControlPlane:
    """The cluster with the kinds of cert-manager and of Prometheus' operator."""
    files = needed(definitions)
    cluster.kubectl("apply", "--server-side", *(f"--filename={file}" for file in files))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return cluster


@pytest.fixture
def installation(
    cluster: ControlPlane, webhook_command: list[str], tmp_path: Path
) -> Iterator[Installation]:
    """What is to run on the second cluster; nothing of it runs yet."""
    with Installation(cluster, tmp_path, webhook_command, PROFILES) as running:
        yield running
