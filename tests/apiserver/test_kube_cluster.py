"""The cluster as the webhook sees it, from a real API server with the webhook's own privileges.

The API server forgets its history within seconds here, and a relay between the two can be cut.
"""

import json
import time
from collections.abc import Iterator

import pytest

from tests.cluster.controlplane import ControlPlane
from tests.cluster.relay import Relay
from tests.waiting import wait_until
from webhook.cli.kubeconfig import connect
from webhook.core import names
from webhook.kube import informer
from webhook.kube.connection import Connection
from webhook.world.cluster import Cluster
from webhook.world.lookup import NotCached

COMPACTION_SECONDS = 1
FLAGS = (f"--etcd-compaction-interval={COMPACTION_SECONDS}s", "--watch-cache=false")
CONFIG = json.dumps({"type": "macvlan", "ipam": {"type": "whereabouts", "range": "192.168.1.0/24"}})
ACCOUNT = ("fabric-injector", "fabric-injector-webhook")


@pytest.fixture(scope="module")
def relay(plane: ControlPlane) -> Iterator[Relay]:
    relay = Relay(int(plane.url.rsplit(":", 1)[1]))
    yield relay
    relay.close()


@pytest.fixture(scope="module")
def connection(plane: ControlPlane, relay: Relay) -> Iterator[Connection]:
    plane.ensure_shipped("namespace", "rbac-webhook")
    path = plane.kubeconfig(
        plane.folder / "webhook.kubeconfig", plane.service_account_token(*ACCOUNT)
    )
    path.write_text(path.read_text().replace(plane.url, f"https://127.0.0.1:{relay.port}"))
    connection = connect({"KUBECONFIG": str(path)})
    yield connection
    connection.close()


@pytest.fixture
def cluster(connection: Connection, monkeypatch: pytest.MonkeyPatch) -> Iterator[Cluster]:
    monkeypatch.setattr(informer, "MOST_BACKOFF_SECONDS", 0.5)
    cluster = Cluster(connection)
    cluster.start()
    wait_until(lambda: not any(cluster.checks().values()), "readiness")
    yield cluster
    cluster.stop()


@pytest.fixture
def space(plane: ControlPlane, request: pytest.FixtureRequest) -> str:
    """A namespace of the test's own."""
    return plane.create_namespace(request.node.name.replace("_", "-")[:63].strip("-"))


def put_network(
    plane: ControlPlane, namespace: str, name: str, resource: str = "nvidia.com/hostdev"
) -> None:
    metadata = {"name": name, "annotations": {names.RESOURCE_NAME: resource}}
    manifest = {
        "apiVersion": "k8s.cni.cncf.io/v1",
        "kind": "NetworkAttachmentDefinition",
        "metadata": metadata,
    }
    path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions"
    plane.api.expect("POST", path, {**manifest, "spec": {"config": CONFIG}})


def delete_network(plane: ControlPlane, namespace: str, name: str) -> None:
    path = f"/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions/{name}"
    plane.api.expect("DELETE", path)


def watches(cluster: Cluster, namespace: str, name: str) -> bool:
    """Tell whether a watch has brought the network, which nothing asks for."""
    try:
        return cluster.cached.network(namespace, name) is not None
    except NotCached:
        return False


def forget(plane: ControlPlane) -> None:
    """Wait until the API server has forgotten all that happened before."""
    for _ in range(3):
        plane.api.expect(
            "PATCH",
            "/api/v1/namespaces/default",
            {"metadata": {"labels": {"tick": str(time.time_ns())}}},
        )
        time.sleep(COMPACTION_SECONDS)


def test_sees_what_was_deleted_in_a_time_that_is_forgotten(
    plane: ControlPlane,
    cluster: Cluster,
    relay: Relay,
    space: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    put_network(plane, space, "goes")
    put_network(plane, space, "changes")
    wait_until(lambda: watches(cluster, space, "changes"), "all")
    relay.cut()
    delete_network(plane, space, "goes")
    put_network(plane, space, "new")
    delete_network(plane, space, "changes")
    put_network(plane, space, "changes", "nvidia.com/other")
    forget(plane)
    relay.mend()
    wait_until(lambda: watches(cluster, space, "new"), "the new network")
    assert not watches(cluster, space, "goes")
    changed = cluster.network(space, "changes")
    assert changed
    assert changed.resources == ("nvidia.com/other",)
    assert " 410: " in caplog.text
