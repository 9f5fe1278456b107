"""Who becomes rank 0, and what the others meet at once it is another pod, or at another address."""

import json

import pytest

from tests.cluster.node.cni import define
from tests.cluster.node.fixtures import NamespaceFactory
from tests.cluster.node.kubelet import NAME
from tests.cluster.node.node import Node
from tests.cluster.node.pods import Report
from tests.cluster.operators.cluster import Cluster
from tests.cluster.operators.expectations import assert_met_on_the_fabric
from tests.cluster.operators.manifests import container, job, with_image
from tests.cluster.operators.rows import EVERY
from webhook.core.model import Object

MEMBERS = 12
NETWORKS = "/apis/k8s.cni.cncf.io/v1/namespaces/default/network-attachment-definitions"
RENDEZVOUS = "--rdzv_backend=c10d --rdzv_endpoint=ddp-0.ddp:29500"
C10D = f"torchrun --nnodes=12 --nproc-per-node=1 {RENDEZVOUS} rank.py"
TRAINER = container("torchrun train.py", "pytorch")
JOB = job("pytorchjob", Master=TRAINER, Worker=TRAINER)


@pytest.mark.parametrize("version", EVERY)
def test_the_order_of_the_ranks_is_what_it_is_without_injection(
    cluster: Cluster, namespace: NamespaceFactory, version: str
) -> None:
    """c10d orders twelve nodes by the text of their addresses, and .10 to .19 come before .9."""
    make_network_of_twelve(cluster.node)
    found = {}
    for profile in (None, "twelve"):
        space = namespace(profile)
        one = container(C10D, gpu=profile is not None)
        made = job("indexed_job", MEMBERS, main=one)
        space.submit(with_image(made, cluster.torch(version)))
        reports = space.reports(MEMBERS)
        found[profile] = [report.pod.created["spec"]["hostname"] for report in reports]
        if profile:
            addresses = sorted(report.pod.fabric_address() for report in reports)
            assert addresses == sorted(f"203.0.113.{last}" for last in range(9, 21))
    assert found[None][0] == "ddp-0"
    assert found["twelve"] == found[None]


def make_network_of_twelve(node: Node) -> None:
    """Give the cluster a network that has the addresses .9 to .20, for the profile of twelve."""
    config = json.loads(node.api.expect("GET", f"{NETWORKS}/rdma-net")["spec"]["config"])
    ends = {"rangeStart": "203.0.113.9", "rangeEnd": "203.0.113.20"}
    ranges = [[{"subnet": "203.0.113.0/24", **ends}]]
    config |= {"name": "twelve", "ipam": config["ipam"] | {"ranges": ranges}}
    node.api.ensure(define("default", "twelve", json.dumps(config)))


def test_a_sandbox_that_is_made_anew_gives_its_new_address_to_all_that_starts_after_it(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Rank 0's pod stays, as after its node's reboot; the worker starts again, and meets it there."""
    cluster.install("training-operator")
    space = namespace("rdma-shared")
    space.submit(with_image(JOB, cluster.torch()))
    first = space.reports(2)
    before = first[0].pod.fabric_address()
    cluster.node.containerd.kill_sandbox(first[0].pod.uid)
    second = space.reports(2, lambda report: report.master_addr != before)
    assert_met_on_the_fabric(second)
    assert uids(second) == uids(first)


def test_containers_that_start_again_in_place_meet_where_rank_zero_is(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """The worker's containers are killed; rank 0's, which lost its peer, starts again by itself."""
    cluster.install("training-operator")
    space = namespace("rdma-shared")
    space.submit(with_image(JOB, cluster.torch()))
    first = space.reports(2)
    started = _starts(first[0])
    cluster.node.containerd.kill_containers(first[1].pod.uid)
    second = space.reports(2, lambda report: _starts(report) > started)
    assert_met_on_the_fabric(second)
    assert uids(second) == uids(first)


def uids(reports: list[Report]) -> list[str]:
    """Give the pods' uids, by rank."""
    return [report.pod.uid for report in reports]


def test_a_node_that_is_gone_takes_rank_zero_along_which_comes_back_on_another(
    cluster: Cluster, namespace: NamespaceFactory
) -> None:
    """Its pod is collected once its Node is deleted, and made anew; the worker meets it there.

    Until then the worker starts again and again with the former address.
    """
    cluster.install("training-operator")
    space, second_node = namespace("rdma-shared"), "node2"
    one = container("torchrun --rdzv_conf=timeout=60 train.py", "pytorch")
    made = with_image(job("pytorchjob", Master=one, Worker=one), cluster.torch())
    affinities = {"Master": _preferring(second_node), "Worker": _requiring(NAME)}
    for role, affinity in affinities.items():
        pod = made["spec"]["pytorchReplicaSpecs"][role]["template"]["spec"]
        pod["affinity"] = {"nodeAffinity": affinity}
    with cluster.node.another(second_node) as containerd:
        cluster.torch(containerd=containerd)
        space.submit(made)
        first = space.reports(2)
        assert nodes(first) == [second_node, NAME]
        assert_met_on_the_fabric(first)
    before = first[0].pod.fabric_address()
    space.api.expect("DELETE", f"/api/v1/nodes/{second_node}")
    second = space.reports(2, lambda report: report.master_addr != before)
    assert_met_on_the_fabric(second)
    assert nodes(second)[0] == NAME
    assert second[0].pod.uid != first[0].pod.uid
    assert second[1].pod.uid == first[1].pod.uid


def nodes(reports: list[Report]) -> list[str]:
    """Give the pods' nodes, by rank."""
    return [report.pod.get()["spec"]["nodeName"] for report in reports]


def _preferring(node: str) -> Object:
    preference = {"weight": 100, "preference": _named(node)}
    return {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}


def _requiring(node: str) -> Object:
    return {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [_named(node)]}}


def _named(node: str) -> Object:
    name = {"key": "kubernetes.io/hostname", "operator": "In", "values": [node]}
    return {"matchExpressions": [name]}


def _starts(report: Report) -> int:
    (status,) = report.pod.get()["status"]["containerStatuses"]
    return int(status["restartCount"])
