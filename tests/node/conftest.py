"""Fixtures for tests with pods that run.

def test_pod(api, namespace, webhook, controller):
    name = namespace("rdma-shared")
    ...
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn, Protocol
from uuid import uuid4

import pytest

from tests.cluster.assets import AssetsUnavailable, assets, claim_assets, node_assets
from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.node.node import Node
from tests.cluster.node.requirements import not_possible
from tests.cluster.webhook import Webhook, installed_command
from tests.installed import not_installed
from tests.tiers import mark_tier
from webhook.core.names import PROFILE

FOLDER = Path(__file__).parent
PROFILES = """\
profiles:
  rdma-shared:
    networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
    sharedMemory: {sizeLimit: 192Mi, limitExisting: true}
  ipv6:
    networks: [{network: default/rdma-net-v6, resource: rdma/rdma_shared_device_a}]
    rendezvous: {ipFamily: IPv6}
  unprivileged:
    networks: [{network: default/rdma-net}]
    podSecurity: skip
  nccl-conf:
    networks: [{network: default/rdma-net}]
    env: {NCCL_CROSS_NIC: "1"}
    ncclConf: true
  no-shell:
    networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
    rendezvous: {waitImage: installed}
  greedy:
    networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a, count: 101}]
  nvidia-hostdevice:
    networks: [{network: default/example-hostdevice-network}]
  impatient:
    networks: [{network: default/rdma-net}]
    rendezvous: {timeout: 5s}
"""
ALLOWED = """\
allowed:
  hostPaths: [/var/lib/fabric/]
  sidecarImages: [fabric-injector.test/trainer]
"""
"""What profiles may give besides networks; a Configuration, which is no object of the API."""
BEYOND_NETWORKS = """\
  all-parts:
    networks: [{network: default/rdma-net}]
    quantities:
      - {resource: rdma/rdma_shared_device_a, perAccelerator: 2}
      - {resource: vpc.amazonaws.com/efa, byNodeType: {test.small: 1, test.large: 4}}
    volumes:
      - {name: driver, hostPath: {path: /var/lib/fabric/driver, type: Directory}}
      - {name: daemon, emptyDir: {medium: Memory, sizeLimit: 16Mi}}
      - {name: topology, configMap: {name: topology}}
    mounts:
      - {name: driver, mountPath: /usr/local/fabric, readOnly: true}
      - {name: daemon, mountPath: /run/fabric}
      - {name: topology, mountPath: /usr/local/topology.xml, subPath: topology.xml}
    sidecars:
      - name: fabric-daemon
        image: fabric-injector.test/trainer:dash
        command: [sh, -c]
        args: ['trap "exit 0" TERM; V=$(cat /driver/version); echo "$V, port $PORT" > /run/fabric/daemon; sleep infinity & wait']
        env: {PORT: "18515"}
        mounts: [{name: driver, mountPath: /driver, readOnly: true}, {name: daemon, mountPath: /run/fabric}]
        resources: {cpu: 50m, memory: 32Mi}
    tolerations: [{key: fabric-injector.test/reserved, value: training, effect: NoSchedule}]
    deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
  rails:
    networks: [{network: default/rail-0}, {network: default/rail-1}]
    deviceVariables: [NCCL_IB_HCA, UCX_NET_DEVICES]
  pod-network:
    networks: [{network: default/rdma-net, resource: rdma/rdma_shared_device_a}]
    resources: {vpc.amazonaws.com/efa: 4}
    sharedMemory: {sizeLimit: 192Mi}
    env: {NCCL_SOCKET_IFNAME: "^lo,docker,pod-id-link"}
    rendezvous: {addressSource: none}
  gke-one-card:
    annotations:
      networking.gke.io/default-interface: eth0
      networking.gke.io/interfaces: '[{"interfaceName":"eth0","network":"default"},{"interfaceName":"eth1","network":"rdma-0"}]'
    resources: {networking.gke.io.networks/rdma-0: 1}
    rendezvous: {addressSource: gke, network: rdma-0}
