"""What the dry run works out by itself is what the cluster answers to ``dry-run --server``, for every kind of workload."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from tests.cluster.client import Client
from tests.cluster.controlplane import ControlPlane
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.objects import made, without_token
from tests.cluster.webhook import Webhook
from tests.dry_run.templates.test_kinds import SHOWN
from tests.dry_run.templates.test_pods import CASES
from tests.pods import FIXTURES, is_within
from tests.profiles import as_text
from webhook.cli.server_side import ask_server
from webhook.core.profiles import parse_profiles
from webhook.core.yaml_reader import Document
from webhook.dry_run import judge
from webhook.dry_run.templates import find_templates, parse_documents
from webhook.kube.connection import Connection
from webhook.world.cluster import Cluster

PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
""")
MANIFESTS: dict[str, Any] = {
    **{name: manifest for name, (manifest, _) in CASES.items()},
    **{name: manifest for name, (manifest, _) in SHOWN.items()},
    **{
        path.stem: parse_documents(
            path.read_text().replace("networks: roce-net", "networks: default/rdma-net")
        )[0].value
        for path in sorted(FIXTURES.glob("torchx/*.yaml"))
    },
}


@pytest.fixture(scope="module")
def connection(control_plane: ControlPlane) -> Iterator[Connection]:
    with control_plane.connection(control_plane.token) as connection:
        yield connection


@pytest.fixture(scope="module")
def research(namespace: NamespaceFactory, webhook: Webhook, api: Client) -> str:
    """Give a labelled namespace, with the account and the priority that a fixture names; the webhook runs."""
    api.ensure(made("scheduling.k8s.io/v1 PriorityClass", "high-prio", value=0))
    name = namespace("shared")
    api.ensure(made("v1 ServiceAccount", "trainer-sa"), name)
    return name


def placed(value: Any, namespace: str) -> Any:
    """Return the manifest with every object in the namespace, whatever it names itself."""
    if isinstance(value, dict):
        found = {key: placed(item, namespace) for key, item in value.items()}
        if "apiVersion" in value and isinstance(value.get("metadata"), dict):
            found["metadata"]["namespace"] = namespace
        return found
    return [placed(item, namespace) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize("name", MANIFESTS)
def test_works_out_what_the_cluster_answers(
    name: str, research: str, connection: Connection
) -> None:
    templates = find_templates([Document(placed(MANIFESTS[name], research))])
    expected = judge(
        templates,
        profile=None,
        profiles=parse_profiles(PROFILES),
        world=Cluster(connection, lookup_seconds=10.0),
    )
    answered = ask_server(connection, templates)
    assert [(pod.allowed, pod.message) for pod in answered.pods] == [
        (True, "") for _ in expected.pods
    ]
    for ours, theirs in zip(expected.pods, answered.pods, strict=True):
        assert is_within(without_token(ours.after["spec"]), without_token(theirs.after["spec"]))
        for part in ("labels", "annotations"):
            told = theirs.after["metadata"].get(part) or {}
            assert told == (ours.after["metadata"].get(part) or {})
        assert (theirs.job, theirs.rendezvous) == (ours.job, ours.rendezvous)
        assert set(ours.warnings) <= set(theirs.warnings)
