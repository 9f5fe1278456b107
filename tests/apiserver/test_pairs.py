"""Jobs whose templates differ and jobs on one node: their pods, created through the API server."""

import pytest

from tests.cluster.client import Client
from tests.cluster.fixtures import NamespaceFactory
from tests.cluster.webhook import Webhook
from tests.core.test_jobs import judge
from tests.core.workloads.pairs import ONE_AND_TWO, draw
from tests.profiles import as_text
from webhook.core import names
from webhook.core.model import Object

PROFILES = as_text("""
shared:
  networks: [{network: default/rdma-net, resource: rdma/hca}]
  sharedMemory: {sizeLimit: 16Gi}
""")
DRAWN = draw()


def admitted(api: Client, manifest: Object, namespace: str) -> list[Object]:
    """Return the job's pods as the API server would store them."""
    found = []
    for pod in judge(manifest):
        metadata = pod.before["metadata"] | {"namespace": namespace}
        sent = pod.before | {"apiVersion": "v1", "kind": "Pod", "metadata": metadata}
        answer = api.create(sent, namespace, dry_run=True)
        assert answer.status == 201, answer.message
        found.append(answer.json)
    return found


def gained(pod: Object) -> tuple[object, ...]:
    """Return what pods of one job must have alike: networks, devices, and whether they are ours."""
    annotations = pod["metadata"].get("annotations", {})
    devices = [
        container.get("resources", {}).get("limits", {}).get("rdma/hca")
        for container in pod["spec"]["containers"]
    ]
    return annotations.get(names.NETWORKS), max(filter(None, devices), default=None)


@pytest.mark.parametrize("name", DRAWN)
def test_templates_that_differ_get_the_same(
    name: str, api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    found = {gained(pod) for pod in admitted(api, DRAWN[name], namespace("shared"))}
    assert len(found) == 1
    assert None not in found.pop()


@pytest.mark.parametrize("name", ONE_AND_TWO)
def test_a_job_on_one_node_keeps_what_it_is(
    name: str, api: Client, namespace: NamespaceFactory, webhook: Webhook
) -> None:
    where = namespace("shared")
    one, two = (admitted(api, manifest, where) for manifest in ONE_AND_TWO[name])
    assert {gained(pod) for pod in one} == {(None, None)}
    assert not any("initContainers" in pod["spec"] for pod in one)
    assert all(None not in gained(pod) for pod in two)
