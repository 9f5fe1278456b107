"""Fixtures for tests against a real API server.

    def test_pod(api, namespace, webhook):
        name = namespace({"fabric-injector.io/profile": "rdma-shared"})
        assert api.create(pod, name).status == 201

A module chooses its own profiles, or another server, by overriding `webhook_profiles` or `webhook_command`.
"""

import json
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn, Protocol
from uuid import uuid4

import pytest

from tests.cluster.assets import AssetsUnavailable, assets, binary
from tests.cluster.audit import Audit
from tests.cluster.client import Client
from tests.cluster.controller import Controller, leading_controller
from tests.cluster.controlplane import ACCESS, ControlPlane
from tests.cluster.crds import crd_files
from tests.cluster.installation import ROUTED, Installation, own_address
from tests.cluster.webhook import Webhook, installed_command
from tests.tiers import mark_tier
from tests.waiting import wait_until

FOLDER = Path(__file__).parent
CONTROLLER = ("fabric-injector", "fabric-injector-controller")
NETWORK = {
    "apiVersion": "k8s.cni.cncf.io/v1",
    "kind": "NetworkAttachmentDefinition",
    "metadata": {"name": "rdma-net-ipam", "namespace": "default"},
    "spec": {
        "config": json.dumps({"cniVersion": "1.0.0", "type": "macvlan", "ipam": {"type": "static"}})
    },
}
PROFILES = """\
profiles:
  rdma-shared:
    networks:
      - network: default/rdma-net-ipam
        resource: rdma/rdma_shared_device_a
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "apiserver")


class NamespaceFactory(Protocol):
    """Creates a namespace with the labels, and its ServiceAccount; gives its name."""

    def __call__(self, labels: dict[str, str] | None = None, name: str | None = None) -> str:
        """Create it; without a name, under a new one."""


def program(name: str) -> Path:
    """Give the path of what is built from Go modules; where that cannot be, skip with the reason, under CI=true fail."""
    try:
        return binary(name)
    except AssetsUnavailable as problem:
        unavailable(str(problem))


@pytest.fixture(scope="session")
def programs(pytestconfig: pytest.Config) -> None:
    """Have the programs of a control plane at hand; without them skip with the reason, under CI=true fail."""
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    try:
        if capture is None:
            assets()
        else:
            with capture.global_and_fixture_disabled():
                assets()
    except AssetsUnavailable as problem:
        unavailable(str(problem))


@pytest.fixture(scope="session")
def control_plane(
    programs: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run etcd and kube-apiserver for all tests."""
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        with ControlPlane(tmp_path_factory.mktemp("control-plane")) as running:
            yield running
    finally:
        signal.signal(signal.SIGTERM, before)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Give the audit log of a control plane of the module's own, which is to start with its flags."""
    try:
        assets()
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="session")
def cluster(programs: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """A second cluster, for what is installed whole; namespaces `labelled` and `unlabelled`, and the profiles' network."""
    with ControlPlane(tmp_path_factory.mktemp("cluster"), ROUTED) as running:
        running.create_namespace("labelled", {"fabric-injector.io/profile": "rdma-shared"})
        running.create_namespace("unlabelled")
        running.api.ensure(NETWORK)
        yield running


@pytest.fixture(scope="module")
def extended(cluster: ControlPlane) -> ControlPlane:
    """The cluster with the kinds of cert-manager and of Prometheus' operator."""
    try:
        files = list(crd_files())
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    cluster.kubectl("apply", "--server-side", *(f"--filename={file}" for file in files))
    cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s")
    return cluster


@pytest.fixture
def installation(
    cluster: ControlPlane, webhook_command: list[str], tmp_path: Path
) -> Iterator[Installation]:
    """What is to run on the second cluster; nothing of it runs yet."""
    try:
        own_address()
    except OSError as error:
        unavailable(f"this machine has no address that an endpoint may have: {error}")
    with Installation(cluster, tmp_path, webhook_command, PROFILES) as running:
        yield running


@pytest.fixture(scope="session")
def namespace(control_plane: ControlPlane) -> NamespaceFactory:
    """Give a function that creates a namespace, with labels and a ServiceAccount; it stays until the end."""

    def create(labels: dict[str, str] | None = None, name: str | None = None) -> str:
        return control_plane.create_namespace(name or f"test-{uuid4().hex[:8]}", labels)

    return create


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Client:
    """Give the administrator's client."""
    return control_plane.api


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> ControlPlane:
    """Install the shipped accounts, privileges and policies, and wait until the API server enforces them."""
    control_plane.kubectl("apply", *(f"--filename={file}" for file in ACCESS))
    client = control_plane.client(control_plane.service_account_token(*CONTROLLER))
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "probe"}}
    refused = "may create no Lease but fabric-injector"
    wait_until(
        lambda: refused in client.create(lease, CONTROLLER[0], dry_run=True).message,
        "the API server to enforce the admission policies",
        30,
    )
    return control_plane


@pytest.fixture(scope="module")
def controller_manager(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Run kube-controller-manager for the tests of one module."""
    try:
        control_plane.start_controller_manager()
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    yield control_plane
    control_plane.stop_controller_manager()


@pytest.fixture(scope="module")
def webhook_profiles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give the profiles file that `webhook` serves."""
    path = tmp_path_factory.mktemp("profiles") / "profiles.yaml"
    path.write_text(PROFILES)
    return path


@pytest.fixture(scope="module")
def webhook_command() -> list[str]:
    """Give the command that `webhook` starts, to which `serve` and its options are added."""
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    return command


@pytest.fixture(scope="module")
def webhook(
    control_plane: ControlPlane,
    webhook_profiles: Path,
    webhook_command: list[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Webhook]:
    """Run the real server for the tests of one module, registered, with the privileges of its own account."""
    with Webhook(
        control_plane, tmp_path_factory.mktemp("webhook"), webhook_profiles, webhook_command
    ) as running:
        yield running


@pytest.fixture(scope="module")
def controller(
    control_plane: ControlPlane,
    webhook_command: list[str],
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Controller]:
    """Run a controller that leads, for the tests of one module."""
    with leading_controller(
        control_plane, tmp_path_factory.mktemp("controller"), webhook_command, namespace()
    ) as running:
        yield running


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where nothing may go untested."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
