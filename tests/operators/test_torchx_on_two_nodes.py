"""A job of `torchx run` whose ranks Volcano's scheduler puts on two nodes, with Volcano's own webhooks called before or after ours."""

import re
from collections.abc import Iterator

import pytest

from tests.cluster.node.kubelet import NAME
from tests.cluster.operators import programs, torchx
from tests.cluster.operators.cluster import NEWEST, Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.figures import Figures
from tests.cluster.operators.manifests import container, volcano_job
from tests.cluster.operators.volcano_pods import NAME as BEFORE_OURS
from tests.cluster.operators.volcano_pods import POOL, TOLERATION, grouping
from tests.node.conftest import NamespaceFactory
from tests.waiting import wait_until
from webhook.core import names

SECOND = "volcano-node2"
AFTER_OURS = "zzz-volcano-pods-mutate"
SECONDS = 120
CALLS = "apiserver_admission_webhook_admission_duration_seconds_count"


@pytest.fixture(scope="module", autouse=True)
def _second_node(cluster: Cluster) -> Iterator[None]:
    """Run a second node, and put both into Volcano's group."""
    cluster.install(programs.VOLCANO)
    nodes = "/api/v1/nodes"
    with cluster.node.another(SECOND) as containerd:
        cluster.bring_torch(containerd, NEWEST)
        for each in (NAME, SECOND):
            cluster.api.expect("PATCH", f"{nodes}/{each}", {"metadata": {"labels": POOL}})
        yield
    cluster.api.expect("DELETE", f"{nodes}/{SECOND}")


@pytest.mark.parametrize("configuration", [BEFORE_OURS, AFTER_OURS])
def test_a_job_meets_across_nodes_and_ends_well(
    cluster: Cluster, namespace: NamespaceFactory, figures: Figures, configuration: str
) -> None:
    """The devices that are injected, of which no node has enough for both, let the scheduler part the ranks."""
    name, image = namespace("sixty"), cluster.torch()
    webhooks = ("mutatejob.volcano.sh", "validatejob.volcano.sh", "mutatepod.volcano.sh")
    with grouping(cluster, name, configuration):
        before = [
            cluster.node.control_plane.metric(CALLS, name=each, rejected="false")
            for each in webhooks
        ]
        printed = cluster.torchx(
            name,
            "-j",
            "2x1",
            "--name",
            "trainer",
            "-h",
            "NULL",
            "--script",
            "train.py",
            "--image",
            image,
        )
        reports = cluster.reports(name, 2)
        after = [
            cluster.node.control_plane.metric(CALLS, name=each, rejected="false")
            for each in webhooks
        ]
    figures.append(f"TorchX on two nodes, {configuration}: {assert_met_on_the_fabric(reports)}")
    assert all(now > then for now, then in zip(after, before, strict=True)), dict(
        zip(webhooks, after, strict=True)
    )
    (group,) = cluster.api.expect(
        "GET", f"/apis/scheduling.volcano.sh/v1beta1/namespaces/{name}/podgroups"
    )["items"]
    assert not [each for each in group["spec"].get("minResources", {}) if "rdma" in each], (
        "read from the template"
    )
    pods = [report.pod.get() for report in reports]
    assert {pod["spec"]["nodeName"] for pod in pods} == {NAME, SECOND}
    for pod in pods:
        assert pod["spec"]["schedulerName"] == "volcano"
        assert pod["spec"]["nodeSelector"] == POOL
        assert TOLERATION in pod["spec"]["tolerations"]
        assert pod["metadata"]["annotations"][names.STATUS]
        asked = cluster.reviews.pod(pod)["spec"].get("nodeSelector")
        assert asked == (POOL if configuration == BEFORE_OURS else None), (
            "the order of the webhooks"
        )
    (handle,) = re.findall(r"kubernetes://torchx/\S+", printed)
    wait_until(
        lambda: "SUCCEEDED" in torchx.status(cluster.kubeconfig(), handle),
        "the job to end well",
        SECONDS,
        interval=1,
    )


def test_volcano_refuses_what_it_refuses(cluster: Cluster, namespace: NamespaceFactory) -> None:
    """Its webhook for jobs is the real one: it counts the pods."""
    job = volcano_job(trainer=container("true"))
    job["spec"]["minAvailable"] = 2
    answer = cluster.api.create(job, namespace("sixty"))
    assert 'admission webhook "validatejob.volcano.sh" denied the request' in answer.message
