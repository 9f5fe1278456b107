"""Fixtures for tests against a real API server.

    def test_pod(api, namespace, webhook):
        assert api.create(pod, namespace("rdma-shared")).status == 201

`webhook` serves the module's PROFILES, else those of jobs.py. A folder or module that overrides
`control_plane` has all else on its own.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.apiserver.audit import Audit
from tests.apiserver.installation import Installation, own_address
from tests.cluster import jobs
from tests.cluster.assets import assets, definitions
from tests.cluster.client import Client
from tests.cluster.controller import ACCOUNT, Controller
from tests.cluster.controlplane import ACCESS, BASE, ROUTED, ControlPlane
from tests.cluster.fixtures import (
    NamespaceFactory,
    built,
    needed,
)
from tests.cluster.objects import made
from tests.cluster.webhook import Webhook
from tests.profiles import as_text
from tests.tiers import mark_tier
from tests.waiting import wait_until
from tests.worlds import network
from webhook.core.profiles import parse_profiles

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
def programs(pytestconfig: pytest.Config) -> None:
    """Have the programs of a control plane at hand."""
    built(pytestconfig, assets)


@pytest.fixture(scope="session")
def control_plane(
    programs: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ControlPlane]:
    """Run etcd and kube-apiserver for all tests."""
    with ControlPlane(tmp_path_factory.mktemp("control-plane")) as running:
        yield running


@pytest.fixture(scope="session")
def api(control_plane: ControlPlane) -> Client:
    """Give the administrator's client."""
    return control_plane.api


@pytest.fixture(scope="session")
def namespace(control_plane: ControlPlane) -> NamespaceFactory:
    """Give what creates namespaces; they stay until the end."""
    return NamespaceFactory(control_plane)


@pytest.fixture(scope="module")
def audit(tmp_path_factory: pytest.TempPathFactory) -> Audit:
    """Give the audit log of `plane`."""
    return Audit(tmp_path_factory.mktemp("audit"))


@pytest.fixture(scope="module")
def plane(
    request: pytest.FixtureRequest,
    programs: None,
    audit: Audit,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[ControlPlane]:
    """Run a control plane of the module's own, with its FLAGS, for what changes it."""
    flags = (*getattr(request.module, "FLAGS", ()), *audit.flags)
    with ControlPlane(tmp_path_factory.mktemp("plane"), *flags) as running:
        yield running


@pytest.fixture(scope="session")
def installed(control_plane: ControlPlane) -> ControlPlane:
    """Install the shipped accounts, privileges and policies, and wait until they count."""
    control_plane.kubectl("apply", *(f"--filename={BASE / file}.yaml" for file in ACCESS))
    client = control_plane.client(control_plane.service_account_token(*ACCOUNT))
    lease = made("coordination.k8s.io/v1 Lease", "probe")
    refused = "may create no Lease but fabric-injector"
    wait_until(
        lambda: refused in client.create(lease, ACCOUNT[0], dry_run=True).message,
        "the API server to enforce the admission policies",
    )
    return control_plane


@pytest.fixture(scope="module")
def controller_manager(control_plane: ControlPlane) -> Iterator[ControlPlane]:
    """Run kube-controller-manager for the tests of one module."""
    control_plane.start_controller_manager()
    yield control_plane
    control_plane.stop("kube-controller-manager")


@pytest.fixture(scope="module")
def webhook(
    request: pytest.FixtureRequest,
    control_plane: ControlPlane,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Webhook]:
    """Run the real server for one module, with its PROFILES, and make the networks of those."""
    folder = tmp_path_factory.mktemp("webhook")
    profiles = folder / "profiles.yaml"
    profiles.write_text(getattr(request.module, "PROFILES", jobs.PROFILES))
    for profile in parse_profiles(profiles.read_text()).profiles.values():
        for each in profile.networks:
            resource = "" if each.resources else f"nvidia.com/{each.network.name}"
            name = f"{each.network.namespace}/{each.network.name}"
            control_plane.api.ensure(network(name, resource))
    with Webhook(control_plane, folder, profiles) as running:
        yield running


@pytest.fixture(scope="module")
def controller(
    control_plane: ControlPlane,
    namespace: NamespaceFactory,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Controller]:
    """Run a controller that leads; at the end nothing of it was refused, and it failed nowhere."""
    folder = tmp_path_factory.mktemp("controller")
    with Controller(control_plane, folder, namespace()) as running:
        running.wait_until_leading()
        yield running
        refused = running.metric("fabric_injector_addresses_published_total", result="refused")
        assert refused == 0, "the shipped privileges and policies are enough"
    assert "Traceback" not in running.log.read_text()


@pytest.fixture(scope="session")
def address() -> str:
    """Give an address of this machine that an endpoint may have."""
    return own_address()


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
def installation(cluster: ControlPlane, tmp_path: Path) -> Iterator[Installation]:
    """What is to run on the second cluster; nothing of it runs yet."""
    with Installation(cluster, tmp_path, PROFILES) as running:
        yield running