"""
"""More profiles, of which one needs what ALLOWED allows."""
SHARED_MEMORY_BYTES = 192 << 20

Figures = list[str]
"""Lines that are printed after the tests."""
FIGURES = pytest.StashKey[Figures]()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder."""
    mark_tier(items, FOLDER, "node")


@pytest.fixture(scope="session")
def node(pytestconfig: pytest.Config, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Node]:
    """Run the cluster for all tests; skip where this machine cannot, with the reason."""
    with start_node(pytestconfig, tmp_path_factory) as running:
        yield running


@contextmanager
def start_node(
    pytestconfig: pytest.Config,
    tmp_path_factory: pytest.TempPathFactory,
    target: str = "test-node",
) -> Iterator[Node]:
    """Run a cluster for this target of make; skip where this machine cannot, with the reason."""
    if reason := not_possible(tmp_path_factory.mktemp("try") / "overlay"):
        pytest.skip(reason)
    if reason := not_installed(target):
        unavailable(reason)
    capture = pytestconfig.pluginmanager.getplugin("capturemanager")
    assert capture is not None
    containerd = None
    try:
        with capture.global_and_fixture_disabled():
            assets()
            node_assets()
            if target == "dra":
                containerd = claim_assets()["containerd"].parent
    except AssetsUnavailable as problem:
        unavailable(str(problem))
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        folder = tmp_path_factory.mktemp("node")
        with Node(folder, runs_operators=target == "operators", containerd=containerd) as running:
            yield running
    finally:
        signal.signal(signal.SIGTERM, before)


def unavailable(reason: str) -> NoReturn:
    """Skip with the reason, but fail under CI=true, where what can be installed must be."""
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture(scope="session")
def api(node: Node) -> Client:
    """Give the administrator's client."""
    return node.api


@pytest.fixture(scope="session")
def figures(pytestconfig: pytest.Config) -> Figures:
    """Give the lines that are printed after the tests, for those who compare runs."""
    return pytestconfig.stash.setdefault(FIGURES, [])


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    """Print the figures."""
    if lines := config.stash.get(FIGURES, []):
        terminalreporter.section("node")
        for line in lines:
            terminalreporter.write_line(line)


class NamespaceFactory(Protocol):
    """Creates a namespace of the profile, or of none, with more labels; gives its name."""

    def __call__(self, profile: str | None, labels: dict[str, str] | None = None) -> str:
        """Create it."""


@pytest.fixture
def namespace(node: Node) -> Iterator[NamespaceFactory]:
    """Give a function that creates a namespace, whose pods end with the test."""
    made: list[str] = []

    def create(profile: str | None, labels: dict[str, str] | None = None) -> str:
        own = {} if profile is None else {PROFILE: profile}
        made.append(
            node.control_plane.create_namespace(f"test-{uuid4().hex[:8]}", own | (labels or {}))
        )
        return made[-1]

    yield create
    for name in made:
        node.end_pods(name)


@pytest.fixture(scope="session")
def webhook(node: Node, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Webhook]:
    """Run the real server for all tests, registered, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("webhook")
    (folder / "profiles.yaml").write_text(ALLOWED + PROFILES + BEYOND_NETWORKS)
    with Webhook(node.control_plane, folder, folder / "profiles.yaml", _command()) as running:
        yield running


@pytest.fixture(scope="session")
def controller_process(
    node: Node, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Controller]:
    """Run the real controller for all tests, with the privileges of its own account."""
    folder = tmp_path_factory.mktemp("controller")
    with Controller(node.control_plane, folder, _command(), ACCOUNT[0]) as running:
        yield running


@pytest.fixture
def controller(controller_process: Controller) -> Controller:
    """Give the controller as leader, also after a test that stopped it."""
    if not controller_process.is_running():
        controller_process.start()
    controller_process.wait_until_leading()
    return controller_process


def _command() -> list[str]:
    command = installed_command()
    if command is None:
        unavailable("fabric-injector is not installed in this Python environment")
    return command
