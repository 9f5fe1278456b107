"""Jobs of operators: decided as the dry run says, they meet again where a part is made anew."""

from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.pods import Report
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import (
    assert_decided_as_predicted,
    assert_met_on_the_fabric,
)
from tests.cluster.operators.manifests import (
    container,
    job,
    torchrun,
    with_image,
)
from webhook.core import names

ATTEMPT = "jobset.sigs.k8s.io/restart-attempt"
TRAINER = container("torchrun train.py", "pytorch")


def test_a_jobset_meets_and_after_a_restart_meets_at_the_new_address(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """All Jobs are made anew; pods of the attempt before give their address to none of them."""
    cluster.install("jobset")
    space = namespace("rdma-shared")
    one = container(torchrun(), MASTER_ADDR="ddp-workers-0-0.ddp")
    made = job("jobset", 2, workers=one)
    made["spec"]["failurePolicy"] = {"maxRestarts": 1}
    manifest = with_image(made, cluster.torch())
    space.submit(manifest)
    first = space.reports(2)
    assert_met_on_the_fabric(first)
    assert_decided_as_predicted(cluster, space, manifest, first)
    before = first[0].pod.fabric_address()
    cluster.node.containerd.kill_containers(first[1].pod.uid)
    second = space.reports(2, lambda report: _label(report, ATTEMPT) == "1")
    assert_met_on_the_fabric(second)
    keys = [{_label(report, names.JOB) for report in reports} for reports in (first, second)]
    assert keys[0].isdisjoint(keys[1])
    for report in second:
        assert before not in report.environment.values()


def _label(report: Report, name: str) -> str:
    return str(report.pod.created["metadata"]["labels"][name])


def test_each_group_of_a_leader_worker_set_meets_at_its_own_leader(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Its webhooks order the pods' variables."""
    cluster.install("lws")
    space = namespace("rdma-shared")
    one = container(torchrun("$LWS_WORKER_INDEX", "$LWS_LEADER_ADDRESS"))
    manifest = with_image(job("leader_worker_set", 2, main=one), cluster.torch())
    space.submit(manifest)
    reports = space.reports(4)
    leaders = set()
    for index in ("0", "1"):
        group = [report for report in reports if report.pod.name.split("-")[1] == index]
        assert_met_on_the_fabric(group)
        assert_decided_as_predicted(cluster, space, manifest, group)
        leaders.add(group[0].pod.fabric_address())
    assert len(leaders) == 2


def test_a_pytorchjob_comes_back_at_the_new_address_of_its_master(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Its master is made anew under its name; the worker's container reads the new address."""
    cluster.install("training-operator")
    space = namespace("rdma-shared")
    manifest = with_image(job("pytorchjob", Master=TRAINER, Worker=TRAINER), cluster.torch())
    space.submit(manifest)
    first = space.reports(2)
    assert_met_on_the_fabric(first)
    assert_decided_as_predicted(cluster, space, manifest, first)
    before = first[0].pod.fabric_address()
    first[0].pod.delete()
    second = space.reports(2, lambda report: report.master_addr != before)
    assert_met_on_the_fabric(second)
    assert second[0].pod.uid != first[0].pod.uid
    assert second[1].pod.uid == first[1].pod.uid


def test_an_elastic_pytorchjob_meets_on_the_fabric(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """The c10d rendezvous of elasticPolicy: worker 0 hosts the store."""
    cluster.install("training-operator")
    space = namespace("rdma-shared")
    made = job("pytorchjob", 2, Worker=TRAINER)
    made["spec"]["elasticPolicy"] = {"rdzvBackend": "c10d", "minReplicas": 2, "maxReplicas": 2}
    manifest = with_image(made, cluster.torch())
    space.submit(manifest)
    reports = space.reports(2)
    assert_met_on_the_fabric(reports)
    assert_decided_as_predicted(cluster, space, manifest, reports)
